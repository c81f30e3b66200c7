"""Plain rows and envelopes of changes as notices; what can't be read is counted."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from tests.support.pushed_scene import one_value, several
from topwater.errors import BatchError, QueryError
from topwater.monitor.notice_reader import check_columns, read_notices
from topwater.monitor.notice_settings import NoticeSettings
from topwater.replica.notices import BEAT, BLIND, LOST, STALE, VALUE

PLAIN = NoticeSettings()


def told(batch: Any, settings: NoticeSettings = PLAIN, query: Any = None) -> list[Any]:
    notices, tallies = read_notices(query or one_value(), settings, batch)
    rows = notices.to_pylist()
    assert {name: count for name, count in tallies.items() if count} == EXPECTED.pop("bad", {})
    return [(row["key"], row["time"], row["kind"], row.get("value price")) for row in rows]


EXPECTED: dict[str, Any] = {}


def test_plain_rows_tell_values_marks_and_the_time() -> None:
    batch = [
        {"key": "tea", "time": 5, "price": 2.5},
        {"key": "rice", "time": 6, "price": None},
        {"key": None, "time": 9, "price": None},
    ]
    assert [row[:3] for row in told(batch)] == [
        ("tea", 5, VALUE),
        ("rice", 6, STALE),
        (None, 9, BEAT),
    ]


def test_a_frame_with_gaps_is_read_too() -> None:
    frame = pd.DataFrame({"product": ["tea", "rice"], "time": [5, 6], "value": [2.5, None]})
    assert [row[:3] for row in told(frame)] == [("tea", 5, VALUE), ("rice", 6, STALE)]


def test_columns_may_have_other_names() -> None:
    settings = NoticeSettings.of({"key": "id", "value": {"price": "cost"}, "time": "when"})
    assert told({"id": [7], "when": [5], "cost": [2]}, settings) == [(7, 5, VALUE, 2.0)]


def test_what_cant_be_read_is_counted_and_still_says_that_something_changed() -> None:
    batch = [
        {"key": "tea", "time": 5, "price": "dear"},
        {"key": None, "time": 6, "price": "2.5"},
        {"key": "rice", "time": None, "price": "2.5"},
    ]
    EXPECTED["bad"] = {"bad_value": 1, "bad_key": 1, "bad_time": 1}
    assert [row[2] for row in told(batch)] == [STALE, BLIND, LOST]


def test_each_source_has_its_own_values() -> None:
    row = {"time": 5, "price": None, "stock": None, "trust": None}
    batch = [
        {**row, "source": "shop", "key": "tea", "price": 2.0, "stock": 1},
        {**row, "source": "vendors", "key": "7", "trust": 0.5},
        {**row, "source": "weather", "key": "7"},
    ]
    EXPECTED["bad"] = {"bad_source": 1}
    assert [row[:3] for row in told(batch, query=several())] == [("tea", 5, VALUE), ("7", 5, VALUE)]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"time": [1], "price": [1.0]}, "the changes.key column 'product' is not there"),
        ({"key": [1], "price": [1.0]}, "the changes.time column 'time' is not there"),
        ({"key": [1], "time": [1]}, "have no column 'price'"),
        ({"key": [1.5], "time": [1], "price": [b"x"]}, "of type binary, not numeric"),
        ({"key": [True], "time": [1], "price": [1.0]}, "of type bool"),
    ],
)
def test_missing_and_mistyped_columns_are_errors_with_a_fix(
    columns: dict[str, Any], problem: str
) -> None:
    table = pa.table(columns)
    with pytest.raises(BatchError, match=problem):
        read_notices(one_value(), PLAIN, table)
    with pytest.raises(QueryError, match=problem):
        check_columns(one_value(), PLAIN, table.schema)


def test_a_source_that_pushes_nothing_needs_no_columns() -> None:
    rows = {"source": ["shop"], "key": ["tea"], "time": [5], "price": [2.5], "stock": [1.0]}
    assert told(rows, query=several()) == [("tea", 5, VALUE, 2.5)]


def test_keys_of_two_kinds_in_one_column_are_an_error_with_a_fix() -> None:
    batch = [
        {"source": "shop", "key": "tea", "time": 5, "price": 2.0, "stock": 1},
        {"source": "vendors", "key": 7, "time": 5, "trust": 0.5},
    ]
    with pytest.raises(BatchError) as caught:
        read_notices(several(), PLAIN, batch)
    assert str(caught.value) == (
        "changes: the column 'key' has texts and numbers\n"
        "  fix: make all of them texts, or all of them numbers; the notices of each source may "
        "come in a batch of their own"
    )
    batch[1]["key"] = "7"
    assert read_notices(several(), PLAIN, batch).notices.num_rows == 2


def test_several_sources_need_a_column_that_names_them() -> None:
    with pytest.raises(BatchError, match=r"no column 'source' that says whose they are"):
        read_notices(several(), PLAIN, {"key": ["a"], "time": [1]})


def envelope(**more: Any) -> dict[str, Any]:
    after = {"product": "tea", "price": 2.5}
    return {"before": None, "after": after, "op": "c", "ts_ms": 9, "source": {"ts_ms": 5}, **more}


DEBEZIUM = NoticeSettings(form="debezium")


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    ("document", "rows"),
    [
        (envelope(), [("tea", 5, VALUE, 2.5)]),
        (envelope(op="r", source={}), [("tea", 9, VALUE, 2.5)]),
        (envelope(op="u", after={"product": "tea", "price": "3.5"}), [("tea", 5, VALUE, 3.5)]),
        (
            envelope(op="u", before={"product": "rice", "price": 1.0}),
            [("rice", 5, VALUE, None), ("tea", 5, VALUE, 2.5)],
        ),
        (envelope(op="d", before={"product": "tea"}, after=None), [("tea", 5, VALUE, None)]),
        (envelope(op="m"), []),
    ],
)
def test_envelopes_tell_what_a_row_is_now(
    wrapped: bool, document: dict[str, Any], rows: list[Any]
) -> None:
    text = json.dumps({"schema": {}, "payload": document} if wrapped else document)
    found = told({"value": [text]}, DEBEZIUM)
    assert [(*row[:3], row[3] if row[3] == row[3] else None) for row in found] == rows


def test_keys_of_envelopes_may_stand_in_the_key_alone() -> None:
    body = json.dumps(envelope(after={"price": 2.5}))
    key = json.dumps({"payload": {"id": 7}})
    assert told({"key": [key], "value": [body]}, DEBEZIUM) == [(7, 5, VALUE, 2.5)]


@pytest.mark.parametrize(
    ("text", "kinds", "bad"),
    [
        (None, [], {"tombstones": 1}),
        ("{", [LOST], {"bad_value": 1, "bad_time": 1}),
        (json.dumps(envelope(after={"product": "tea"})), [STALE], {"bad_value": 1}),
        (json.dumps(envelope(after={"product": "tea", "price": {}})), [STALE], {"bad_value": 1}),
        (json.dumps(envelope(after={"price": 1.0})), [BLIND], {"bad_key": 1}),
        (json.dumps(envelope(ts_ms=None, source={})), [LOST], {"bad_time": 1}),
        (json.dumps(envelope(op="x")), [STALE], {"bad_value": 1}),
        (json.dumps([1, 2]), [LOST], {"bad_value": 1, "bad_time": 1}),
    ],
)
def test_bad_envelopes_are_counted(text: Any, kinds: list[int], bad: dict[str, int]) -> None:
    EXPECTED["bad"] = bad
    batch = pa.table({"value": pa.array([text], pa.string())})
    assert [row[2] for row in told(batch, DEBEZIUM)] == kinds
