"""Windows that are made whole on Spark: the same as in process, however a stream is cut."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester
from rdflib.term import URIRef

from topwater import QueryError, StateError, local
from topwater.remote import memory
from topwater.rspql import parse
from topwater.rspql.plan.plan import SILENT, TIME
from topwater.rspql.rdf.event_format import Documents
from topwater.rspql.rdf.heard_events import heard
from topwater.rspql.rdf.window_join import WindowJoin
from topwater.spark import Rdf, rspql, start
from topwater.spark.rspql_windows import WindowKeeper, _beating, _hearing, _unpacked, whole_windows
from topwater.windows import sliding

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

X = "http://example.org/"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
FROM = "FROM NAMED WINDOW :a ON :s [RANGE 9 STEP 4] FROM NAMED WINDOW :b ON :t [RANGE 9 STEP 4]"
JOINED = f"""PREFIX : <{X}> SELECT ?u ?x ?y (?x * 10 + ?y AS ?score) {FROM}
    WHERE {{ WINDOW :a {{ ?u :p ?x }} WINDOW :b {{ ?u :q ?y }} FILTER(?x != ?y) }}
    ORDER BY DESC(?score) LIMIT 3"""
COUNTED = f"""PREFIX : <{X}> SELECT ?u (COUNT(*) AS ?n) (MAX(?f) AS ?far) {FROM}
    WHERE {{ WINDOW :a {{ ?u :p ?x }} WINDOW :b {{ ?u :q ?y }} SERVICE :far {{ ?u :f ?f }} }}
    GROUP BY ?u ORDER BY DESC(COUNT(*) + MAX(?f)) LIMIT 3 WITH BUDGET UNLIMITED"""
FINER = f"""PREFIX : <{X}> SELECT ?u ?x FROM NAMED WINDOW :a ON :s [RANGE 9 STEP 4]
    WHERE {{ WINDOW :a {{ ?u :p ?x ; :q ?y }} }} ORDER BY DESC(?x) ?y DESC(?u) LIMIT 3"""  # noqa: S608
Event = tuple[int, str]
FAR = {f"{X}u{n}": float(n) for n in range(4)}


def said(subject: str, **values: int) -> str:
    lines = [f'<{X}{subject}> <{X}{name}> "{n}"^^<{INTEGER}> .' for name, n in values.items()]
    return "\n".join(lines)


def some_events(seed: int) -> list[Event]:
    """At different times, so that none of two is the younger."""
    rng = random.Random(seed)
    times = sorted(rng.sample(range(1, 60), 30))
    return [
        (at, said(f"u{rng.randrange(4)}", p=rng.randrange(4), q=rng.randrange(4))) for at in times
    ]


def table(events: list[Event]) -> dict[str, list[Any]]:
    return {"time": [at for at, _ in events], "value": [text for _, text in events]}


def cut(events: list[Event], ends: list[int]) -> list[list[Event]]:
    """The events up to each end, and a last one that tells how far time has come."""
    parts = zip([0, *ends], ends, strict=False)
    return [[*(e for e in events if a < e[0] <= b), (b + 1, "")] for a, b in parts]


def in_process(text: str, streams: dict[str, list[list[Event]]]) -> dict[int, Any]:
    given = {name: [table(part) for part in parts] for name, parts in streams.items()}
    services = {":far": memory(FAR)} if "SERVICE" in text else {}
    told = local.rspql(text, streams=given, services=services)
    return {each.answer.window.end: each for each in told}


def millis(moment: Any) -> int:
    found: int = round(moment.timestamp() * 1_000)
    return found


@pytest.mark.spark
def test_a_stream_gives_the_same_as_in_process_after_a_restart_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    text, rng = JOINED, random.Random(7)
    ends = [*sorted(rng.sample(range(4, 58), 3)), 64]
    streams = {"s": cut(some_events(1), ends), "t": cut(some_events(2), ends)}
    rows: list[Any] = []
    for number in range(len(ends)):
        for name, parts in streams.items():
            write(spark, tmp_path / name, number, parts[number])
        if number % 2:
            rows += run(spark, tmp_path, text, streams)
    expected = in_process(text, {f":{name}": parts for name, parts in streams.items()})
    require_same(rows, expected, until=64)


def write(spark: SparkSession, folder: Path, number: int, events: list[Event]) -> None:
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    path = folder / f"{number:03}.parquet"
    pq.write_table(pa.table(table(events)), path)
    os.utime(path, (1_700_000_000 + number,) * 2)


def run(spark: SparkSession, folder: Path, text: str, names: Any) -> list[Any]:
    """What comes of the files that are new."""
    found: list[Any] = []
    reader = spark.readStream.schema("time bigint, value string").option("maxFilesPerTrigger", 1)
    streams = {f":{name}": Rdf(reader.parquet(f"{folder}/{name}")) for name in names}
    services = {":far": memory(FAR)} if "SERVICE" in text else {}
    query = start(
        rspql(spark, text, streams=streams, services=services),
        to=lambda batch, _: found.extend(batch.collect()),
        checkpoint=folder / "checkpoint",
        partitions=1,
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    return found


def require_same(rows: list[Any], expected: dict[int, Any], until: int) -> None:
    windows = dict.fromkeys(millis(row.window_end) for row in rows)
    wanted = [end for end in expected if end < until]
    assert [*windows] == wanted
    for end in wanted:
        mine = [row for row in rows if millis(row.window_end) == end and row["rank"] is not None]
        told = expected[end]
        names = [*told.rows[0]] if told.rows else []
        assert [{name: row[name] for name in names} for row in mine] == told.rows
        assert [row["rank"] for row in mine] == [row.rank for row in told.answer.rows]
        assert [millis(row.time) for row in mine] == [row.time for row in told.answer.rows]
        assert {millis(row.window_start) for row in mine} <= {told.answer.window.start}
        assert all(row.exact for row in mine)


@pytest.mark.spark
@pytest.mark.parametrize("text", [COUNTED, FINER])
def test_a_table_gives_all_windows_at_once(spark: SparkSession, text: str) -> None:
    def frame(events: list[Event]) -> DataFrame:
        return spark.createDataFrame(events, "time bigint, value string")

    names = [name for name in ("s", "t") if f":{name}" in text]
    events = {name: some_events(seed) for seed, name in enumerate(names, 3)}
    told = {f":{name}": frame(each) for name, each in events.items()}
    services = {":far": memory(FAR)} if "SERVICE" in text else {}
    rows = rspql(spark, text, streams=told, services=services, shards=2).collect()
    expected = in_process(text, {f":{name}": [each] for name, each in events.items()})
    # There the windows end with the last that holds anything.
    full = [end for end, each in expected.items() if each.rows]
    require_same(rows, expected, until=max(full) + 1)


def keeper(text: str = JOINED, **settings: Any) -> WindowKeeper:
    return WindowKeeper(parse(text), **settings)


def rows_of(text: str, stream: int, events: list[Event], part: int = 0) -> list[Row]:
    name = URIRef(f"{X}{'st'[stream]}")
    told = heard(parse(text), name, Documents(), pa.table(table(events)), scope=f"{stream}x")
    return [Row(stream=stream, task=0, part=part, told=told.pack())]


def unpacked(rows: list[Row]) -> list[dict[str, Any]]:
    column = pa.array([row.tables for row in rows], pa.binary())
    batches = _unpacked(iter([pa.record_batch([column], ["tables"])]))
    return [row for batch in batches for row in batch.to_pylist()]


def test_what_is_held_outlives_a_micro_batch() -> None:
    tester = TwsTester(keeper())
    first = tester.test(0, rows_of(JOINED, 0, [(2, said("u", p=3))]))
    assert unpacked(first) == []
    second = tester.test(0, rows_of(JOINED, 1, [(7, said("u", q=5))]))
    assert unpacked(second) == []
    third = tester.test(0, rows_of(JOINED, 0, [(14, said("v", p=1))]))
    found = unpacked(third)
    assert [row["score"] if "score" in row else row["u x y"] for row in found if not row[SILENT]]
    assert [row[TIME] for row in found if row[SILENT]] == [19]


def test_the_order_in_which_tasks_end_is_all_the_same() -> None:
    rows = [
        row
        for number in range(3)
        for row in rows_of(JOINED, 0, [(2 + number, said("u", p=number))], number)
    ]
    rows += rows_of(JOINED, 1, [(7, said("u", q=5)), (20, "")])
    one, other = (TwsTester(keeper()).test(0, each) for each in (rows, rows[::-1]))
    assert unpacked(one) == unpacked(other)
    assert len(unpacked(one)) > 3


def test_a_state_of_other_windows_is_refused() -> None:
    tester = TwsTester(keeper(origin="one"))
    tester.test(0, rows_of(JOINED, 0, [(2, said("u", p=3))]))
    state = tester.peekValueState("windows", 0)
    assert state is not None
    other = TwsTester(keeper(origin="other"))
    other.updateValueState("windows", 0, state)
    with pytest.raises(StateError, match="another pattern"):
        other.test(0, rows_of(JOINED, 0, [(3, said("u", p=3))]))


def test_a_heartbeat_ends_windows_where_nothing_else_comes() -> None:
    times = pa.record_batch([pa.array([30, 20])], ["time"])
    (beat,) = _beating(sliding(9, 4), iter([times]))
    (row,) = beat.to_pylist()
    tester = TwsTester(keeper(FINER))
    events = rows_of(FINER, 0, [(2, said("u", p=3, q=1))])
    assert unpacked(tester.test(0, [*events, Row(**row)])) == []
    found = unpacked(tester.test(0, [Row(**row)]))
    assert [row[SILENT] for row in found] == [False, True]
    early = pa.record_batch([pa.array([-5])], ["time"])
    assert list(_beating(sliding(9, 4), iter([early]))) == []


def test_a_task_tells_what_it_found_in_each_batch() -> None:
    plan = parse(JOINED)
    events = pa.table(table([(1, said("u", p=1)), (2, "what?")])).to_batches()
    rows = [
        row
        for batch in _hearing(plan, (0, URIRef(f"{X}s")), Documents(), None, iter(events * 2))
        for row in batch.to_pylist()
    ]
    assert [(row["stream"], row["task"], row["part"]) for row in rows] == [(0, 0, 0), (0, 0, 1)]
    join = WindowJoin(plan)
    assert join.held == {}


def test_windows_that_step_too_often_are_refused() -> None:
    plan = parse(FINER.replace("RANGE 9 STEP 4", "RANGE 1d STEP 1s"))
    with pytest.raises(QueryError, match=r"line 1, .*each event is in 86,400 windows") as caught:
        whole_windows(None, plan, [])  # type: ignore[arg-type]
    assert "4,000" in caught.value.fix
