"""Items as tuples that sort best first, and back; the k best without sorting all."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from topwater.candidates.rank_tuples import Rank, best, by_pane, feed, items_of, ranks, rows
from topwater.model import Items
from topwater.testing import best_first
from topwater.windows import Windows

ROWS = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4), st.integers(0, 9)), max_size=40)


def items(found: list[tuple[int, int, int]]) -> Items:
    score, time, key = (list(column) for column in zip(*found, strict=True)) if found else ([],) * 3
    return Items(np.array(score, float), np.array(time, np.int64), np.array(key, np.int64))


@given(found=ROWS)
def test_sorted_ranks_are_the_total_order(found: list[tuple[int, int, int]]) -> None:
    ordered = sorted(ranks(items(found)))
    assert list(rows(items_of(ordered, np.int64))) == best_first(found)


@given(found=ROWS, k=st.integers(1, 8))
def test_the_best_are_those_of_sorting(found: list[tuple[int, int, int]], k: int) -> None:
    """Many scores tie with the k-th; times and keys decide between them."""
    assert list(rows(best(items(found), k))) == best_first(found)[:k]


def test_what_follows_the_rank_is_left_aside_and_keys_keep_their_type() -> None:
    back = items_of([(-7.0, -2, "x", 99, "serial")], object)
    assert list(rows(back)) == [(7.0, 2, "x")]
    assert back.key.dtype == object
    assert len(items_of([], object)) == 0


def test_each_pane_comes_with_its_own_items() -> None:
    windows = Windows(10, 5)
    found = items([(1, 12, 0), (2, 3, 1), (3, 11, 2), (4, 5, 3)])
    parts = {pane: list(rows(part)) for pane, part in by_pane(windows.group(found))}
    assert parts == {0: [(2, 3, 1), (4, 5, 3)], 2: [(1, 12, 0), (3, 11, 2)]}


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_feeding_inserts_in_order_whatever_may_still_get_in(chunk: int) -> None:
    """A list of two: what is held back in bulk is only what it would have refused."""
    rng = np.random.default_rng(chunk)
    scores = rng.integers(50, size=200)
    held: list[Rank] = []
    offered: list[int] = []

    def insert(rank: Rank) -> None:
        offered.append(rank[2])
        held.append(rank)
        held.sort()
        del held[2:]

    def bound() -> float:
        return -held[-1][0] if len(held) == 2 else -np.inf

    feed(Items(scores.astype(float), np.arange(200), np.arange(200)), insert, bound, chunk)
    right = best_first((float(score), at, at) for at, score in enumerate(scores.tolist()))[:2]
    assert [(-score, -time, key) for score, time, key in held] == right
    assert offered == sorted(offered)
    assert len(offered) < 200 or chunk == 100
