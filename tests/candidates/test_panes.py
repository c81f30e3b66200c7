"""What is special about the columnar list: compiled loops, long lists, hints."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from topwater.candidates import build, panes_kernels, sweep
from topwater.candidates.panes import Panes
from topwater.candidates.runs import no_hint, nothing, reduce
from topwater.model import FloatArray, Items
from topwater.windows import counting


@pytest.mark.parametrize("levels", [None, 500])
def test_long_lists_of_candidates_are_kept_in_two_levels(levels: int | None) -> None:
    """More than 4,096 candidates: they are merged now and then only, with the same answers."""
    rng = np.random.default_rng(5)
    windows, k, n = counting(60_000, 500), 3_000, 120_000
    score = rng.random(n) if levels is None else rng.integers(levels, size=n).astype(float)
    items = Items(score, np.arange(1, n + 1), np.arange(n))
    last = windows.last_complete(n + 1)

    panes = Panes(windows, k)
    answers, sizes, kept = panes.sweep(windows.group(items), last)
    panes.check()

    assert kept.max() > panes_kernels._SHORT
    ends = np.cumsum(sizes)
    for window in (0, 1, 7, last // 2, last):
        first = windows.window(window).start
        right = items.take(slice(first, first + windows.width)).ranked().take(slice(k))
        found = answers.take(slice(ends[window] - sizes[window], ends[window]))
        assert found.key.tolist() == right.key.tolist()


def test_candidates_stay_minimal_after_a_sweep() -> None:
    """The levels are merged at the end, so nothing superfluous is kept from call to call."""
    rng = np.random.default_rng(6)
    windows, n = counting(20_000, 500), 40_000
    items = Items(rng.random(n), np.arange(1, n + 1), np.arange(n))
    until = windows.last_complete(n + 1)
    kept = {}
    for name in ("panes", "mintopk"):
        each = build(name, windows, 300)
        sweep(each, windows.group(items), 0, until)
        kept[name] = list(each)
    assert kept["panes"] == kept["mintopk"]


def _streams() -> list[FloatArray]:
    rng = np.random.default_rng(7)
    noise = rng.random(20_000)
    ramp = np.linspace(0, 50, 20_000)
    return [noise, noise + ramp, noise - ramp, np.round(noise * 4), np.zeros(20_000)]


@pytest.mark.parametrize("stream", range(5))
@pytest.mark.parametrize("k", [1, 2, 10, 40, 700])
def test_a_hint_changes_the_cost_and_never_the_result(stream: int, k: int) -> None:
    """Rising, falling, tied and constant scores make the guess wrong in every way."""
    score = _streams()[stream]
    windows = counting(2_000, 500)
    rng = np.random.default_rng(8)
    items = Items(score, np.arange(1, len(score) + 1), rng.integers(50, size=len(score)))
    hint = no_hint()
    for first, last in pairwise(range(0, len(score) + 1, 4_000)):
        part = windows.group(items.take(slice(first, last)))
        hinted, plain = reduce(part, k, hint=hint), reduce(part, k)
        assert hinted.items.time.tolist() == plain.items.time.tolist()
        for j, pane in enumerate(plain.panes):
            of_pane = items.take(windows.pane_of(items.time) == pane)
            right = of_pane.ranked().take(slice(k))
            found = plain.items.take(slice(plain.bounds[j], plain.bounds[j + 1]))
            assert found.time.tolist() == right.time.tolist()


def test_equal_scores_and_times_are_settled_by_key() -> None:
    """A burst in one millisecond with one score: only the keys tell them apart."""
    windows = counting(1_000)
    keys = np.random.default_rng(9).permutation(1_000)
    burst = Items(np.ones(1_000), np.ones(1_000, np.int64), keys)
    for name in ("panes", "recompute"):
        each = build(name, windows, 5)
        each.add(windows.group(burst))
        assert each.top(0).key.tolist() == [0, 1, 2, 3, 4]


def test_floors_drop_what_is_useless_and_nothing_else() -> None:
    windows = counting(8, 4)
    panes = Panes(windows, k=2)
    panes.add(windows.group(Items(np.array([5.0, 7.0, 6.0]), np.arange(1, 4), np.arange(3))))
    assert panes.floors(np.array([0, 1])).tolist() == [6.0, -np.inf]
    panes.add(windows.group(Items(np.array([6.0]), np.array([4]), np.array([9]))))
    assert panes.top(0).key.tolist() == [1, 9], "an equal score wins when it is younger"


def test_a_sweep_does_not_go_back() -> None:
    windows = counting(4, 2)
    panes = Panes(windows, k=1)
    panes.add(windows.group(Items(np.array([3.0]), np.array([9]), np.array([7]))))
    panes.expire(2)
    for until in (-1, 0, 2):
        answers, sizes, kept = panes.sweep(nothing(), until)
        assert (len(answers), len(sizes), len(kept)) == (0, 0, 0)
    assert panes.top(3).key.tolist() == [7]


def test_nothing_in_nothing_out() -> None:
    panes = Panes(counting(4, 2), k=3)
    answers, sizes, kept = panes.sweep(nothing(), 2)
    assert (len(answers), sizes.tolist(), kept.tolist()) == (0, [0, 0, 0], [0, 0, 0])
