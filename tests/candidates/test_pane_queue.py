"""Queued: what belongs to later windows waits its turn, and changes while it waits."""

from __future__ import annotations

import pytest

from tests.support.changing_lists import ACQUATOP, AT_9, PAIRS, world
from topwater.candidates.rescorable import build
from topwater.model import Items
from topwater.testing import rows


@pytest.mark.parametrize("name", PAIRS)
def test_a_later_event_does_not_replace_too_early(name: str) -> None:
    """At 11, A comes again; W0 closes at 10 and still shows A as it was."""
    lst, all_of_it = build(name, ACQUATOP, 1, 1), world()
    all_of_it.arrive([(5, "A", 9), (6, "B", 5), (11, "A", 1)], lst)
    assert rows(lst.top(0)) == [(9, 5, "A")]
    assert rows(lst.top(1)) == all_of_it.ranking(1)[:1] == [(5, 6, "B")]
    lst.expire(0)
    assert rows(lst.top(1)) == [(5, 6, "B")]
    assert lst.exact(1)
    lst.check()


@pytest.mark.parametrize("name", PAIRS)
def test_what_waits_changes_too(name: str) -> None:
    lst, all_of_it = build(name, ACQUATOP, 1), world()
    all_of_it.arrive([(5, "A", 9), (14, "B", 1), (14, "C", 2)], lst)
    all_of_it.change({"B": 5.0}, lst)
    assert rows(lst.top(2)) == all_of_it.ranking(2)[:1] == [(6, 14, "B")]
    lst.expire(1)
    assert rows(lst.top(2)) == [(6, 14, "B")]


@pytest.mark.parametrize("name", PAIRS)
def test_empty_windows_answer_and_are_exact(name: str) -> None:
    lst = build(name, ACQUATOP, 2, 1)
    lst.add(ACQUATOP.group(Items.empty()))
    for window in (0, 5):
        assert len(lst.top(window)) == 0
        assert lst.exact(window)
    lst.expire(10**12)
    assert len(lst) == 0


def test_expiring_again_changes_nothing() -> None:
    for name in PAIRS:
        lst, all_of_it = build(name, ACQUATOP, 2), world()
        all_of_it.arrive(AT_9, lst)
        lst.expire(0)
        before = list(lst)
        lst.expire(0)
        assert list(lst) == before
