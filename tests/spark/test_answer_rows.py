"""Answers as rows, and back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from topwater import TopKQuery, tumbling
from topwater.model import Answer, Counts, Freshness, LookUp, Row, Window
from topwater.scoring import Formula
from topwater.spark.answer_rows import (
    ANSWER,
    COUNTS,
    FRESHNESS,
    LATE,
    answers_from,
    merged,
    packed,
    packed_late,
    packed_schema,
)

QUERY = TopKQuery(key="who", time="at", score="value", k=1, window=tumbling(10))
ANSWERED = Answer(
    Window(0, 0, 10),
    (Row(1, "a", 2.5, 7, values=(2.5,)),),
    candidates=3,
    counts=Counts(events=4, late=1),
)


def seen(end: int, rank: int | None, key: str | None, **more: Any) -> dict[str, Any]:
    """A row that users see."""
    moments = {"window_start": end - 10, "window_end": end, "time": end - 1}
    told: dict[str, Any] = {
        name: datetime.fromtimestamp(at / 1_000, UTC) for name, at in moments.items()
    }
    told |= {"rank": rank, "key": key, "score": 1.5, "values": [1.5], "exact": True}
    told |= dict.fromkeys(["remote", "age", "confidence", *FRESHNESS])
    told |= dict.fromkeys(COUNTS, 0) | {"candidates": 2, "problems": [], "looked_up": []}
    return told | more


def test_an_answer_has_the_columns_of_the_schema_in_their_order() -> None:
    names = [
        each.split(" ")[0].strip("`") for each in packed_schema("bigint", "string").split(", ")
    ]
    row = packed(ANSWERED, QUERY)
    assert list(row) == names
    assert (row["kind"], row["window_start"], row["window_end"]) == (ANSWER, 0, 10)
    assert (row["key"], row["score"], row["time"], row["values"]) == (["a"], [2.5], [7], [[2.5]])
    assert (row["events"], row["late"], row["fetched"]) == (4, 1, None)
    assert row["problems"] is None, "null and not empty"


def test_rows_become_answers_in_the_order_of_windows_and_ranks() -> None:
    rows = [
        seen(20, 2, "c"),
        seen(20, 1, "b"),
        seen(10, None, None, candidates=0),
        seen(10, None, "x", kind=LATE),
    ]
    table = pa.Table.from_pylist([row | {"kind": row.get("kind", ANSWER)} for row in rows])
    empty, full = answers_from(table, QUERY)
    assert (empty.window, empty.rows, empty.candidates) == (Window(0, 0, 10), (), 0)
    assert (full.window, full.keys) == (Window(1, 10, 20), ["b", "c"])
    assert full.rows[0] == Row(1, "b", 1.5, 19, values=(1.5,))
    assert (full.freshness, full.counts) == (None, Counts())


def test_shards_are_merged_window_by_window_and_what_is_late_is_kept() -> None:
    other = replace(ANSWERED, rows=(Row(1, "b", 9.0, 8, values=(9.0,)),), counts=Counts(events=4))
    late = packed(ANSWERED, QUERY) | {"kind": LATE}
    parts = [pa.RecordBatch.from_pylist([packed(ANSWERED, QUERY), late]), None]
    parts[1] = pa.RecordBatch.from_pylist([packed(other, QUERY)], schema=parts[0].schema)
    (batch,) = merged(QUERY, iter(parts))
    best, kept = batch.to_pylist()
    assert (best["kind"], best["key"], best["score"]) == (ANSWER, ["b"], [9.0])
    assert (best["candidates"], best["events"]) == (6, 8)
    assert (kept["kind"], kept["key"]) == (LATE, ["a"])
    assert list(merged(QUERY, iter([]))) == []


def test_freshness_problems_and_look_ups_survive() -> None:
    numbers: dict[str, Any] = dict.fromkeys(FRESHNESS, 0) | {"fetched": 2, "failed": 1}
    answer = replace(
        ANSWERED,
        freshness=Freshness(**numbers),
        problems=(("timeout", 1),),
        looked_up=(LookUp("a", None, 2.0, ok=True), LookUp("b", 1.0, None, ok=False)),
    )
    row = packed(answer, QUERY)
    schema = pa.RecordBatch.from_pylist([row | {"problems": None}]).schema
    told = pa.field("problems", pa.map_(pa.string(), pa.int64()))
    schema = schema.set(schema.get_field_index("problems"), told)
    batch = pa.RecordBatch.from_pylist([row], schema=schema)
    row = next(merged(QUERY, iter([batch]))).to_pylist()[0]
    assert (row["fetched"], row["failed"]) == (2, 1)
    assert row["problems"] == [("timeout", 1)]
    assert [each["ok"] for each in row["looked_up"]] == [True, False]
    assert [each["key"] for each in row["looked_up"]] == ["a", "b"]


@pytest.mark.parametrize(("order", "sign"), [("largest", 1.0), ("smallest", -1.0)])
def test_what_is_late_has_the_score_that_users_know(order: Any, sign: float) -> None:
    query = replace(QUERY, score=Formula("value", order=order))
    table = pa.table({"key": ["a", "b"], "time": [1, 2], "score": [3.0, 4.0], "value": [3.0, 4.0]})
    (row,) = packed_late(table, query)
    assert (row["kind"], row["key"], row["time"]) == (LATE, ["a", "b"], [1, 2])
    assert row["score"] == [3.0 * sign, 4.0 * sign]
    assert row["window_end"] is None


def test_a_late_mean_is_a_sum_over_its_events() -> None:
    query = TopKQuery(
        key="who", time="at", take={"v": "mean(value)"}, score="v", k=1, window=tumbling(10)
    )
    table = pa.table({"key": ["a"], "time": [1], "v": [9.0], "v#": [4.0]})
    (row,) = packed_late(table, query)
    assert (row["values"], row["score"]) == ([[2.25]], [None])
