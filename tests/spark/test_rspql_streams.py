"""What a query in RSP-QL reads, without Java."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, DoubleType, LongType, StringType

from tests.support.rspql_asked import EX, asked
from topwater.errors import QueryError
from topwater.rspql import parse
from topwater.rspql.plan.plan import SILENT, TIME
from topwater.rspql.rdf.event_format import Columns, Documents
from topwater.rspql.rdf.pattern_match import Matcher
from topwater.rspql.registration import data_of
from topwater.spark.rspql_streams import _check_columns, _matches, _reading, _require_session

PLAN = asked("?s ?v", "WINDOW :w { ?s :v ?v }", "ORDER BY DESC(?v) LIMIT 2")


def test_texts_become_rows_of_bindings() -> None:
    number = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    texts = [f"<x:a> <{EX}v> {number.format(7)} .", f"<x:b> <{EX}w> {number.format(8)} ."]
    moments = [datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC) for second in (1, 2)]
    events = pa.table({"time": moments, "value": texts})
    matcher = Matcher.of(PLAN, PLAN.windows[0].stream, Documents())
    rows = [
        row for each in _matches(matcher, 0, iter(events.to_batches())) for row in each.to_pylist()
    ]
    assert [(row[TIME], row["s"], row["v"], row[SILENT]) for row in rows] == [
        (moments[0], "x:a", 7.0, False),
        (moments[1], None, None, True),  # what does not match still tells the time
    ]


def test_keys_are_sent_as_text() -> None:
    events = pa.table({"time": [1], "who": [5], "n": [2.5]})
    reading = Columns("who", {f"{EX}v": "n"}, namespace="x:")
    matcher = Matcher.of(PLAN, PLAN.windows[0].stream, reading)
    (batch,) = _matches(matcher, 0, iter(events.to_batches()))
    assert batch.column("s").type == pa.string()
    assert batch.column("s").to_pylist() == ["x:5"]
    assert batch.column("v").to_pylist() == [2.5]


def test_files_go_to_the_tasks_with_what_is_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "rooms.nt"
    path.write_text(f'<x:a> <{EX}size> "9"^^<http://www.w3.org/2001/XMLSchema#integer> .\n')
    text = f"""PREFIX : <{EX}> SELECT ?s ?n FROM NAMED WINDOW :w ON :s [RANGE 10] FROM <x:rooms>
        WHERE {{ WINDOW :w {{ ?s :in ?room }} ?room :size ?n }} ORDER BY DESC(?n) LIMIT 2"""  # noqa: S608
    plan = parse(text, files=["x:rooms"])
    data = data_of(plan, {"x:rooms": path})
    matcher = Matcher.of(plan, plan.windows[0].stream, Documents(), data)
    path.unlink()
    events = pa.table({"time": [1, 2], "value": [f"<x:s> <{EX}in> <x:{r}> ." for r in "ab"]})
    there = pickle.loads(pickle.dumps(matcher))  # noqa: S301
    (batch,) = _matches(there, 0, iter(events.to_batches()))
    assert batch.column("s").to_pylist() == ["x:s", None]
    assert batch.column("n").to_pylist() == [9.0, None]
    columns = Columns("who", {f"{EX}in": "room"}, namespace="x:", iris=("room",))
    rows = pa.table({"time": [1, 2], "who": ["s", "t"], "room": ["x:a", "x:b"]})
    found = Matcher.of(plan, plan.windows[0].stream, columns, data).match(rows)
    assert found.column("s").to_pylist() == ["x:s", None]


@pytest.mark.parametrize(
    ("subject", "value", "says"),
    [
        (DoubleType(), LongType(), "the column 'who' of the stream <x:s> is of type double"),
        (
            StringType(),
            ArrayType(LongType()),
            "the column 'n' of the stream <x:s> is of type array",
        ),
    ],
)
def test_columns_that_can_not_be_terms_are_named(subject: Any, value: Any, says: str) -> None:
    reading = Columns("who", {f"{EX}v": "n"})
    _check_columns(reading, {"who": LongType(), "n": DoubleType()}, "x:s")
    with pytest.raises(QueryError) as caught:
        _check_columns(reading, {"who": subject, "n": value}, "x:s")
    assert says in caught.value.problem
    assert caught.value.field == "streams"


def test_what_is_no_stream_is_refused() -> None:
    with pytest.raises(QueryError, match="a list is not a stream"):
        _reading([], PLAN)  # type: ignore[arg-type]


def test_streams_of_another_session_are_refused() -> None:
    spark, events = Mock(), Mock()
    events.sparkSession = spark
    _require_session(spark, events)
    with pytest.raises(QueryError, match="belong to another session"):
        _require_session(Mock(), events)
