"""The arrays of panes: compiled loops take them apart by place, and columns by how they merge."""

from __future__ import annotations

from topwater.monitor.pane_rows import LAST, MAX, MIN, SUM, Columns, Rows


def test_the_order_in_which_they_are_taken_apart() -> None:
    assert Rows._fields == ("slots", "time", "numbers")
    assert Columns._fields == ("panes", "time", "numbers")


def test_each_way_to_merge_has_a_number_of_its_own() -> None:
    assert len({SUM, MIN, MAX, LAST}) == 4
