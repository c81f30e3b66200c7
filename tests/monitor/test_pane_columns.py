"""A window's columns, kept by what enters and leaves: as if its panes were merged from scratch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topwater.model import IntArray
from topwater.monitor.pane_columns import PaneColumns, WindowColumns
from topwater.replica.key_slots import KeySlots
from topwater.scoring.aggregates import SOURCE, Aggregate, Aggregation
from topwater.windows import Windows

EVERY = Aggregation(
    {
        "n": Aggregate("count"),
        "total": Aggregate("sum", "x"),
        "usual": Aggregate("mean", "x"),
        "least": Aggregate("min", "x"),
        "most": Aggregate("max", "x"),
        "last": Aggregate("last", "x"),
    }
)
SHAPES = [
    Windows(10, 10),
    Windows(50, 10),
    Windows(25, 10),
    Windows(300, 10),
    Windows(370, 20),
]
"""Tumbling; five steps; a width that is no multiple of the step; many panes, and blocks of them."""


class Stream:
    """Random rows around a time that moves on; some are late, and keys come and go."""

    def __init__(self, seed: int, windows: Windows, *, text: bool, whole: bool) -> None:
        self.rng = np.random.default_rng(seed)
        self.windows = windows
        self.text = text
        self.whole = whole

    def rows(self, times: IntArray) -> pa.Table:
        size = len(times)
        who = self.rng.integers(0, 9, size) + times // 40
        values = self.rng.integers(-3, 4, size).astype(float)
        values = values if self.whole else values * self.rng.choice([0.1, 1e9, 1.0], size)
        names = [f"key {each}" for each in who.tolist()]
        keys = pa.array(names, pa.string()) if self.text else pa.array(who)
        columns: dict[str, Any] = {"pane": self.windows.pane_of(times), "key": keys, "time": times}
        return EVERY.partials(pa.table(columns | {SOURCE + "x": values}))

    def parts(self, first: int, last: int) -> list[pa.Table]:
        """Some partials of the events in panes from one to another."""
        start = self.windows.start + 1 + first * self.windows.pane
        end = self.windows.start + 1 + (last + 1) * self.windows.pane
        return [
            self.rows(self.rng.integers(start, end, self.rng.integers(0, 12)))
            for _ in range(self.rng.integers(0, 4))
        ]


def columns_of(windows: Windows) -> PaneColumns:
    return PaneColumns(KeySlots(), EVERY.merges, windows.panes_per_window)


def told(columns: PaneColumns, found: WindowColumns) -> dict[Any, tuple[Any, ...]]:
    """By key, with numbers as their bits."""
    keys = columns.index.keys_at(found.slots).tolist()
    values = EVERY.finished(found.numbers)
    rows = zip(*(column.view(np.int64).tolist() for column in values.values()), strict=True)
    return dict(zip(keys, zip(found.time.tolist(), rows, strict=True), strict=True))


def from_scratch(table: pa.Table, first: int, last: int) -> dict[Any, tuple[Any, ...]]:
    """The slow twin: all partials, merged per pane and then over the panes, by Arrow."""
    panes = table.column("pane").to_numpy()
    inside = table.filter(pa.array((panes >= first) & (panes <= last)))
    if not inside.num_rows:
        return {}
    merged = EVERY.merge(inside).sort_by("pane")
    found = EVERY.values(merged)
    names = [*EVERY.aggregates]
    bits = [found.column(name).to_numpy().view(np.int64).tolist() for name in names]
    rows = zip(*bits, strict=True)
    keys = found.column("key").to_pylist()
    return dict(zip(keys, zip(found.column("time").to_pylist(), rows, strict=True), strict=True))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    windows=st.sampled_from(SHAPES),
    text=st.booleans(),
    whole=st.booleans(),
    late=st.booleans(),
)
def test_a_window_that_moves_is_one_made_from_scratch(
    seed: int, windows: Windows, text: bool, whole: bool, late: bool
) -> None:
    stream = Stream(seed, windows, text=text, whole=whole)
    columns, again = columns_of(windows), columns_of(windows)
    came: list[pa.Table] = []
    next_pane = 0
    for window in range(int(stream.rng.integers(2, 14))):
        first, last = windows.panes_in(window)
        parts = stream.parts(next_pane, last + 3)
        parts += stream.parts(first, last) if late else []
        next_pane = last + 1
        for part in parts:
            for each in (columns, again):
                if part.num_rows:
                    each.add(part)
        came += parts
        if stream.rng.random() < 0.5:
            restarted = columns_of(windows)
            if len(again):
                restarted.add(again.table())
            again = restarted
        found, twin = columns.move_to(first, last), again.move_to(first, last)
        columns.check()
        columns.index.check()
        assert told(columns, found) == told(again, twin)
        right = from_scratch(pa.concat_tables(came), first, last) if came else {}
        if whole or windows.panes_per_window <= 16:
            assert told(columns, found) == right
        else:
            assert_nearly(told(columns, found), right)
        assert len(columns) == len(again)


def assert_nearly(found: dict[Any, tuple[Any, ...]], right: dict[Any, tuple[Any, ...]]) -> None:
    """Blocks of panes add fractions in an order of their own."""
    assert {key: row[0] for key, row in found.items()} == {k: row[0] for k, row in right.items()}
    for key, (_, bits) in found.items():
        one, other = (np.array(each).view(np.float64) for each in (bits, right[key][1]))
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-4)


def test_keys_leave_with_their_last_pane() -> None:
    columns = PaneColumns(KeySlots(), {"n": "sum"}, panes=2)
    for pane in range(40):
        keys = np.arange(pane * 100, pane * 100 + 150)
        count = len(keys)
        columns.add(
            pa.table({"pane": [pane] * count, "key": keys, "time": keys, "n": np.ones(count)})
        )
        found = columns.move_to(pane - 1, pane)
        assert len(found.slots) == (150 if pane == 0 else 250)
        assert len(columns.index) == len(found.slots)
    assert columns.index.capacity <= 512
    columns.expire(99)
    assert (len(columns.index), len(columns), columns.table().num_rows) == (0, 0, 0)
    columns.check()


@pytest.mark.parametrize("late", [False, True])
def test_sums_of_whole_numbers_beyond_what_is_exact_are_those_from_scratch(late: bool) -> None:
    columns = PaneColumns(KeySlots(), {"x": "sum"}, panes=2)
    big = 2.0**53

    def add(pane: int, value: float) -> None:
        columns.add(pa.table({"pane": [pane], "key": [1], "time": [pane], "x": [value]}))

    add(0, big)
    add(1, 1.0)
    columns.move_to(0, 1)
    if late:
        add(1, 2.0)
    assert columns.move_to(1, 2).numbers["x"].tolist() == [3.0 if late else 1.0]


def test_nothing_is_minus_nothing() -> None:
    columns = PaneColumns(KeySlots(), {"x": "sum"}, panes=2)
    for pane, value in ((0, 0.0), (1, -0.0)):
        columns.add(pa.table({"pane": [pane], "key": [1], "time": [pane], "x": [value]}))
    columns.move_to(0, 1)
    assert str(columns.move_to(1, 2).numbers["x"][0]) == "0.0"
