"""What a change makes of objects: new scores inside the list, bounds outside."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.support.changing_lists import ACQUATOP, PAIRS, keys_of, world
from topwater.candidates.objects import UNSCORED, Candidates, Objects
from topwater.candidates.rescorable import build
from topwater.candidates.rescoring import at_most, rescored
from topwater.testing import rows
from topwater.windows import Windows


@pytest.mark.parametrize("name", PAIRS)
def test_a_key_that_never_came_changes_nothing_while_nothing_is_forgotten(name: str) -> None:
    lst, all_of_it = build(name, ACQUATOP, 2), world()
    all_of_it.change({"X": 100.0}, lst)
    all_of_it.arrive([(5, "A", 9), (6, "B", 5)], lst)
    all_of_it.change({"X": 200.0}, lst)
    assert keys_of(lst.top(0)) == ["A", "B"]
    assert lst.exact(0)


@pytest.mark.parametrize("name", PAIRS)
def test_an_unseen_key_that_may_be_forgotten_leaves_a_doubt(name: str) -> None:
    """The doubt is as great as the score could be: 5 with a remote value of 1, or of 100."""
    lst, all_of_it = build(name, Windows(10, 10), 1), world(Windows(10, 10))
    all_of_it.arrive([(5, "A", 5), (6, "B", 2)], lst)
    all_of_it.change({"X": -1.0}, lst, unseen="X")
    assert lst.exact(0)
    all_of_it.change({"X": 100.0}, lst, unseen="X")
    assert keys_of(lst.top(0)) == ["A"]
    assert not lst.exact_set(0)


@pytest.mark.parametrize("name", PAIRS)
def test_a_score_that_ends_bounds_nothing_beyond(name: str) -> None:
    """From 6 on there is no score. D has 6, so what D would score does not bound C.

    C, with 5, rises by 1 and is the best; the list knows only that it has 1 + 1 or more.
    """
    tumbling = Windows(10, 10)
    lst = build(name, tumbling, 1)

    def score(stream: Any, _: Any = None, by: float = 0.0) -> Any:
        return np.where(stream < 6, stream + by, UNSCORED)

    stream = np.array([5.5, 5.0, 6.0, 1.0])
    times, keys = np.array([1, 2, 3, 4]), np.array(list("ACDE"), object)
    lst.add(tumbling.group(Objects(score(stream), times, keys, stream)))
    assert lst.exact(0)
    lst.rescore(keys[1:2], partial(score, by=1.0), times[1:2])
    assert keys_of(lst.top(0)) == ["A"]
    assert not lst.exact_set(0)


@pytest.mark.parametrize("name", PAIRS)
def test_outside_to_K_keeps_the_set_but_perhaps_not_the_order(name: str) -> None:
    """C has 3; with a remote value of 7 it has 10. The list knows only that it has 2 + 7 or more.

    A, with 9.5, is therefore wrongly first.
    """
    lst, all_of_it = build(name, Windows(10, 10), 2), world(Windows(10, 10))
    all_of_it.arrive([(1, "A", 9.5), (2, "B", 8), (3, "C", 3), (4, "D", 2)], lst)
    all_of_it.change({"C": 7.0}, lst)
    assert rows(lst.top(0)) == [(9.5, 1, "A"), (9, 3, "C")]
    assert all_of_it.ranking(0)[:2] == [(10, 3, "C"), (9.5, 1, "A")]
    assert (lst.exact(0), lst.exact_set(0)) == (False, True)


@pytest.mark.parametrize("name", PAIRS)
def test_outside_to_N_may_miss_one(name: str) -> None:
    """C has 3 + 5.5, more than B; the list knows only that it has 2 + 5.5 or more."""
    lst, all_of_it = build(name, Windows(10, 10), 1, 1), world(Windows(10, 10))
    all_of_it.arrive([(1, "A", 8), (2, "B", 7), (3, "C", 3), (4, "D", 2)], lst)
    all_of_it.change({"C": 5.5}, lst)
    assert [key for _, _, key in lst] == ["A", "C"]
    assert rows(lst.top(0)) == [(8, 1, "A")]
    assert all_of_it.ranking(0)[0] == (8.5, 3, "C")
    assert not lst.exact_set(0)


@pytest.mark.parametrize("name", PAIRS)
def test_outside_to_outside_is_exact_where_the_upper_bound_proves_it(name: str) -> None:
    """Of what is forgotten, the list knows that no stream part is greater than 6, D's."""
    lst, all_of_it = build(name, Windows(10, 10), 1, 1), world(Windows(10, 10))
    all_of_it.arrive([(1, "A", 8), (2, "B", 7), (3, "C", 2), (4, "D", 6)], lst)
    all_of_it.change({"C": 1.5}, lst)
    assert lst.exact(0)
    all_of_it.change({"C": 3.0}, lst)
    assert rows(lst.top(0)) == all_of_it.ranking(0)[:1]
    assert not lst.exact_set(0)


def test_bounds_are_scored_at_both_ends_and_never_cross() -> None:
    """The first is known; of the second the stream part lies between 1 and 3."""
    zero, vague = np.zeros(2), np.zeros(2, np.bool_)
    keys, times = np.array([7, 8]), np.array([1, 2])
    low, high = np.array([2.0, 1.0]), np.array([2.0, 3.0])
    kept = Candidates(zero, times, keys, low, zero, high, vague)
    found = rescored(kept, np.array([1, 0]), lambda stream, which: stream * 10 + which)
    assert (found.score.tolist(), found.most.tolist()) == ([21, 10], [21, 30])
    fallen = rescored(kept, np.array([0, 1]), lambda stream, _: -stream)
    assert np.all(fallen.most >= fallen.score)


def test_where_the_greatest_part_has_no_score_there_is_no_bound() -> None:
    assert at_most(np.array([3.0, UNSCORED])).tolist() == [3.0, np.inf]
