"""Candidates one by one: against counting, for every row, the better ones that live as long."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.candidates.panes_n_kernels import KEPT, LOST, REPLACED, Pool, take_in
from topwater.model import IntArray

NONE = np.empty(0, np.int64)


def pool_of(seed: int, size: int, keys: int) -> Pool:
    """Arrivals in the order of time; an object lives for four windows."""
    rng = np.random.default_rng(seed)
    time = np.sort(rng.integers(0, 60, size))
    code, score = rng.integers(0, keys, size), rng.integers(0, 8, size) / 2.0
    return Pool(score, time, code, time // 10, np.zeros(size, np.bool_))


def taken(pool: Pool, rows: IntArray) -> Pool:
    score, time, code, end, vague = pool
    return Pool(score[rows], time[rows], code[rows], end[rows], vague[rows])


def rank(pool: Pool, row: int) -> tuple[float, int, int]:
    return -pool.score[row], -pool.time[row], pool.code[row]


def plainly(pool: Pool, size: int) -> tuple[list[int], IntArray]:
    """Each arrival takes the place of its key; then who has ``size`` better ones leaves."""
    kept: list[int] = []
    fate: IntArray = np.zeros(len(pool.score), np.int64)
    for row in range(len(pool.score)):
        for old in [at for at in kept if pool.code[at] == pool.code[row]]:
            kept.remove(old)
            fate[old] = REPLACED
        kept = sorted([*kept, row], key=lambda at: rank(pool, at))
        staying = [at for i, at in enumerate(kept) if _better(pool, kept[:i], at) < size]
        for gone in set(kept) - set(staying):
            fate[gone] = LOST
        kept = staying
    fate[kept] = KEPT
    return kept, fate


def _better(pool: Pool, above: list[int], row: int) -> int:
    return sum(pool.end[at] >= pool.end[row] for at in above)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("seed", range(8))
def test_candidates_are_those_of_counting(seed: int, size: int) -> None:
    pool = pool_of(seed, 60, 25)
    order, beaten, fate, forgotten_at, tied = take_in(pool, NONE, 25, size, 61, -1, True)
    kept, expected = plainly(pool, size)
    assert (order.tolist(), fate.tolist()) == (kept, expected.tolist())
    assert beaten.tolist() == [_better(pool, kept[:i], at) for i, at in enumerate(kept)]
    assert not tied
    assert forgotten_at == max(pool.time[expected == LOST], default=-1)


def test_arrivals_in_two_parts_lead_to_the_same() -> None:
    whole, half = pool_of(3, 60, 25), 30
    first = taken(whole, np.arange(half))
    early, beaten, _, forgotten_at, _ = take_in(first, NONE, 25, 3, 61, -1, True)
    rows = np.concatenate([early, np.arange(half, 60)])
    second = taken(whole, rows)
    late, late_beaten, *_ = take_in(second, beaten, 25, 3, 61, forgotten_at, True)
    together, together_beaten, *_ = take_in(whole, NONE, 25, 3, 61, -1, True)
    assert rows[late].tolist() == together.tolist()
    assert late_beaten.tolist() == together_beaten.tolist()


def test_a_tie_between_unsorted_codes_stops_the_loop() -> None:
    same = np.zeros(2, np.int64)
    pool = Pool(np.ones(2), same, np.array([1, 0]), same, np.zeros(2, np.bool_))
    assert take_in(pool, NONE, 2, 3, 3, -1, False)[4]
    assert not take_in(pool, NONE, 2, 3, 3, -1, True)[4]


def test_an_older_one_of_a_key_changes_nothing() -> None:
    time = np.array([5, 3])
    pool = Pool(np.array([1.0, 9.0]), time, np.zeros(2, np.int64), time, np.zeros(2, np.bool_))
    order, _, fate, *_ = take_in(pool, NONE, 1, 2, 3, -1, True)
    assert (order.tolist(), fate.tolist()) == ([0], [KEPT, REPLACED])
