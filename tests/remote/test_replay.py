"""A recorded remote side, whose time moves only when it is told to."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.protocols import Seeks
from topwater.remote.known_changes import Steps
from topwater.remote.replay import Replay

KEYS = np.array([7, 8])


@pytest.fixture
def replay() -> Replay:
    return Replay(Steps.of(np.array([0, 0, 60]), np.array([7, 8, 7]), np.array([1.0, 2.0, 3.0])))


def test_it_answers_as_of_the_time_it_was_told(replay: Replay) -> None:
    assert isinstance(replay, Seeks)
    told = []
    for now in (60, 61, 60):
        replay.seek(now)
        told.append(replay.fetch(KEYS).values.tolist())
    assert told == [[1, 2], [3, 2], [1, 2]]


def test_it_remembers_what_it_was_asked(replay: Replay) -> None:
    keys = np.array([8, 7, 8])
    replay.fetch(keys)
    keys[:] = 7
    replay.fetch(np.array([7]))
    assert [each.tolist() for each in replay.asked] == [[8, 7, 8], [7]]
    assert replay.fetches == 4


def test_the_truth_is_not_asked_for(replay: Replay) -> None:
    replay.seek(10)
    values, due = replay.truth(KEYS)
    assert values.tolist() == [1, 2]
    assert due.tolist() == [60, np.inf]
    assert replay.fetches == 0


def test_it_is_never_late(replay: Replay) -> None:
    assert replay.fetch(KEYS, deadline=-1.0).ok.all()
