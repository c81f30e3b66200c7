"""A window ranked by what is known, and what is said of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.election_scene import refresher_of, view_of
from topwater.replica import Refresher, WindowView
from topwater.replica.look_ups import LookUps

NONE = LookUps(np.empty(0, np.int64))


def scene(**settings: Any) -> tuple[Refresher, WindowView]:
    """Four keys, of which one was never read, and one has no value."""
    refresher = refresher_of(aim="accuracy", **settings)
    slots = refresher.replica.slots(np.arange(3))
    values, why = np.array([5.0, 1.0, np.nan]), np.array(["", "", "not_found"], object)
    refresher.replica.put(slots, values, 60_000, why)
    view = view_of(1, np.arange(4), [0.0, 0.0, 9.0, 0.0])
    return refresher, view.at(refresher.replica.slots(view.keys))


def test_keys_are_ranked_by_what_is_known_of_them() -> None:
    refresher, view = scene()
    ranking = refresher._ranker.ranked(view, NONE)
    # The key that was never read stands for the median, in the middle of the two that are known.
    assert view.keys_at(ranking.rows).tolist() == [0, 3]
    assert ranking.remote.tolist() == [5.0, 3.0]
    assert ranking.age.tolist() == [60_000, -1]
    assert [*ranking.assumed] == [None, "never"]
    assert refresher._ranker.scores(view)[:2].tolist() == [5.0, 1.0]
    assert ranking.freshness.without_value == 1
    assert not ranking.exact


@pytest.mark.parametrize(
    ("more", "missed"),
    [
        ({"accuracy": 0.6}, True),
        ({"accuracy": 0.4}, False),
        # A set-point counts by what the aim is for.
        ({"accuracy": 0.6, "at_most": 9}, True),
        ({"accuracy": 0.4, "at_most": 9}, False),
    ],
)
def test_what_is_less_right_than_asked_is_marked(more: object, missed: bool) -> None:
    refresher, _ = scene(budget=more)
    assert refresher._ranker.freshness(NONE, 0.5, 0.9, 0).missed is missed
    relevant = refresher_of(budget=more)._ranker.freshness(NONE, 0.9, 0.5, 0)
    by_order = isinstance(more, dict) and "at_most" in more
    assert relevant.missed is (missed if by_order else False)


def test_a_window_is_read_whole_if_each_key_was_read_at_its_close() -> None:
    refresher, view = scene()
    refresher.replica.put(view.slots, np.arange(4.0), view.end)
    assert refresher._ranker.ranked(view, NONE).exact
