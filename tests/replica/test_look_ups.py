"""A look-up: the source is asked, the replica written, everybody learns, and it is paid for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.election_scene import refresher_of, view_of
from topwater.model import Fetched, IntArray, LookUp
from topwater.replica import Refresher
from topwater.replica.look_ups import LookUps, Polls
from topwater.replica.proposals import Proposal


def proposed(refresher: Refresher, keys: Any, window: int = 0) -> tuple[Proposal, IntArray]:
    view = view_of(window, keys)
    slots = refresher.replica.slots(view.keys)
    scores = refresher.terms.scores(view.values, refresher.values.of_slots(slots))
    return refresher._proposals.propose(view, slots, scores), np.arange(len(view.keys))


def test_what_came_is_remembered_and_told() -> None:
    refresher = refresher_of({1: 7.0, 2: 8.0}, policy="lru")
    found = refresher._fetcher.look_up(*proposed(refresher, [1, 2, 3]), None)
    assert found.keys.tolist() == [1, 2, 3]
    assert (found.failed, found.bad, found.problems) == (0, 1, ())
    assert found.first == (
        LookUp(1, None, 7.0, ok=True),
        LookUp(2, None, 8.0, ok=True),
        LookUp(3, None, None, ok=True),
    )
    assert refresher.values.of_keys(np.array([1, 2])).tolist() == [7.0, 8.0]


def test_a_key_that_fails_keeps_its_value_and_is_counted_by_its_problem() -> None:
    refresher = refresher_of(policy="lru")
    refresher.seed_replica(np.array([1, 2]), np.array([3.0, 4.0]), 0)
    why = np.array(["", "server"], object)
    got = Fetched(np.array([5.0, np.nan]), np.array([True, False]), 0.5, why)
    found = refresher._fetcher.take_in(*proposed(refresher, [1, 2]), got)
    assert (found.failed, found.problems, found.seconds) == (1, (("server", 1),), 0.5)
    assert refresher.values.of_keys(np.array([1, 2])).tolist() == [5.0, 4.0]
    assert refresher.replica.vain[refresher.replica.find(np.array([1, 2]))].tolist() == [0, 1]


def test_only_keys_that_were_known_teach_how_values_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refresher = refresher_of({1: 5.0, 2: 4.0, 9: 1.0}, policy="lru")
    refresher.seed_replica(np.array([1, 2]), np.array([3.0, 4.0]), 0)
    seen: list[Polls] = []
    monkeypatch.setattr(refresher.learners, "observe", seen.append)
    refresher._fetcher.look_up(*proposed(refresher, [1, 2, 9]), None)
    (polls,) = seen
    assert polls.before.tolist() == [3.0, 4.0]
    assert polls.after.tolist() == [5.0, 4.0]
    assert polls.changed.tolist() == [True, False]
    assert polls.seconds.tolist() == [60.0, 60.0]


def test_a_source_that_fails_at_once_does_not_look_cheap() -> None:
    refresher = refresher_of(policy="lru", budget={"deadline": "2 s"})
    before = refresher.purse.seconds_per_fetch
    proposal, rows = proposed(refresher, [1, 2])
    quick = Fetched(np.full(2, np.nan), np.zeros(2, bool), 0.001)
    refresher._fetcher.take_in(proposal, rows, quick)
    assert refresher.purse.seconds_per_fetch == before
    slow = Fetched(np.full(2, np.nan), np.zeros(2, bool), 1.0)
    refresher._fetcher.take_in(proposal, rows, slow)
    assert refresher.purse.seconds_per_fetch > before


def test_without_keys_the_source_is_left_alone() -> None:
    refresher = refresher_of(policy="lru")
    proposal, _ = proposed(refresher, [1])
    found = refresher._fetcher.look_up(proposal, np.empty(0, np.int64), 1.0)
    assert len(found.keys) == 0
    assert refresher._fetcher._source.calls == []  # type: ignore[attr-defined]


def test_nothing_failed_where_there_is_no_problem() -> None:
    assert LookUps(np.array([1, 2])).failed == 0
    assert LookUps(np.array([1, 2, 3]), problems=(("", 1), ("late", 2))).failed == 3
