"""TMA and SMA: the published steps, how often each searches, and the grid below them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.figures import PRIPUZIC, arrivals, pripuzic
from topwater.candidates.published.score_grid import ScoreGrid
from topwater.candidates.published.tma_sma import Indexed, sma, tma
from topwater.model import Items
from topwater.windows import Windows, counting

Maker = Callable[[Windows, int], Indexed]

TOP = {1: [1], 2: [2], 3: [2], 4: [2], 5: [2], 6: [2], 7: [2], 8: [3], 9: [7], 10: [7], 11: [7]}
SKYBAND = {1: [1], 2: [2], 8: [3], 9: [7], 10: [7], 11: [7]} | {n: [2, 3] for n in range(3, 8)}


def play(lst: Indexed) -> dict[int, tuple[list[int], int]]:
    """What is remembered after each step of the example, and how many searches there were."""
    told = {}
    for step in range(1, 12):
        window = max(0, step - PRIPUZIC.width)
        lst.expire(window - 1)
        lst.add(pripuzic(step))
        assert lst.top(window).key.tolist() == TOP[step]
        lst.check()
        told[step] = (lst.remembered().key.tolist(), lst.recomputations)
    return told


def test_tma_step_by_step() -> None:
    told = play(tma(PRIPUZIC, 1))
    assert {step: keys for step, (keys, _) in told.items()} == TOP
    assert [told[step][1] for step in (1, 7, 8, 9, 11)] == [1, 1, 2, 3, 3]


def test_sma_step_by_step() -> None:
    told = play(sma(PRIPUZIC, 1))
    assert {step: keys for step, (keys, _) in told.items()} == SKYBAND
    assert [told[step][1] for step in (1, 8, 9, 11)] == [1, 1, 2, 2]


def test_sma_searches_less_often_than_tma() -> None:
    rng = np.random.default_rng(3)
    windows = counting(100, 10)
    lists = tma(windows, 5), sma(windows, 5)
    for window in range(400):
        times = np.arange(1, 101) if window == 0 else np.arange(91, 101) + 10 * window
        batch = windows.group(Items(rng.random(len(times)), times, times))
        for lst in lists:
            lst.add(batch)
            lst.top(window)
            lst.expire(window)
    often, seldom = (lst.recomputations for lst in lists)
    assert 1 < seldom < often / 3


@pytest.mark.parametrize("make", [tma, sma])
def test_nothing_is_searched_while_arrivals_fill_the_answer(
    make: Maker,
) -> None:
    windows = counting(4, 2)
    lst = make(windows, 2)
    for window in range(20):
        first = 1 if window == 0 else 2 * window + 3
        times = range(first, 2 * window + 5)
        lst.add(arrivals(windows, *[(float(time), time, time) for time in times]))
        assert lst.top(window).key.tolist() == [2 * window + 4, 2 * window + 3]
        lst.expire(window)
    assert lst.recomputations == 1


@pytest.mark.parametrize("make", [tma, sma])
def test_a_tie_with_the_threshold_is_decided_by_time_and_key(
    make: Maker,
) -> None:
    windows = Windows(10, 5)
    lst = make(windows, 1)
    lst.add(arrivals(windows, (5, 6, 30)))
    lst.top(0)
    lst.add(arrivals(windows, (5, 6, 40), (5, 5, 10)))
    assert lst.top(0).key.tolist() == [30]
    lst.add(arrivals(windows, (5, 6, 20)))
    lst.check()
    assert lst.top(0).key.tolist() == [20]
    assert lst.recomputations == 1


def items(scores: list[float], first: int = 0) -> Items:
    numbers = np.arange(first, first + len(scores))
    return Items(np.array(scores, np.float64), numbers, numbers)


def test_the_grid_grows_with_the_scores() -> None:
    grid = ScoreGrid()
    everything: list[float] = []
    for pane, batch in enumerate([[3.0, 3.0], [4.0], [-1e300, 7.0], [1.7e308, -1.7e308], [0.0]]):
        grid.insert(pane, items(batch))
        everything += batch
        grid.check()
        assert grid.best(4).score.tolist() == sorted(everything, reverse=True)[:4]
    grid.remove_before(3)
    grid.check()
    assert grid.best(9).score.tolist() == [1.7e308, 0.0, -1.7e308]


def test_the_grid_holds_few_segments_however_batches_are_cut() -> None:
    grid = ScoreGrid()
    for number in range(1000):
        grid.insert(0, items([float(number % 37)], number))
    grid.check()
    assert len(grid) == 1000
    assert sum(1 for _ in grid._segments()) <= 10


def test_an_empty_grid() -> None:
    grid = ScoreGrid()
    assert len(grid.best(3)) == 0
    grid.insert(0, items([5e-324, 0.0]))
    grid.remove_before(1)
    grid.check()
    assert len(grid.best(3)) == 0


def test_check_notices_a_lost_candidate() -> None:
    for lst in (tma(PRIPUZIC, 2), sma(PRIPUZIC, 2)):
        for step in range(1, 5):
            lst.add(pripuzic(step))
        lst.top(0)
        lst.check()
        lst._memory.expire(1)
        with pytest.raises(AssertionError, match=r"not the (best|k-skyband)"):
            lst.check()
