"""Published structures as lists: their names, what they are made of, and panes as stamps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.figures import arrivals
from topwater.candidates.published.adapter import Stepped, structure
from topwater.candidates.published.auto_skyband import Hybrid
from topwater.candidates.published.cpm_snn import Gridded
from topwater.candidates.published.filtered_skyband import Filtered, largest_buffer
from topwater.candidates.published.object_trees import Seen
from topwater.candidates.published.skyband import Probabilistic, Relaxed, Strict
from topwater.candidates.published.timed_skyband import Estimated
from topwater.model import Items
from topwater.testing import check_list, rows
from topwater.windows import Windows, counting, sliding

SLIDING = Windows(9, 3)
"""W0 = (0, 9], W1 = (3, 12]; panes of 3."""


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sa", Strict),
        ("ra", Relaxed),
        ("rapf", Filtered),
        ("sasf", Filtered),
        ("auto", Hybrid),
        ("cpm/w", Gridded),
        ("snn", Gridded),
    ],
)
def test_names_stand_for_structures(name: str, kind: type) -> None:
    found = structure(name, counting(100, 5), k=3)
    assert isinstance(found, kind)
    assert (found.k, found.top()) == (3, [])


@pytest.mark.parametrize(
    ("name", "skyband", "own"),
    [
        (a + b, skyband, own)
        for a, skyband in (("sa", Strict), ("ra", Relaxed))
        for b, own in (("sf", Strict), ("rf", Relaxed), ("pf", Probabilistic))
    ],
)
def test_a_name_of_four_letters_is_a_skyband_and_its_filter(
    name: str, skyband: type, own: type
) -> None:
    found: Any = structure(name, counting(100, 5), k=3)
    parts = [type(each) for each in vars(found).values() if hasattr(each, "fill_top")]
    assert parts == [skyband, own]
    assert found.buffer == largest_buffer(20)


def test_the_limit_of_pa_is_counted_or_estimated() -> None:
    assert isinstance(structure("pa", counting(100, 5), k=3), Probabilistic)
    assert isinstance(structure("pa", sliding("1 min", "5 s"), k=3), Estimated)


@pytest.mark.parametrize("name", ["sa", "rapf"])
def test_it_keeps_the_contract_in_order(name: str) -> None:
    def make(windows: Windows, k: int) -> Stepped:
        return Stepped(windows, structure(name, windows, k))

    check_list(make, in_order=True, windows=(SLIDING, counting(12, 3)), seeds=range(2))


def test_stamps_are_panes_and_times_decide_ties() -> None:
    lst = Stepped(SLIDING, Strict(1))
    lst.add(arrivals(SLIDING, (5, 4, 1), (5, 6, 2), (5, 5, 3)))
    assert rows(lst.top(0)) == [(5.0, 6, 2)]
    assert {each.stamp for each in lst.structure.kept()} == {1}


def test_later_windows_are_answered_from_what_is_kept() -> None:
    lst = Stepped(SLIDING, Strict(1))
    lst.add(arrivals(SLIDING, (9, 2, 1), (7, 5, 2), (5, 8, 3)))
    assert [lst.top(window).key.tolist() for window in range(4)] == [[1], [2], [3], []]
    assert len(lst) == 3
    lst.expire(1)
    assert list(lst) == [(5.0, 8, 3)]
    lst.expire(0)
    assert list(lst) == [(5.0, 8, 3)]


def test_text_keys_stay_text() -> None:
    lst = Stepped(SLIDING, Strict(2))
    lst.add(SLIDING.group(Items(np.array([1.0]), np.array([2]), np.array(["a"], object))))
    assert lst.snapshot().key.dtype == object
    assert rows(lst.snapshot()) == [(1.0, 2, "a")]


def test_check_asks_the_structure() -> None:
    lst = Stepped(SLIDING, Strict(1))
    lst.add(arrivals(SLIDING, (5, 4, 1)))
    lst.check()
    assert isinstance(lst.structure, Strict)
    lst.structure._top.add(Seen(9.0, 2, stamp=1))
    with pytest.raises(AssertionError, match="the time tree is not the top-k"):
        lst.check()
