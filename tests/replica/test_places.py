"""Places in a ranking that is not sorted, against sorting it."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.model import IntArray
from topwater.replica import WindowView
from topwater.replica.places import WindowPlaces, by_key, first_by


def view_of(n: int, seed: int, *, distinct: int) -> tuple[WindowView, np.ndarray]:
    """Keys in any order, with few distinct scores and times, some of them without a score."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, distinct, n).astype(np.float64)
    scores[rng.random(n) < 0.1] = np.nan
    spoke = rng.integers(0, 5, n)
    return WindowView(0, 9, rng.permutation(n) * 7, {"stream": scores}, spoke), scores


def ranked(view: WindowView, scores: np.ndarray) -> IntArray:
    order = np.lexsort((view.keys, -view.last_event, -scores))
    return np.asarray(order[np.isfinite(scores[order])])


@pytest.mark.parametrize("distinct", [3, 1_000_000])
@pytest.mark.parametrize("n", [0, 1, 50, 30_000])
def test_places_are_those_of_the_sorted_window(n: int, distinct: int) -> None:
    view, scores = view_of(n, n, distinct=distinct)
    order = ranked(view, scores)
    right = np.full(n, len(order))
    right[order] = np.arange(len(order))
    few = np.random.default_rng(1).permutation(n)[:200]
    places = WindowPlaces(view, scores)
    assert places.count == len(order)
    assert places.at(few).tolist() == right[few].tolist()
    within = np.where(right < len(order), np.minimum(right, 40), len(order))
    assert places.at(few, 40).tolist() == within[few].tolist()
    assert places.first(100).tolist() == order[:100].tolist()
    assert places.scores(3_000).tolist() == scores[order[:3_000]].tolist()
    assert places.at(np.arange(n)).tolist() == right.tolist()
    now = np.where(right < len(order), scores, -np.inf)
    assert places.score_of(few).tolist() == now[few].tolist()


@pytest.mark.parametrize("most", [0, 1, 20, 99])
def test_the_best_of_some_rows_come_first_and_those_without_a_score_by_key(most: int) -> None:
    view, scores = view_of(400, 3, distinct=9)
    rows = np.sort(np.random.default_rng(2).permutation(400)[:99])
    order = ranked(view, scores)
    without = rows[np.isnan(scores[rows])]
    without = without[np.argsort(view.keys[without])]
    right = [*order[np.isin(order, rows)].tolist(), *without.tolist()]
    assert WindowPlaces(view, scores).best_of(rows, most).tolist() == right[:most]


def test_rows_of_a_proposal_are_counted_as_it_counts_them() -> None:
    """Of four keys the second and the last are proposed, and one that is not in the window."""
    view = WindowView(0, 9, np.arange(4), {}, np.zeros(4, np.int64))
    places = WindowPlaces(view, np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 3]))
    assert places.at(np.array([0, 1, 2])).tolist() == [2, 0, 4]
    assert places.first(3).tolist() == [1, 0]
    assert places.first(1).tolist() == [1]
    assert places.score_of(np.array([2, 1])).tolist() == [-np.inf, 4.0]
    assert places.best_of(np.array([0, 1, 2]), 9).tolist() == [1, 0, 2]
    assert places.scores(9).tolist() == [4.0, 3.0, 2.0, 1.0]
    nothing = WindowPlaces(view, np.array([1.0, 2.0, 3.0, 4.0]), np.empty(0, np.int64))
    assert nothing.first(3).tolist() == []


@pytest.mark.parametrize("names", [np.array([5, 3, 9, 1]), np.array(list("cbda"), object)])
def test_the_smallest_keys(names: np.ndarray) -> None:
    view = WindowView(0, 9, names, {}, np.zeros(4, np.int64))
    assert by_key(view, np.array([0, 1, 2]), 2).tolist() == [1, 0]
    assert by_key(view, np.arange(4), 9).tolist() == [3, 1, 0, 2]


@pytest.mark.parametrize("most", [None, 0, 1, 7, 60, 61])
def test_the_least_come_first_and_equals_keep_their_order(most: int | None) -> None:
    rng = np.random.default_rng(4)
    rows, numbers = rng.permutation(60), rng.integers(0, 6, 60)
    right = rows[np.argsort(numbers[rows], kind="stable")]
    assert first_by(numbers, rows, most).tolist() == right[:most].tolist()
