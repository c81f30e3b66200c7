"""What an answer is expected to be after look-ups, against looking at every world by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.election_scene import refresher_of, view_of
from topwater.model import FloatArray
from topwater.replica import Refresher
from topwater.replica.outcomes import shown_after
from topwater.scoring.accuracy import ndcg, precision

score = st.one_of(st.integers(-3, 3).map(float), st.just(-np.inf))


def slowly(
    worlds: FloatArray, believed: FloatArray, known: list[int], k: int
) -> tuple[float, float]:
    """World by world: what is shown, and where that truly belongs."""
    found = []
    for true in worlds:
        shown_by = [true[at] if at in known else each for at, each in enumerate(believed)]
        shown = sorted(range(len(shown_by)), key=lambda at: -shown_by[at])[:k]
        order = sorted(range(len(true)), key=lambda at: -true[at])
        n = int(np.isfinite(true).sum())
        places = {at: place if np.isfinite(true[at]) else n for place, at in enumerate(order)}
        ranks = np.array([places[at] for at in shown], np.int64)
        found.append((float(precision(ranks, n, k)), float(ndcg(ranks, n, k))))
    right, gain = np.mean(found, axis=0).tolist()
    return right, gain


@given(
    believed=st.lists(score, min_size=1, max_size=6),
    others=st.integers(0, 2),
    data=st.data(),
    k=st.integers(1, 4),
)
def test_it_is_what_each_world_gives(
    believed: list[float], others: int, data: st.DataObject, k: int
) -> None:
    size = len(believed) + others
    rows = st.lists(score, min_size=size, max_size=size)
    worlds = np.array(data.draw(st.lists(rows, min_size=1, max_size=4)))
    known = data.draw(st.lists(st.integers(0, len(believed) - 1), unique=True))
    order = np.argsort(-np.array(believed), kind="stable")
    # The columns that are believed come best first, as they do in an answer.
    worlds = np.concatenate([worlds[:, order], worlds[:, len(believed) :]], axis=1)
    ranked = np.array(believed)[order]
    # Ties within a world are broken by the columns in both.
    found = shown_after(worlds, ranked, np.array(known, np.int64), k)
    right, gain = slowly(worlds, ranked, known, k)
    assert found[0] == pytest.approx(right)
    assert found[1] == pytest.approx(gain)


def test_what_is_not_in_the_window_changes_nothing() -> None:
    worlds, believed = np.array([[1.0, 5.0]]), np.array([3.0, 2.0])
    assert shown_after(worlds, believed, np.array([-1, 1]), 1)[0] == 1.0
    assert shown_after(worlds, believed, np.array([-1]), 1)[0] == 0.0


def known(values: Any, **more: Any) -> Refresher:
    refresher = refresher_of(aim="accuracy", **more)
    refresher.seed_replica(np.arange(len(values)), np.array(values, np.float64), 0)
    return refresher


def curve_of(refresher: Refresher, window: int, slots: list[int]) -> Any:
    keys = np.arange(6)
    view = view_of(window, keys, np.zeros(6))
    view = view.at(refresher.replica.slots(view.keys))
    scores = refresher._ranker.scores(view)
    return refresher._outcomes.curve(view, scores, view.slots[slots])


def test_it_begins_where_the_answers_estimate_is_and_ends_where_all_is_known() -> None:
    refresher = known([3.0, 1.0, 2.0, 2.5, 1.5, 0.5])
    expected = curve_of(refresher, 30, [0, 1, 2, 3, 4, 5])
    view = view_of(30, np.arange(6), np.zeros(6))
    view = view.at(refresher.replica.slots(view.keys))
    scores = refresher._ranker.scores(view)
    none = np.empty(0, np.int64)
    said, _ = refresher._estimates.accuracy(view, scores, view.best_first(scores), none)
    # In other worlds than the answer is judged in, so not to the digit.
    assert expected(0) == pytest.approx(said, abs=0.08)
    assert said < 1.0
    assert expected(6) == 1.0
    assert np.all(np.diff([expected(count) for count in range(7)]) > -0.05)


def test_while_no_value_is_known_to_differ_it_is_the_share_of_keys_known() -> None:
    refresher = refresher_of(aim="accuracy")
    refresher.replica.put(refresher.replica.slots(np.array([0])), np.array([1.0]), 0)
    expected = curve_of(refresher, 0, [1, 2, 3])
    assert [expected(count) for count in range(4)] == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6])
    assert expected(50) == 1.0
