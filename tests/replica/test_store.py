"""The replica: slots, what a fetch writes, what goes beyond the limit, and restarts."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.errors import StateError
from topwater.replica.store import NEVER, Replica


def test_slots_are_given_again_without_what_was_in_them() -> None:
    replica = Replica(limit=2)
    slots = replica.slots(np.array([1, 2, 3]))
    replica.put(slots, np.array([1.0, 2.0, 3.0]), at=5)
    replica.miss(slots, at=6)
    replica.present(slots, 0, 5)
    gone = replica.surplus(keep=slots[2:])
    assert gone.tolist() == slots[:1].tolist()
    replica.forget(gone)
    (again,) = replica.slots(np.array([9]))
    assert again == gone[0]
    assert not replica.known(np.array([again]))[0]
    assert (replica.asked[again], replica.vain[again], replica.window[again]) == (NEVER, 0, -1)


def test_a_slot_stays_its_own_while_the_replica_grows() -> None:
    replica = Replica()
    first = replica.slots(np.array(["a", "b"], object))
    many = replica.slots(np.array([str(number) for number in range(500)], object))
    assert replica.slots(np.array(["b", "a"], object)).tolist() == first[::-1].tolist()
    assert len({*first.tolist(), *many.tolist()}) == len(replica) == 502
    assert replica.keys(first).tolist() == ["a", "b"]


def test_finding_enters_nothing() -> None:
    replica = Replica()
    (slot,) = replica.slots(np.array([7]))
    assert replica.find(np.array([8, 7])).tolist() == [-1, slot]
    assert len(replica) == 1


def test_an_unchanged_value_renews_the_age_and_is_no_change() -> None:
    replica = Replica()
    slots = replica.slots(np.array([1, 2]))
    nothing = np.nan
    assert replica.put(slots, np.array([1.0, nothing]), at=10).tolist() == [True, True]
    assert replica.put(slots, np.array([1.0, nothing]), at=20).tolist() == [False, False]
    assert replica.put(slots, np.array([3.0, nothing]), at=30).tolist() == [True, False]
    assert replica.fetched[slots].tolist() == [30, 30]
    assert replica.changed[slots].tolist() == [30, 10]
    assert (replica.fetches[slots].tolist(), replica.changes[slots].tolist()) == ([3, 3], [1, 0])


def test_asking_in_vain_renews_nothing_until_something_comes() -> None:
    replica = Replica()
    slots = replica.slots(np.array([1]))
    replica.put(slots, np.array([1.0]), at=10)
    for at in (20, 30):
        replica.miss(slots, at)
    assert (replica.asked[slots[0]], replica.fetched[slots[0]], replica.vain[slots[0]]) == (
        30,
        10,
        2,
    )
    replica.put(slots, np.array([1.0]), at=40)
    assert replica.vain[slots[0]] == 0


def test_only_events_after_the_fetch_are_hints() -> None:
    replica = Replica()
    slots = replica.slots(np.array([1]))
    replica.put(slots, np.array([1.0]), at=10)
    for event, hints in ((9, 0), (11, 1), (11, 1), (15, 2)):
        replica.hear(slots, np.array([event]))
        assert replica.hints[slots[0]] == hints
    replica.put(slots, np.array([1.0]), at=20)
    assert replica.hints[slots[0]] == 0


def test_presence_fades_with_the_windows_that_a_key_is_not_in() -> None:
    replica = Replica()
    slots = replica.slots(np.array([1]))
    before = float(replica.presence_at(slots, 5)[0])
    replica.present(slots, window=5, at=100)
    now = float(replica.presence_at(slots, 5)[0])
    assert now == before * 0.98 + 0.02
    assert replica.presence_at(slots, 8).tolist() == [now * 0.98**3]


def test_those_longest_out_of_the_windows_go_first() -> None:
    replica = Replica(limit=2)
    slots = replica.slots(np.arange(5))
    for slot, at in zip(slots, (50, 10, 40, 20, 30), strict=True):
        replica.present(np.array([slot]), 0, at)
    assert replica.surplus(keep=slots[[1]]).tolist() == slots[[3, 4, 2]].tolist()
    assert replica.surplus(keep=slots).tolist() == []
    assert Replica().surplus(keep=np.empty(0, np.int64)).tolist() == []


def test_a_restart_keeps_all_columns_and_the_order_of_arrival() -> None:
    replica, again = Replica(), Replica()
    slots = replica.slots(np.array(["c", "a", "b"], object))
    replica.put(slots, np.array([3.0, np.nan, 2.0]), at=10)
    replica.forget(slots[:1])
    replica.slots(np.array(["d"], object))
    again.slots(np.array(["old"], object))
    again.restore(replica.snapshot())
    assert again.keys(again.used()).tolist() == ["a", "b", "d"]
    for name in replica.snapshot().column_names:
        one, other = (each.snapshot().column(name).to_pylist() for each in (replica, again))
        assert repr(one) == repr(other), name
    assert again.fetched[again.used()].tolist() == [10, 10, NEVER]


def test_a_restart_of_what_is_in_use_leaves_the_windows_their_slots() -> None:
    replica, other = Replica(), Replica()
    other.put(other.slots(np.array([5, 9, 2])), np.array([5.0, 9.0, 2.0]), at=3)
    held = replica.index.slots_of(np.array([7, 9, 8]), add=True)
    replica.index.hold(held)
    replica.put(held[:2], np.array([70.0, 90.0]), at=1)
    replica.restore(other.snapshot())
    assert replica.index.keys_at(held).tolist() == [7, 9, 8]
    np.testing.assert_equal(replica.value[held], [np.nan, 9.0, np.nan])
    assert replica.keys(replica.used()).tolist() == [5, 9, 2]
    replica.index.release(held)
    replica.index.check()
    assert (len(replica.index), len(replica)) == (3, 3)


def test_a_key_never_asked_for_is_as_in_its_first_window() -> None:
    replica = Replica()
    asked, never = replica.lend(np.array([1, 2])).reshape(2, 1)
    replica.enter(asked, window=4, at=50, last_event=np.array([45]))
    assert replica.presence_at(asked, 4).tolist() == replica.presence_at(never, 4).tolist()
    assert (replica.seen[asked], replica.hinted[asked], replica.window[asked]) == (50, 45, 4)
    replica.present(never, 4, 50)
    replica.hear(never, np.array([45]))
    assert (replica.seen[never], replica.window[never]) == (NEVER, -1)
    assert (len(replica), replica.kept(never).tolist()) == (1, [False])


def test_a_forgotten_key_keeps_its_slot_while_a_window_holds_it() -> None:
    replica = Replica()
    slots = replica.index.slots_of(np.array([1]), add=True)
    replica.index.hold(slots)
    replica.put(slots, np.array([3.0]), at=1)
    replica.forget(slots)
    assert replica.find(np.array([1])).tolist() == [-1]
    assert np.isnan(replica.value[slots]).all()
    assert replica.index.slots_of(np.array([1])).tolist() == slots.tolist()
    assert replica.index.release(slots).tolist() == slots.tolist()


def test_a_state_without_a_column_is_refused() -> None:
    replica = Replica()
    replica.slots(np.array([1]))
    with pytest.raises(StateError, match="the replica's state can't be read"):
        Replica().restore(replica.snapshot().drop_columns(["hints"]))


def test_a_key_on_loan_goes_unless_something_was_asked_of_it() -> None:
    replica = Replica()
    slots = replica.lend(np.array(["a", "b", "c", "d"], object))
    replica.present(slots, 0, 5)
    replica.put(slots[1:2], np.array([1.0]), at=5)
    replica.miss(slots[3:], at=5)
    assert replica.keys(slots).tolist() == ["a", "b", "c", "d"]
    assert sorted(replica.reclaim().tolist()) == sorted(slots[[0, 2]].tolist())
    assert replica.keys(replica.used()).tolist() == ["b", "d"]
    assert replica.find(np.array(["a", "b"], object)).tolist() == [-1, slots[1]]
    np.testing.assert_equal(replica.remembered(np.array(["a", "b"], object)), [np.nan, 1.0])
    (again,) = replica.lend(np.array(["z"], object))
    assert (replica.window[again], replica.seen[again]) == (-1, NEVER)
    assert len(replica.reclaim()) == 1
    assert len(replica.reclaim()) == 0


def test_keys_that_come_and_go_take_no_room() -> None:
    replica = Replica()
    for start in range(0, 100_000, 1_000):
        slots = replica.lend(np.arange(start, start + 1_000))
        replica.put(slots[:1], np.ones(1), at=start)
        replica.reclaim()
    assert len(replica) == 100
    assert replica.capacity <= 2_048
    assert replica.size < 100 * 400


@pytest.mark.parametrize("names", [["key"], ["a", "k" * 5_000]])
def test_the_oldest_go_when_the_bytes_do_not_suffice(names: list[str]) -> None:
    replica = Replica(memory=100_000)
    replica.learnt = 400
    for window in range(500):
        keys = np.array([f"{names[at % len(names)]}{window}-{at}" for at in range(10)], object)
        slots = replica.lend(keys)
        replica.present(slots, window, window)
        replica.put(slots, np.ones(10), window)
        replica.reclaim()
        replica.forget(replica.surplus(keep=slots[:0]))
        assert replica.size <= 100_000
        kept = replica.keys(replica.used())
        assert set(kept.tolist()) >= set(keys[:5].tolist())
    assert replica.size > 80_000
    each = (replica.size - sum(map(len, kept))) / len(kept)
    assert 400 + 12 * 8 < each < 800


def test_even_a_window_that_is_too_large_keeps_to_the_bytes_unless_it_is_held() -> None:
    replica = Replica(memory=10_000)
    slots = replica.slots(np.arange(1_000))
    replica.put(slots, np.ones(1_000), at=1)
    assert len(replica.surplus(keep=slots)) == 0
    replica.forget(replica.surplus(keep=slots[:0]))
    assert 0 < replica.size <= 10_000
