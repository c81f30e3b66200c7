"""What is taken for a remote value: what is remembered, the median of the known, or a default."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.replica import Replica
from topwater.replica.remote_values import RemoteValues


def filled() -> Replica:
    """Key 1 has 4, key 2 has 8, key 3 was fetched and has none, key 4 was never fetched."""
    replica = Replica()
    slots = replica.slots(np.array([1, 2, 3, 4]))
    replica.put(slots[:3], np.array([4.0, 8.0, np.nan]), at=10)
    return replica


@pytest.mark.parametrize(("default", "without"), [(None, np.nan), (5.0, 5.0), (0.0, 0.0)])
def test_a_key_never_fetched_counts_as_the_mean_of_the_known(
    default: float | None, without: float
) -> None:
    replica = filled()
    values = RemoteValues(replica, default)
    np.testing.assert_equal(values.of_slots(replica.used()), [4.0, 8.0, without, 6.0])


def test_asking_for_a_key_does_not_enter_it() -> None:
    replica = filled()
    found = RemoteValues(replica).of_keys(np.array([9, 2, 4]))
    assert found.tolist() == [6.0, 8.0, 6.0]
    assert len(replica) == 4


@pytest.mark.parametrize(("default", "right"), [(None, 0.0), (3.0, 3.0)])
def test_where_nothing_is_known_the_default_counts_or_zero(
    default: float | None, right: float
) -> None:
    assert RemoteValues(Replica(), default).of_keys(np.array([1])).tolist() == [right]


def test_it_follows_a_replica_that_is_restored() -> None:
    replica, other = filled(), Replica()
    values = RemoteValues(other)
    other.restore(replica.snapshot())
    assert values.of_keys(np.array([1, 2])).tolist() == [4.0, 8.0]


@pytest.mark.parametrize(
    ("default", "lacks"), [(None, [False, False, True, False]), (5.0, [False] * 4)]
)
def test_keys_that_are_no_result(default: float | None, lacks: list[bool]) -> None:
    replica = filled()
    values = RemoteValues(replica, default)
    assert values.lacking(replica.used()).tolist() == lacks
    assert np.isnan(values.of_slots(replica.used())).tolist() == lacks


def test_why_a_value_is_only_assumed() -> None:
    replica = filled()
    assert RemoteValues(replica).assumed(replica.used()) == [None, None, "not_found", "never"]
    why = np.array(["doubled", "late"], object)
    replica.miss(replica.used()[2:], 20, why)
    assert RemoteValues(replica).assumed(replica.used()) == [None, None, "not_found", "late"]
    replica.miss(replica.slots(np.array([5])), 20)
    assert RemoteValues(replica).assumed(replica.used())[-1] == "failed"


def test_without_a_single_number_nothing_is_shown_unless_there_is_a_default() -> None:
    replica = Replica()
    slots = replica.slots(np.array([1, 2]))
    replica.put(slots[:1], np.array([np.nan]), 10, np.array(["null"], object))
    assert np.isnan(RemoteValues(replica).shown(slots)).all()
    assert RemoteValues(replica, 3.0).shown(slots).tolist() == [3.0, 3.0]
    assert RemoteValues(replica).assumed(slots) == ["null", "never"]
    restored = Replica()
    restored.restore(replica.snapshot())
    assert RemoteValues(restored).assumed(slots) == ["null", "never"]


@pytest.mark.parametrize("default", [None, 3.0])
def test_values_follow_whatever_happens_to_the_replica(default: float | None) -> None:
    rng = np.random.default_rng(6)
    replica = Replica()
    values = RemoteValues(replica, default)
    for step in range(60):
        slots = replica.slots(rng.choice(30, 5, replace=False))
        if step % 4 == 3:
            replica.forget(slots)
        elif step % 4 == 2:
            replica.miss(slots, step)
        elif step % 10 == 9:
            replica.restore(replica.snapshot())
        else:
            drawn = rng.normal(size=5)
            replica.put(slots, np.where(drawn > 1, np.nan, drawn), step)
        used = replica.used()
        value, known = replica.value[used], replica.known(used)
        finite = np.sort(value[np.isfinite(value)])
        typical = np.median(finite) if len(finite) else default or 0.0
        right = np.where(
            known, value if default is None else np.nan_to_num(value, nan=3.0), typical
        )
        np.testing.assert_equal(values.of_slots(used), right)
        assert values.of_keys(np.array([999])).tolist() == [typical]
