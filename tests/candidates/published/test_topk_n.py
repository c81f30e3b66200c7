"""SuperTopKN: the published figures, for all ways to divide three members into K- and N-list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.changing_lists import ACQUATOP, AT_9, keys_of, world
from topwater.candidates.published.topk_n import SuperTopKN
from topwater.windows import Windows

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.everything import Everything


AREAS = pytest.mark.parametrize(("k", "spare"), [(3, 0), (2, 1), (1, 2)])


def figure_6(k: int, spare: int, until: str) -> tuple[SuperTopKN, Everything]:
    """The list at time 9, 10 (after the purge), 11 or 12, and after E changed."""
    lst, all_of_it = SuperTopKN(ACQUATOP, k, spare), world()
    all_of_it.arrive(AT_9, lst)
    steps: dict[str, Callable[[], None]] = {
        "purge": lambda: lst.expire(0),
        "A": lambda: all_of_it.arrive([(11, "A", 3)], lst),
        "G": lambda: all_of_it.arrive([(12, "G", 8)], lst),
        "E": lambda: all_of_it.change({"E": 3.0}, lst),
    }
    for name in ("purge", "A", "G", "E")[: len(until)]:
        steps[name]()
        lst.check()
    return lst, all_of_it


@AREAS
def test_figure_6a_before_the_purge(k: int, spare: int) -> None:
    lst, _ = figure_6(k, spare, "")
    assert lst.marks() == [("E", 0, 2), ("C", 0, 1), ("B", 0, 0), ("F", 1, 2)]
    assert list(lst) == [(7, 8, "E"), (6, 5, "C"), (5, 3, "B"), (4, 9, "F")]
    assert lst.lower_bounds() == {0: "B", 1: "F"}
    assert keys_of(lst.top(0)) == ["E", "C", "B"][:k]


@AREAS
def test_figure_6b_after_the_purge(k: int, spare: int) -> None:
    """Purging by k alone would leave C and B in window 0 when k is 1."""
    lst, _ = figure_6(k, spare, "p")
    assert lst.marks() == [("E", 1, 2), ("C", 1, 1), ("F", 1, 2)]
    assert lst.lower_bounds() == {1: "F"}


@AREAS
def test_figure_6c_A_arrives_again(k: int, spare: int) -> None:
    lst, _ = figure_6(k, spare, "pA")
    assert lst.marks() == [("E", 1, 2), ("C", 1, 1), ("F", 1, 2), ("A", 2, 3)]
    assert lst.lower_bounds() == {1: "F", 2: "A"}


@AREAS
def test_figures_3_and_6d_G_arrives(k: int, spare: int) -> None:
    lst, _ = figure_6(k, spare, "pAG")
    assert lst.marks() == [("G", 1, 3), ("E", 1, 2), ("C", 1, 1), ("F", 2, 2), ("A", 3, 3)]
    assert lst.lower_bounds() == {1: "C", 2: "F"}
    assert keys_of(lst.top(1)) == ["G", "E", "C"][:k]
    assert keys_of(lst.top(2)) == ["G", "E", "F"][:k]
    assert keys_of(lst.top(3)) == ["G", "A"][:k]


@AREAS
def test_figure_7_E_changes_to_10(k: int, spare: int) -> None:
    lst, _ = figure_6(k, spare, "pAGE")
    assert lst.marks() == [("E", 1, 2), ("G", 1, 3), ("C", 1, 1), ("F", 2, 2), ("A", 3, 3)]
    assert lst.lower_bounds() == {1: "C", 2: "F"}
    assert next(iter(lst)) == (10, 8, "E")
    assert all(lst.exact(window) for window in (1, 2, 3))


def test_figure_7_areas_with_one_and_two_spare() -> None:
    """G is in the N-list of W1 and W2, and in the K-list of W3."""
    lst, _ = figure_6(1, 2, "pAGE")
    members = {w: keys_of(lst.known(w))[:3] for w in (1, 2, 3)}
    assert members == {1: ["E", "G", "C"], 2: ["E", "G", "F"], 3: ["G", "A"]}
    assert [keys_of(lst.top(w)) for w in (1, 2, 3)] == [["E"], ["E"], ["G"]]


def test_several_windows_share_one_lower_bound() -> None:
    lst, all_of_it = SuperTopKN(ACQUATOP, 1, 1), world()
    all_of_it.arrive([(9, "A", 5), (9, "B", 4)], lst)
    assert lst.lower_bounds() == {0: "B", 1: "B", 2: "B"}
    all_of_it.arrive([(10, "C", 6)], lst)
    assert lst.lower_bounds() == {0: "A", 1: "A", 2: "A"}
    lst.check()


def test_an_arrival_of_a_kept_key_gets_new_score_and_new_marks() -> None:
    lst, all_of_it = figure_6(3, 0, "pAG")
    all_of_it.arrive([(13, "F", 9)], lst)
    assert lst.marks() == [("F", 1, 3), ("G", 1, 3), ("E", 1, 2), ("A", 3, 3)]
    assert lst.lower_bounds() == {1: "E", 2: "E", 3: "A"}
    lst.check()


def test_lowering_frees_a_place_before_the_object_is_inserted_again() -> None:
    """E falls from 7 to 3.5: F moves into W1, and E into W2 only, above A."""
    lst, all_of_it = figure_6(3, 0, "pAG")
    all_of_it.change({"E": -3.5}, lst)
    lst.check()
    assert lst.marks() == [("G", 1, 3), ("C", 1, 1), ("F", 1, 2), ("E", 2, 2), ("A", 3, 3)]
    assert lst.lower_bounds() == {1: "F", 2: "E"}
    assert keys_of(lst.top(1)) == ["G", "C", "F"]


def test_a_freed_place_without_heir_stays_empty() -> None:
    """Nothing else lives in W1: its count falls, and it has no lower bound any more."""
    lst, all_of_it = SuperTopKN(Windows(10, 10), 2, 0), world(Windows(10, 10))
    all_of_it.arrive([(1, "A", 5), (2, "B", 4)], lst)
    lst._marks.remove("A")
    assert lst.lower_bounds() == {}
    assert lst._marks._members == {0: 1}
    lst._marks.check()
    lst._marks.remove("B")
    assert lst._marks._members == {}
    lst._marks.check()


def test_check_notices_a_wrong_mark_and_a_wrong_bound() -> None:
    lst, _ = figure_6(2, 1, "pAG")
    lst._facts["E"].most = 0.0
    with pytest.raises(AssertionError, match="bounds of E"):
        lst.check()
    lst._marks.at["C"].start += 1
    with pytest.raises(AssertionError, match="marks of"):
        lst.check()


def test_what_a_smaller_list_can_not_take_up_leaves_a_trace() -> None:
    """As where the lists of several shards become one."""
    lst, _ = figure_6(2, 1, "")
    smaller = SuperTopKN(ACQUATOP, 1)
    smaller.restore(lst.snapshot())
    smaller.check()
    assert keys_of(smaller.known(0)) == ["E"]
    assert smaller.ceiling(0) == (-6.0, -5, "C")
