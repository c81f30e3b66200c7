"""Columns of keys: as one by one, whatever Arrow has them in."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.typed_keys import DAY, keyed, table_of
from topwater.errors import BatchError
from topwater.model import KeyColumn, KeyForm
from topwater.monitor.key_columns import form_of, keys_inside, known


@given(keyed(), st.data())
def test_they_are_what_each_key_is_inside(
    case: tuple[KeyForm, list[Any]], data: st.DataObject
) -> None:
    form, keys = case
    table = table_of(form, keys)
    assert form_of(table, form.names, "key") == form
    cut = data.draw(st.integers(0, len(keys)))
    pieces = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    for each in (table, pieces):
        assert keys_inside(each, form, "key").to_pylist() == [form.inside(key) for key in keys]
    assert keys_inside(table.slice(cut), form, "key").to_pylist() == [
        form.inside(key) for key in keys[cut:]
    ]


@pytest.mark.parametrize("kind", ["text", "whole", "boolean", "date", "decimal(2)"])
def test_a_key_with_a_null_in_it_is_null(kind: str) -> None:
    form = KeyForm((KeyColumn("a", kind), KeyColumn("b", "whole")))
    table = table_of(form, [(None, 1), (None, -1)])
    assert keys_inside(table, form, "key").to_pylist() == [None, None]
    other = KeyForm(form.columns[::-1])
    assert keys_inside(table, other, "key").to_pylist() == [None, None]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array(["a", "b"]).dictionary_encode(), "text"),
        (pa.array([1, 2], pa.uint32()), "whole"),
        (pa.array([1, 2], pa.int8()), "whole"),
        (pa.array([DAY, DAY], pa.date64()), "date"),
        (pa.array([10**9, 10**9], pa.timestamp("s")), "local"),
        (pa.array([10**18, 10**18], pa.timestamp("ns", "Europe/Rome")), "instant"),
        (pa.array([None, None]), "unknown"),
    ],
)
def test_what_holds_the_same_is_the_same(column: pa.Array, kind: str) -> None:
    table = pa.table({"a": column, "n": [1, 2]})
    form = form_of(table, ["a", "n"], "key")
    assert form.columns[0].kind == kind
    inside = keys_inside(table, form, "key").to_pylist()
    if kind == "unknown":
        assert inside == [None, None]
    elif kind != "instant":
        assert [form.key(each) for each in inside] == [
            *zip(column.to_pylist(), [1, 2], strict=True)
        ]


def test_moments_between_microseconds_are_none_that_can_be_told() -> None:
    table = pa.table({"at": pa.array([1_001, 2_000, -1_000, -1], pa.timestamp("ns"))})
    assert keys_inside(table, form_of(table, ["at"], "key"), "key").to_pylist() == [
        None,
        2,
        -1,
        None,
    ]


def test_moments_too_far_away_do_not_wrap() -> None:
    table = pa.table({"at": pa.array([2**62, 1], pa.timestamp("s"))})
    assert keys_inside(table, form_of(table, ["at"], "key"), "key").to_pylist() == [None, 1_000_000]


def test_text_that_is_none_is_null() -> None:
    broken = pa.array([b"\xff", b"tea"]).view(pa.string())
    table = pa.table({"a": broken, "n": [1, 1]})
    found = keys_inside(table, form_of(table, ["a", "n"], "key"), "key").to_pylist()
    assert found == [None, "tea\x01P1"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.5]),
        pa.array([1], pa.uint64()),
        pa.array([b"x"]),
        pa.array([[1]]),
        pa.array([1], pa.decimal256(60, 0)),
        pa.array([1], pa.duration("s")),
    ],
)
def test_what_can_not_be_a_key_is_refused(column: pa.Array) -> None:
    with pytest.raises(BatchError, match=r"(?s)'a' is of type .*fix: keys are text") as told:
        form_of(pa.table({"a": column}), ["a"], "key")
    assert ("cast it" in told.value.fix) == pa.types.is_floating(column.type)


def test_a_column_that_is_not_there_is_told_with_the_nearest() -> None:
    with pytest.raises(BatchError, match=r"(?s)'prodct' is not there.*did you mean product"):
        form_of(pa.table({"product": ["a"]}), ["prodct"], "key")


def test_a_column_may_not_hold_something_else_later() -> None:
    before = form_of(pa.table({"a": [DAY], "n": [1]}), ["a", "n"], "key")
    now = form_of(pa.table({"a": ["x"], "n": [1]}), ["a", "n"], "key")
    with pytest.raises(BatchError, match="'a' holds strings, and held dates before"):
        known(before, now, "key")


def test_nulls_tell_nothing_of_what_a_column_holds() -> None:
    before = form_of(pa.table({"a": [DAY], "n": [1]}), ["a", "n"], "key")
    nulls = form_of(pa.table({"a": pa.nulls(1), "n": [1]}), ["a", "n"], "key")
    assert known(before, nulls, "key") == before
    assert known(nulls, before, "key") == before
    assert known(None, before, "key") == before
