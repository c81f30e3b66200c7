"""The grid of all objects below CPM/w and SNN, and how often each searches it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.score_streams import Stream, played
from topwater.candidates.published.cpm_snn import Cells, Gridded, cpm_w, snn
from topwater.candidates.published.object_trees import Seen


def test_the_cells_grow_with_the_scores() -> None:
    cells = Cells()
    everything: list[Seen] = []
    for stamp, score in enumerate([3.0, 3.0, 4.0, -1e300, 7.0, 1.7e308, -1.7e308, 0.0]):
        everything.append(Seen(score, stamp, stamp))
        cells.add(everything[-1])
        cells.check()
        best = sorted(everything, key=lambda each: each.rank)
        assert cells.best(3) == best[:3]
    for each in everything[::2]:
        cells.remove(each)
    assert {*cells.best(9)} == {*everything[1::2]}


def test_empty_cells() -> None:
    cells = Cells()
    assert cells.best(3) == []
    seen = Seen(5e-324, 1, 1)
    cells.add(seen)
    cells.remove(seen)
    cells.add(Seen(-9.0, 2, 2))
    cells.check()
    assert [each.score for each in cells.best(3)] == [-9.0]


def test_snn_searches_less_often_than_cpm_w() -> None:
    rng = np.random.default_rng(3)
    # The first five set a high threshold; when they have left, a search sets one that fits.
    scores = [2.0] * 5 + rng.random(3000).tolist()
    stream = Stream(scores, list(range(len(scores))), 100, 5)
    often, seldom = cpm_w(5), snn(5)
    assert played(often, stream) == played(seldom, stream)
    assert 1 < seldom.searches < often.searches / 3


def test_snn_keeps_the_low_threshold_of_a_query_that_starts_with_few_objects() -> None:
    rng = np.random.default_rng(3)
    query = snn(5)
    played(query, Stream(rng.random(1000).tolist(), list(range(1000)), 100, 5))
    assert (query.searches, query.reindexed) == (0, 1)


def test_a_query_that_shrinks_is_not_indexed_anew() -> None:
    rising = Stream([float(place) for place in range(200)], list(range(200)), 50, 3)
    for query in (cpm_w(3), snn(3)):
        played(query, rising)
        assert (query.searches, query.reindexed) == (0, 1)
        assert query.indexed == 0.0


def test_a_window_with_fewer_than_k_watches_all_cells() -> None:
    scores = [5.0, 4.0, 3.0, 2.0, 1.0]
    for query in (cpm_w(2), snn(2)):
        answers, _ = played(query, Stream(scores, [1, 2, 3, 30, 31], 4, 2))
        assert answers == [[0], [0, 1], [0, 1], [3], [3, 4]]
        assert query.searches == 1


@pytest.mark.parametrize("make", [cpm_w, snn])
def test_check_notices_a_lost_object(make: Callable[[int], Gridded]) -> None:
    query = make(2)
    played(query, Stream([5.0, 4.0, 3.0, 2.0], [1, 2, 3, 4], 9, 2))
    query.memory.expire(1)
    query.memory.fill_top()
    with pytest.raises(AssertionError, match="not the best of the window"):
        query.check()
