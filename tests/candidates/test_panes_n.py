"""Spare: the traps of the published algorithm, in columns and as published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.changing_lists import ACQUATOP, AT_9, keys_of, world
from topwater.candidates.panes_n import Spare
from topwater.candidates.published.topk_n import SuperTopKN
from topwater.testing import rows
from topwater.windows import Windows

if TYPE_CHECKING:
    from collections.abc import Callable


RAW: list[Callable[[Windows, int, int], Any]] = [SuperTopKN, Spare]


BOTH = pytest.mark.parametrize("make", RAW)


@BOTH
def test_counters_and_discarding_go_by_k_and_spare(make: Any) -> None:
    lst, all_of_it = make(Windows(10, 10), 1, 2), world(Windows(10, 10))
    all_of_it.arrive([(1, "A", 5), (2, "B", 4), (3, "C", 3), (4, "D", 2)], lst)
    assert [key for _, _, key in lst] == ["A", "B", "C"]
    lst.check()


@BOTH
def test_a_stale_high_score_does_not_keep_others_out(make: Any) -> None:
    """B comes again with little: it must give way to C, which came in between."""
    tumbling = Windows(10, 10)
    lst, all_of_it = make(tumbling, 1, 1), world(tumbling)
    all_of_it.arrive([(1, "A", 9), (2, "B", 8), (3, "B", 1), (4, "C", 5)], lst)
    assert list(lst) == [(9, 1, "A"), (5, 4, "C")]
    assert lst.exact(0)


@BOTH
def test_the_least_stream_part_is_that_of_all_live_objects(make: Any) -> None:
    """D, with 2, outlives the purge of W0. Reset there, the bound of D would be 6, not 2.

    ::

        1     4     7     10    13
        (--------W0--------]
              (--------W1--------]
            C D      E   F  G
    """
    lst, all_of_it = make(ACQUATOP, 1, 1), world()
    all_of_it.arrive([(5, "C", 6), (6, "D", 2), (8, "E", 7), (9, "F", 8)], lst)
    lst.expire(0)
    all_of_it.arrive([(11, "G", 9)], lst)
    all_of_it.change({"D": 4.0}, lst)
    assert all(score + 0 <= 6 for score, _, key in lst if key == "D")
    assert not lst.exact(2) or rows(lst.top(2)) == all_of_it.ranking(2)[:1]
    assert lst.snapshot().traces.least().tolist() == [2.0]
    lst.expire(1)
    assert lst.snapshot().traces.least().tolist() == [7.0]


@BOTH
def test_changes_of_one_call_do_not_depend_on_their_order(make: Any) -> None:
    """One by one, A would be forgotten before B makes room for it."""
    tumbling = Windows(10, 10)
    found = []
    for change in ({"A": -8.0, "B": -7.5}, {"B": -7.5, "A": -8.0}):
        lst, all_of_it = make(tumbling, 2, 0), world(tumbling)
        all_of_it.arrive([(1, "A", 9), (2, "B", 8), (3, "C", 7)], lst)
        all_of_it.change(change, lst)
        found.append((list(lst), lst.exact(0)))
    assert found[0] == found[1] == ([(1, 1, "A"), (0.5, 2, "B")], False)


@BOTH
def test_an_older_event_of_a_kept_key_is_ignored(make: Any) -> None:
    lst, all_of_it = make(ACQUATOP, 2, 0), world()
    all_of_it.arrive([(5, "A", 1), (6, "B", 2)], lst)
    all_of_it.arrive([(4, "A", 9)], lst)
    assert list(lst) == [(2, 6, "B"), (1, 5, "A")]
    assert lst.exact(0)


@BOTH
def test_an_older_event_after_a_forgotten_one_is_not_trusted(make: Any) -> None:
    """A's latest event, with 1, was forgotten; the older one, with 9, must not pass as exact."""
    lst, all_of_it = make(ACQUATOP, 1, 0), world()
    all_of_it.arrive([(5, "B", 5), (9, "A", 1)], lst)
    lst.expire(0)
    all_of_it.arrive([(13, "C", 3)], lst)
    assert lst.exact(1)
    all_of_it.arrive([(8, "A", 9)], lst)
    assert keys_of(lst.top(1)) == ["A"]
    assert not lst.exact(1)
    assert not lst.exact_set(1)
    all_of_it.arrive([(13, "A", 9)], lst)
    assert lst.exact(1)


@BOTH
def test_a_change_reaches_the_forgotten_event_of_a_key_too(make: Any) -> None:
    """A's latest event, with 2, is forgotten, an older one, with 1.5, is kept below B, with 5.

    A remote value of 3.2 lifts what is kept to 4.7, but A in truth to 5.2.
    """
    tumbling = Windows(10, 10)
    lst, all_of_it = make(tumbling, 1, 1), world(tumbling)
    all_of_it.arrive([(5, "B", 5), (9, "C", 4), (9, "A", 2), (9, "C", 1)], lst)
    all_of_it.arrive([(8, "A", 1.5)], lst)
    assert [key for _, _, key in lst] == ["B", "A"]
    assert lst.exact(0)
    all_of_it.change({"A": 3.2}, lst)
    assert keys_of(lst.top(0)) == ["B"]
    assert all_of_it.ranking(0)[0][-1] == "A"
    assert not lst.exact_set(0)


@BOTH
def test_of_equal_times_the_later_arrival_counts(make: Any) -> None:
    lst, all_of_it = make(ACQUATOP, 2, 0), world()
    all_of_it.arrive([(5, "A", 9), (5, "A", 1), (5, "B", 2)], lst)
    assert list(lst) == [(2, 5, "B"), (1, 5, "A")]


def test_check_notices_a_wrong_count() -> None:
    lst, all_of_it = Spare(ACQUATOP, 2, 1), world()
    all_of_it.arrive(AT_9, lst)
    lst._beaten = lst._beaten + 1
    with pytest.raises(AssertionError, match="better ones"):
        lst.check()
