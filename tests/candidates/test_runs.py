"""Runs: reduce, merge and split against sorting, with ties of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topwater.candidates.runs import merge, nothing, pane_column, rank_column, reduce, split
from topwater.model import Arrivals, Items
from topwater.testing import best_first, rows
from topwater.windows import Windows

WINDOWS = Windows(12, 4)
ROWS = st.lists(
    st.tuples(st.integers(-2, 2).map(float), st.integers(1, 20), st.integers(0, 5)), max_size=60
)
TIED = st.lists(
    st.tuples(st.sampled_from([0.0, -0.0]), st.integers(1, 2), st.integers(0, 90)), max_size=150
)
K = st.integers(1, 9)


def arrivals(found: list[tuple[float, int, int]], *, text: bool = False) -> Arrivals:
    score, time, key = np.array(found, np.float64).reshape(-1, 3).T
    keys: Any = key.astype(np.int64)
    keys = np.array([f"{k:03}" for k in keys], object) if text else keys
    return WINDOWS.group(Items(score.copy(), time.astype(np.int64), keys))


def by_pane(found: Arrivals) -> dict[int, list[Any]]:
    assert found.bounds[0] == 0
    assert found.bounds[-1] == len(found.items.key) == len(found.items.time)
    assert (np.diff(found.panes) > 0).all()
    assert (np.diff(found.bounds) > 0).all()
    return {
        int(pane): rows(found.items.take(slice(found.bounds[j], found.bounds[j + 1])))
        for j, pane in enumerate(found.panes)
    }


def naive(found: Arrivals, k: int, floor: float = -np.inf) -> dict[int, list[Any]]:
    panes = {
        pane: [row for row in best_first(inside) if row[0] >= floor][:k]
        for pane, inside in by_pane(found).items()
    }
    return {pane: inside for pane, inside in panes.items() if inside}


class TestReduce:
    @settings(max_examples=150, deadline=None)
    @given(ROWS | TIED, K, st.booleans())
    def test_equals_sorting(self, found: list[Any], k: int, text: bool) -> None:
        given_ = arrivals(found, text=text)
        assert by_pane(reduce(given_, k)) == naive(given_, k)

    @settings(max_examples=100, deadline=None)
    @given(ROWS | TIED, K, st.booleans())
    def test_with_row_numbers_in_place_of_keys(self, found: list[Any], k: int, text: bool) -> None:
        given_ = arrivals(found, text=text)
        keys = given_.items.key
        asked: list[int] = []

        def keys_at(stand_ins: Any) -> Any:
            asked.extend(stand_ins.tolist())
            return keys[stand_ins]

        items = Items(given_.items.score, given_.items.time, np.arange(len(keys)))
        standing = Arrivals(given_.panes, given_.bounds, items)
        assert by_pane(reduce(standing, k, keys_at=keys_at)) == naive(given_, k)

    @settings(max_examples=100, deadline=None)
    @given(ROWS, K, st.integers(-3, 3).map(float))
    def test_floors_cut_what_is_below_and_keep_what_is_at_them(
        self, found: list[Any], k: int, floor: float
    ) -> None:
        given_ = arrivals(found)
        floors = np.full(len(given_.panes), floor)
        assert by_pane(reduce(given_, k, floors=floors)) == naive(given_, k, floor)

    @pytest.mark.parametrize("k", [1, 2, 31, 32, 33, 64, 100, 700])
    @pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 128, 500])
    @pytest.mark.parametrize("levels", [1, 3, 10**6])
    def test_sizes_around_the_block_and_the_heap(self, k: int, size: int, levels: int) -> None:
        rng = np.random.default_rng([k, size, levels])
        found = list(
            zip(
                rng.integers(levels, size=3 * size).astype(float).tolist(),
                rng.integers(1, 13, 3 * size).tolist(),
                rng.integers(0, 9, 3 * size).tolist(),
                strict=True,
            )
        )
        given_ = arrivals(found)
        assert by_pane(reduce(given_, k)) == naive(given_, k)

    @pytest.mark.parametrize("drift", [-5.0, -0.1, 0.1, 5.0])
    def test_panes_much_poorer_or_richer_than_the_one_before(self, drift: float) -> None:
        """What the last pane taught is a guess; a wrong one must cost time, not items."""
        rng = np.random.default_rng(1)
        time = np.sort(rng.integers(1, 401, 4_000))
        items = Items(rng.random(4_000) + drift * time, time, np.arange(4_000))
        given_ = WINDOWS.group(items)
        assert by_pane(reduce(given_, 8)) == naive(given_, 8)

    def test_scores_at_the_ends_of_the_floats(self) -> None:
        extremes = [1.7e308, -1.7e308, 5e-324, -5e-324, 0.0, -0.0]
        found = [(x, 1 + 4 * p, i) for p in range(6) for i, x in enumerate(extremes)]
        given_ = arrivals(found)
        for k in range(1, 8):
            assert by_pane(reduce(given_, k)) == naive(given_, k)

    def test_the_input_is_left_alone(self) -> None:
        given_ = arrivals([(1.0, 1, 1), (2.0, 1, 2), (2.0, 1, 1)])
        before = rows(given_.items)
        reduce(given_, 1)
        assert rows(given_.items) == before

    def test_nothing(self) -> None:
        assert len(reduce(nothing(), 3)) == 0


class TestMergeAndSplit:
    @settings(max_examples=150, deadline=None)
    @given(ROWS | TIED, ROWS | TIED, K, st.booleans())
    def test_merge_equals_reducing_together(
        self, left: list[Any], right: list[Any], k: int, text: bool
    ) -> None:
        parts = [reduce(arrivals(part, text=text), k) for part in (left, right)]
        together = naive(arrivals([*left, *right], text=text), k)
        assert by_pane(merge(parts[0], parts[1], k)) == together
        assert by_pane(merge(parts[1], parts[0], k)) == together

    @pytest.mark.parametrize("shift", [0, 4, 8, 20])
    def test_every_overlap(self, shift: int) -> None:
        left = [(float(i % 3), 1 + i, i) for i in range(8)]
        right = [(float(i % 4), 1 + i + shift, i) for i in range(8)]
        parts = [reduce(arrivals(part), 2) for part in (left, right)]
        assert by_pane(merge(parts[0], parts[1], 2)) == naive(arrivals([*left, *right]), 2)

    @settings(max_examples=80, deadline=None)
    @given(ROWS, st.integers(-2, 7))
    def test_split(self, found: list[Any], pane: int) -> None:
        given_ = arrivals(found)
        before, after = split(given_, pane)
        assert by_pane(before) | by_pane(after) == by_pane(given_)
        assert all(p <= pane for p in by_pane(before))
        assert all(p > pane for p in by_pane(after))

    @settings(max_examples=40, deadline=None)
    @given(ROWS)
    def test_columns(self, found: list[Any]) -> None:
        given_ = arrivals(found)
        assert pane_column(given_).tolist() == WINDOWS.pane_of(given_.items.time).tolist()
        right = [place for inside in by_pane(given_).values() for place in range(len(inside))]
        assert rank_column(given_).tolist() == right
