"""Answers as rows inside, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from topwater import TopKQuery, tumbling
from topwater.model import Answer, Counts, Freshness, LookUp, Row, Window
from topwater.scoring import Formula
from topwater.spark.packed_rows import (
    ANSWER,
    FIGURES,
    LATE,
    TOLD,
    answer_of_packed,
    merged,
    packed,
    packed_figures,
    packed_late,
    packed_notices,
    packed_schema,
)

QUERY = TopKQuery(key="who", time="at", score="value", k=1, window=tumbling(10))
ANSWERED = Answer(
    Window(0, 0, 10),
    (Row(1, "a", 2.5, 7, values=(2.5,)),),
    candidates=3,
    counts=Counts(events=4, late=1),
)


LATE_ROWS = pa.table({"key": ["a"], "time": [1], "score": [3.0]})


def batch_of(*rows: dict[str, Any]) -> pa.RecordBatch:
    """Rows as Spark brings them."""
    schema = to_arrow_schema(packed_schema("string", "string"), timezone="UTC")
    return pa.RecordBatch.from_pylist(list(rows), schema=schema)


def test_an_answer_has_the_columns_of_the_schema_in_their_order() -> None:
    schema = packed_schema("bigint", "string")
    row = packed(ANSWERED, QUERY)
    assert list(row) == schema.names
    assert list(row[TOLD]) == schema[TOLD].dataType.fieldNames()  # type: ignore[attr-defined]
    for other in (packed_figures({}), packed_notices(b""), next(packed_late(LATE_ROWS, QUERY))):
        assert list(other) == schema.names
    assert (row["kind"], row["window_start"], row["window_end"]) == (ANSWER, 0, 10)
    assert (row["key"], row["score"], row["time"], row["values"]) == (["a"], [2.5], [7], [[2.5]])
    told = row[TOLD]
    assert (told["events"], told["late"], told["fetched"], told["problems"]) == (4, 1, None, {})


def test_shards_are_merged_window_by_window_and_what_is_late_is_kept() -> None:
    other = replace(ANSWERED, rows=(Row(1, "b", 9.0, 8, values=(9.0,)),), counts=Counts(events=4))
    late = packed(ANSWERED, QUERY) | {"kind": LATE}
    parts = [batch_of(packed(ANSWERED, QUERY), late), batch_of(packed(other, QUERY))]
    (batch,) = merged(QUERY, iter(parts))
    best, kept, figures = batch.to_pylist()
    assert (best["kind"], best["key"], best["score"]) == (ANSWER, ["b"], [9.0])
    assert (best[TOLD]["candidates"], best[TOLD]["events"]) == (6, 8)
    assert (kept["kind"], kept["key"]) == (LATE, ["a"])
    assert dict(figures[FIGURES]).items() >= {"windows": 1, "events": 8, "candidates": 6}.items()
    assert list(merged(QUERY, iter([]))) == []


def test_freshness_problems_and_look_ups_survive() -> None:
    answer = replace(
        ANSWERED,
        freshness=Freshness(2, 1, 0, 0.5, 0.75, missed=True, audited=0.5),
        problems=(("timeout", 1),),
        looked_up=(LookUp("a", None, 2.0, ok=True), LookUp("b", 1.0, None, ok=False)),
    )
    row = next(merged(QUERY, iter([batch_of(packed(answer, QUERY))]))).to_pylist()[0]
    told = row[TOLD]
    assert (told["fetched"], told["failed"]) == (2, 1)
    assert told["problems"] == [("timeout", 1)]
    assert [each["ok"] for each in told["looked_up"]] == [True, False]
    assert [each["key"] for each in told["looked_up"]] == ["a", "b"]
    back = answer_of_packed(row, QUERY)
    assert (back.freshness, back.problems, back.looked_up) == (
        answer.freshness,
        answer.problems,
        answer.looked_up,
    )


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
