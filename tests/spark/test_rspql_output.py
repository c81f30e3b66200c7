"""What a query in RSP-QL shows, without Java."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from tests.support.rspql_asked import FROM, HEAD, asked
from topwater.errors import SourceError
from topwater.rspql import parse
from topwater.spark.rspql_output import TRIPLES, Changes, _constructs, _selects

ENDS = [datetime(2026, 1, 1, 0, minute, tzinfo=UTC) for minute in (1, 2)]
ANSWERS = pa.table(
    {
        "window_start": [0, 0, 60],
        "window_end": pa.array([60_000_000] * 2 + [120_000_000], pa.timestamp("us", "UTC")),
        "rank": [1, 2, None],
        "key": ["x:a", "x:b", None],
        "score": [3.0, 2.0, None],
        "values": [[3.0], [2.0], None],
        "remote": pa.array([None] * 3, pa.float64()),
        "age": pa.array([None] * 3, pa.int64()),
        "exact": [True] * 3,
    }
)


def test_select_shows_its_variables_after_window_and_rank() -> None:
    plan = asked("?s ?v", "WINDOW :w { ?s :v ?v }", "ORDER BY DESC(?v) LIMIT 2")
    (batch,) = _selects(plan, iter(ANSWERS.to_batches()))
    assert batch.schema.names == [
        *("window_start", "window_end", "rank"),
        *("s", "v", "age", "exact"),
    ]
    rows = batch.to_pylist()
    assert [(row["rank"], row["s"], row["v"]) for row in rows] == [
        (1, "x:a", 3.0),
        (2, "x:b", 2.0),
        (None, None, None),
    ]


def test_construct_gives_one_row_a_window() -> None:
    plan = parse(
        f"{HEAD}REGISTER RSTREAM :q AS CONSTRUCT {{ ?s :is :best }} {FROM} "
        "WHERE { WINDOW :w { ?s :v ?v } } ORDER BY DESC(?v) LIMIT 2"
    )
    (batch,) = _constructs(plan, iter(ANSWERS.to_batches()))
    assert batch.schema.names == ["window_start", "window_end", TRIPLES, "exact"]
    of = "<http://example.org/is> <http://example.org/best> ."
    assert batch.column(TRIPLES).to_pylist() == [f"<x:a> {of}\n<x:b> {of}", ""]
    assert list(_constructs(plan, iter([]))) == []


def window(at: int, *keys: str) -> list[Row]:
    rows: list[tuple[int | None, str | None]] = [*enumerate(keys, 1)] or [(None, None)]
    return [
        Row(window_end=ENDS[at], rank=rank, who=key, time=9, exact=True, place=0)
        for rank, key in rows
    ]


def shown(rows: list[Row]) -> list[Any]:
    return [(row.window_end, row.rank, row.who) for row in rows]


@pytest.mark.parametrize(
    ("operator", "first", "second"),
    [
        ("ISTREAM", [(1, "a"), (2, "b")], [(1, "c")]),
        ("DSTREAM", [(None, None)], [(1, "a")]),
    ],
)
def test_each_window_is_compared_with_the_one_before(
    operator: str, first: list[Any], second: list[Any]
) -> None:
    out = TwsTester(Changes(operator, ["who"])).test(0, window(1, "c", "b") + window(0, "a", "b"))
    assert shown(out) == [(ENDS[0], *each) for each in first] + [
        (ENDS[1], *each) for each in second
    ]
    assert "place" not in out[0].asDict()
    assert all(row.exact for row in out)


def test_what_is_gone_or_nobody_has_no_time() -> None:
    tester = TwsTester(Changes("DSTREAM", ["who"]))
    (nobody,) = tester.test(0, window(0, "a"))
    (gone,) = tester.test(0, window(1))
    assert (nobody.rank, nobody.who, nobody.time) == (None, None, None)
    assert (gone.rank, gone.who, gone.time) == (1, "a", None), "the state outlives a micro-batch"


def test_triples_are_compared_line_by_line() -> None:
    tester = TwsTester(Changes("ISTREAM", [TRIPLES]))
    for at, text, new in ((0, "a\nb", "a\nb"), (1, "b\nc", "c")):
        (row,) = tester.test(0, [Row(window_end=ENDS[at], triples=text, exact=True)])
        assert (row.triples, row.exact) == (new, True)


def test_several_remote_values_for_a_key_stop_the_query() -> None:
    plan = asked(
        "?s", "WINDOW :w { ?s :v ?v } SERVICE :b { ?s :f ?f }", "ORDER BY DESC(?v + ?f) LIMIT 2"
    )
    kind = pa.map_(pa.string(), pa.int64())
    for problem, stops in (("doubled", True), ("late", False)):
        problems = pa.array([[(problem, 1)], [], None], kind)
        answers = ANSWERS.append_column("problems", problems)
        if stops:
            with pytest.raises(SourceError, match="MAX"):
                list(_selects(plan, iter(answers.to_batches())))
        else:
            assert list(_selects(plan, iter(answers.to_batches())))
