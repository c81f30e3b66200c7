"""The inner loops of weighing entries, next to the same written down slowly."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.model import FloatArray, IntArray
from topwater.replica.joins.entry_kernels import gains_of_entries

WORLDS, ROWS, K = 40, 12, 4
DISCOUNT = 1.0 / np.log2(np.arange(2, K + 2))
GAIN = np.exp2(-np.arange(ROWS, dtype=np.float64))
WORTH = np.column_stack([0.7 * (np.arange(ROWS) < K) / K, 0.3 * GAIN])


def utility(scores: FloatArray, true: FloatArray, first: IntArray | None = None) -> float:
    """Precision and a little nDCG of showing the best by some scores; ``first`` among equals."""
    tie = np.zeros(len(scores)) if first is None else ~np.isin(np.arange(len(scores)), first)
    shown = np.lexsort((np.arange(len(scores)), tie, -scores))[:K]
    place = np.argsort(np.argsort(-true, kind="stable"))[shown]
    return float(0.7 * np.mean(place < K) + 0.3 * (DISCOUNT @ GAIN[place]))


@pytest.mark.parametrize("ties", [False, True])
def test_gains_are_those_of_ranking_anew(ties: bool) -> None:
    rng = np.random.default_rng(7)
    believed, (true, moved) = rng.normal(size=ROWS), rng.normal(size=(2, WORLDS, ROWS))
    if ties:
        believed, true, moved = (np.rint(2 * each) for each in (believed, true, moved))
    believed = np.sort(believed)[::-1].copy()
    known = np.where(rng.random((WORLDS, ROWS)) < 0.4, moved, believed)
    known[3] = np.where(rng.random(ROWS) < 0.5, -np.inf, known[3])
    rows, starts = rng.permutation(ROWS)[:10], np.array([0, 1, 4, 4, 10])
    rows = np.concatenate([np.sort(each) for each in np.split(rows, starts[1:-1])])
    found = gains_of_entries(believed, known, true, rows, starts, WORTH, DISCOUNT)
    for entry, gain in enumerate(found.tolist()):
        mine = rows[starts[entry] : starts[entry + 1]]
        slow = 0.0
        for world in range(WORLDS):
            after = believed.copy()
            after[mine] = known[world, mine]
            other = mine[after[mine] != believed[mine]]
            slow += utility(after, true[world], other) - utility(believed, true[world])
        assert gain == pytest.approx(slow, abs=1e-9), entry


def test_an_entry_of_several_rows_is_not_the_sum_of_them() -> None:
    """The first two rows change places: known together they do, and one by one they fall behind."""
    believed, true = np.array([9.0, 8.0, 5.0, 4.0]), np.array([[6.0, 7.0, 5.0, 4.0]])
    given, weights = (believed, true, true), (np.outer(GAIN[:4], [0.0, 1.0]), np.array([1.0, 0.5]))
    both = gains_of_entries(*given, np.array([0, 1]), np.array([0, 2]), *weights)
    each = gains_of_entries(*given, np.array([0, 1]), np.array([0, 1, 2]), *weights)
    assert both.tolist() == [0.25]
    assert each.tolist() == [0.25, 0.0]
