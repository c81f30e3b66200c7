"""Standing queries on Spark: equal to ``Standing`` in this process, however the stream is cut."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from typer.testing import CliRunner

from tests.support.observed import eventually, figures_of
from tests.support.standing_stream import Told, cut, events_of, objects, random_queries, rows_of
from topwater.cli import app
from topwater.errors import QueryError, StateError
from topwater.scoring import Euclidean, Formula, WeightedSum
from topwater.spark import Progress, standing, standing_queries, start, watch
from topwater.standing import Standing, StandingQuery

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

EVENTS = "at timestamp, who string, x double, y double"
FEED = "time timestamp, op string, name string, k int, window string, score string"


@dataclass
class Stream:
    """Events in the order of time, cut into files; and changes, each in the file of its events."""

    events: list[pa.Table]
    feed: list[pa.Table] = field(default_factory=list)

    def write(self, folder: Path, files: slice = slice(None)) -> None:
        for name, tables in (("events", self.events), ("feed", self.feed)):
            (folder / name).mkdir(parents=True, exist_ok=True)
            for number in range(len(tables))[files]:
                path = folder / name / f"{number:03}.parquet"
                pq.write_table(tables[number], path)
                os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def read(spark: SparkSession, folder: Path, schema: str) -> DataFrame:
    files = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return files.parquet(str(folder))


def told(spark: SparkSession, sink: Path) -> list[Told]:
    """What is in the sink, in the order in which it came about."""
    table = spark.read.parquet(str(sink)).toArrow()
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    columns["time"] = (table.column("time").cast(pa.int64()).to_numpy() // 1000).tolist()
    return list(zip(*columns.values(), strict=True))


def run(rows: DataFrame, folder: Path) -> list[dict[str, Any]]:
    """Until the input ends; what Spark observed in each micro-batch."""
    writer = rows.writeStream.format("parquet").trigger(availableNow=True)
    running = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = running.start(str(folder / "sink"))
    query.awaitTermination()
    return [figures_of(each) for each in query.recentProgress]


def summed(seen: Sequence[dict[str, Any]], name: str) -> int:
    return sum(each[name] or 0 for each in seen)


@dataclass(frozen=True)
class Change:
    """A row of the feed: how many milliseconds after which event, and whether it can be done."""

    op: str | None
    query: StandingQuery | dict[str, Any]
    after: int | None = None
    good: bool = True


NEAR = Euclidean({"x": 0.3, "y": 0.3})
CHANGES: dict[int, list[Change]] = {
    0: [
        Change("register", StandingQuery("new", 3, 40, NEAR)),
        Change("cancel", {"name": "q3"}, after=30),
        Change("change", StandingQuery("q1", 2, "900 ms", Formula("y")), after=60),
    ],
    2: [
        Change("cancel", {"name": "q3"}, after=5, good=False),  # twice
        Change("cancel", {"name": "nobody"}, good=False),
        Change("register", StandingQuery("q0", 1, 5, NEAR), good=False),  # there already
        Change("change", StandingQuery("nobody", 1, 5, NEAR), good=False),
        Change("register", StandingQuery("deep", 1, 5, Formula("z")), good=False),  # no such column
        Change("register", {"name": "a", "k": 1, "window": "9", "score": "x +"}, good=False),
        Change("register", {"name": "b", "k": 1, "window": "9", "score": "{]"}, good=False),
        Change("register", {"name": "c", "k": 0, "window": "9", "score": "x"}, good=False),
        Change("register", {"name": "d", "k": 1, "window": "soon", "score": "x"}, good=False),
        Change("register", {"name": "e"}, good=False),
        Change("register", {"name": None, "k": 1, "window": "9", "score": "x"}, good=False),
        Change("replace", StandingQuery("q0", 1, 5, NEAR), good=False),
        Change(None, {"name": "q0"}, good=False),
        Change("register", StandingQuery("q3", 4, "2 s", WeightedSum({"x": 1.0})), after=20),
    ],
    4: [Change("cancel", {"name": "new"}), Change("cancel", {"name": "q2"}, after=10)],
}


def feed_of(changes: Sequence[Change], times: np.ndarray) -> pa.Table:
    """Rows of the feed, in a file whose events have these times."""
    rows = []
    for change in changes:
        given = change.query
        row = given.to_dict() if isinstance(given, StandingQuery) else dict(given)
        if isinstance(row.get("score"), dict):
            row["score"] = json.dumps(row["score"])
        if row.get("window") is not None:
            row["window"] = str(row["window"])
        when = None if change.after is None else int(times[change.after]) * 1000
        rows.append({"op": change.op, "time": when, **row})
    schema = pa.schema(
        [
            ("time", pa.timestamp("us", tz="UTC")),
            ("op", pa.string()),
            ("name", pa.string()),
            ("k", pa.int32()),
            ("window", pa.string()),
            ("score", pa.string()),
        ]
    )
    return pa.Table.from_pylist(rows, schema=schema)


def one_by_one(local: Standing, events: pa.Table, changes: Sequence[Change]) -> list[Told]:
    """The results of a file if events come one at a time, and each change after its event."""
    batch = objects(events.sort_by("at"))
    found: list[Told] = []
    for row in range(-1, events.num_rows):
        if row >= 0:
            one = {name: column[row : row + 1] for name, column in batch.items()}
            found += rows_of(local.add(one))
        for change in changes:
            if change.good and row == (-1 if change.after is None else change.after):
                do(local, change)
    return found


def do(local: Standing, change: Change) -> None:
    if isinstance(change.query, StandingQuery):
        {"register": local.register, "change": local.change}[str(change.op)](change.query)
    else:
        local.cancel(change.query["name"])


@pytest.mark.spark
@pytest.mark.parametrize("shards", [1, 3])
def test_spark_equals_this_process_in_any_cut_with_changes_and_a_restart(
    spark: SparkSession, tmp_path: Path, shards: int
) -> None:
    rng = np.random.default_rng(shards)
    queries = random_queries(rng, 24)
    table = events_of(rng, 700)
    # Long enough files that every change has its event.
    files = cut(rng, table, [0, *np.sort(rng.choice(np.arange(2, 8), 4, False) * 80), 700])
    feed = []
    local = Standing(["x", "y"])
    for query in queries:
        local.register(query)
    wanted: list[Told] = []
    for number, part in enumerate(files):
        changes = CHANGES.get(number, [])
        feed.append(feed_of(changes, np.sort(objects(part)["time"])))
        wanted += one_by_one(local, part, changes)
    stream = Stream(files, feed)
    seen = []
    for some in (slice(0, 3), slice(3, None)):
        stream.write(tmp_path, some)
        rows = standing(
            read(spark, tmp_path / "events", EVENTS),
            standing_queries(spark, queries),
            columns=["x", "y"],
            time="at",
            key="who",
            changes=read(spark, tmp_path / "feed", FEED),
            shards=shards,
        )
        seen += run(rows, tmp_path)
    assert sorted(told(spark, tmp_path / "sink")) == sorted(wanted)
    made = [change for changes in CHANGES.values() for change in changes]
    assert len(seen) == 5
    assert summed(seen, "events") == 700
    assert summed(seen, "results") == len(wanted)
    assert summed(seen, "late") == 0
    assert summed(seen, "changes") == len(made)
    assert summed(seen, "bad_changes") == sum(not change.good for change in made)
    assert seen[-1]["queries"] == 23
    texts = {text for each in seen for refused in each["refused"] for text in refused}
    assert "cancel 'q3': name: no query is named 'q3'" in texts
    assert any("is registered already" in text for text in texts)


@pytest.mark.spark
def test_answers_and_what_can_not_be_used(spark: SparkSession, tmp_path: Path) -> None:
    """Whole numbers as times and names, an order for equal times, no key; and bad rows."""
    nan = float("nan")
    files: list[list[tuple[Any, ...]]] = [
        [(10, 1, 5.0), (10, 0, 7.0), (11, 0, nan), (None, 0, 1.0), (12, 0, None), (2**60, 0, 1.0)],
        [(9, 0, 99.0), (12, 0, 3.0), (13, 0, 0.0)],
    ]
    (tmp_path / "events").mkdir()
    for number, rows in enumerate(files):
        columns = zip(("t", "n", "x"), zip(*rows, strict=True), strict=True)
        path = tmp_path / "events" / f"{number}.parquet"
        pq.write_table(pa.table({name: pa.array(values) for name, values in columns}), path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    answers = standing(
        read(spark, tmp_path / "events", "t bigint, n bigint, x double"),
        [
            StandingQuery(7, 2, 3, Formula("x")),
            StandingQuery(8, 1, "3 ms", Formula("10 / x", order="smallest")),
        ],
        columns=["x"],
        time="t",
        order="n",
        result="answers",
    )
    assert answers.schema.simpleString() == (
        "struct<query:bigint,rank:int,key:bigint,score:double,time:bigint,at:bigint>"
    )
    seen = run(answers, tmp_path)
    got = spark.read.parquet(str(tmp_path / "sink")).collect()
    assert sorted(map(tuple, got)) == [
        (7, 1, 1, 7.0, 10, 2),  # 7.0 came before 5.0: its order says so
        (7, 1, 2, 5.0, 10, 4),
        (7, 2, 2, 5.0, 10, 2),
        (7, 2, 3, 3.0, 12, 4),
        (8, 1, 1, 10 / 7, 10, 2),
        (8, 1, 3, 10 / 3, 12, 4),  # what came at 10 is too old, and 10 / 0 is not a number
    ]
    names = ("events", "bad_score", "bad_time", "late", "bad_key", "queries")
    assert [[each[name] for name in names] for each in seen] == [
        [6, 2, 2, 0, 0, 2],
        [3, 1, 0, 1, 0, 2],
    ]


@pytest.mark.spark
def test_a_table_gives_all_results_at_once(spark: SparkSession) -> None:
    table = spark.createDataFrame(
        [(2, "b", 1.0), (1, "a", 2.0), (3, None, 9.0)], "t int, k string, x double"
    )
    found = standing(
        table, [StandingQuery("q", 1, 5, Formula("x"))], columns=["x"], time="t", key="k"
    )
    assert [tuple(row) for row in found.collect()] == [("q", "a", 2.0, 1, 1, 1)]


@pytest.mark.spark
def test_the_workers_know_the_algorithms_of_the_laboratory(spark: SparkSession) -> None:
    """They are other processes, in which nobody has imported it."""
    table = spark.createDataFrame([(2, "b", 1.0), (1, "a", 2.0)], "t int, k string, x double")
    found = standing(
        table,
        [StandingQuery("q", 1, 5, Euclidean({"x": 0.0}))],
        columns=["x"],
        time="t",
        key="k",
        algorithm="snn",
    )
    assert [row["key"] for row in found.collect()] == ["a", "b"]


@pytest.mark.spark
def test_the_command_line_shows_what_is_remembered(spark: SparkSession, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    queries = random_queries(rng, 12)
    stream = Stream([events_of(rng, 90)])
    stream.write(tmp_path)
    events = read(spark, tmp_path / "events", EVENTS)
    rows = standing(events, queries, columns=["x", "y"], time="at", key="who", shards=2)
    (seen,) = run(rows, tmp_path)
    checkpoint = str(tmp_path / "checkpoint")
    shown = CliRunner().invoke(app, ["state", checkpoint, "--json"])
    assert shown.exit_code == 0, shown.output
    shards = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [(each["shard"], each["shards"], each["seen"]) for each in shards] == [
        (0, 2, 90),
        (1, 2, 90),
    ]
    for name in ("queries", "references"):
        assert sum(each[name] for each in shards) == seen[name]
    newest = stream.events[0].column("at").cast(pa.int64())[-1].as_py() // 1000
    for each in shards:
        assert (each["algorithm"], each["columns"]) == ("rapf", ["x", "y"])
        assert (each["newest"], 0 < each["objects"] <= 90) == (newest, True)
    text = CliRunner().invoke(app, ["state", checkpoint]).stdout
    assert f"shard    1 of 2, {shards[1]['size']:,} bytes\n" in text
    assert f"keeps  {shards[0]['queries']} queries by rapf over x, y\n" in text
    assert f"{shards[0]['references']:,} references, {shards[0]['objects']:,} objects" in text


@pytest.mark.spark
def test_a_checkpoint_belongs_to_the_queries_it_began_with(
    spark: SparkSession, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    one, other = random_queries(rng, 2)
    stream = Stream([events_of(rng, 20), events_of(rng, 20)])
    stream.write(tmp_path, slice(0, 1))
    events = read(spark, tmp_path / "events", EVENTS)
    seen: list[Progress] = []
    places: dict[str, Any] = {"path": tmp_path / "sink", "checkpoint": tmp_path / "checkpoint"}
    plain: dict[str, Any] = {"columns": ["x", "y"], "time": "at"}
    with watch(spark, seen.append):
        started = start(
            standing(events, [one], **plain).where("score > 0"),
            **places,
            trigger={"availableNow": True},
            name="standing",
        )
        started.awaitTermination()
        eventually(lambda: len(seen) == 1)
    assert (seen[0].events, seen[0].queries, seen[0].changes) == (20, 1, 0)
    assert seen[0].state_bytes > 500
    assert str(seen[0]).startswith(f"standing #0: results {seen[0].results}, events 20, late 0")
    with pytest.raises(StateError, match="begun with other queries"):
        start(standing(events, [one, other], **plain), **places)
    with pytest.raises(StateError, match="begun with other queries"):
        start(standing(events, [one], gamma=0.5, **plain), **places)
    with pytest.raises(StateError, match="written with shards=1"):
        start(standing(events, [one], shards=2, **plain), **places)
    # Without start() the first micro-batch finds it.
    stream.write(tmp_path, slice(1, 2))
    with pytest.raises(StreamingQueryException, match="begun with other queries"):
        run(standing(events, [one, other], **plain), tmp_path)


@pytest.mark.spark
def test_what_can_not_work_is_told_before_anything_starts(spark: SparkSession) -> None:
    events = (
        spark.readStream.format("rate")
        .load()
        .selectExpr(
            "timestamp AS at",
            "value AS id",
            "double(value) AS x",
            "string(value) AS text",
            "date(timestamp) AS day",
        )
    )
    good = StandingQuery("q", 1, 5, Formula("x"))
    table = standing_queries(spark, [good])
    feed = events.selectExpr("'cancel' AS op", "text AS name")
    plain: dict[str, Any] = {"events": events, "queries": [good], "columns": ["x"], "time": "at"}
    bad: list[tuple[dict[str, Any], str, str]] = [
        ({"columns": ["y"]}, "columns", "'y' is not there"),
        ({"columns": ["text"]}, "columns", "cast it to a number"),
        ({"columns": []}, "columns", "name each attribute"),
        ({"time": "when"}, "time", "is not there"),
        ({"time": "day"}, "time", "of type date"),
        ({"key": "x"}, "key", "of type double"),
        ({"order": "text"}, "order", "of type string"),
        ({"algorithm": "best"}, "algorithm", "rapf"),
        ({"sigma": 2.0}, "sigma", ""),
        ({"shards": 0}, "shards", "at least 1"),
        ({"result": "rows"}, "result", "stream, answers"),
        ({"queries": [good, good]}, "queries", "registered already"),
        ({"queries": [StandingQuery("q", 1, 5, Formula("z"))]}, "queries", "'z' is not a column"),
        ({"queries": [good], "buffer": 9}, "queries", "too large to be exact"),
        ({"queries": table.drop("k")}, "queries", "no column 'k'"),
        ({"queries": table.selectExpr("name", "0 AS k", "window", "score")}, "queries", "k: must"),
        ({"queries": table.selectExpr("name", "k", "window", "'{]' AS score")}, "queries", "JSON"),
        (
            {"queries": table.selectExpr("name", "k", "null AS window", "score")},
            "queries.window",
            "none",
        ),
        ({"queries": feed}, "queries", "changes="),
        ({"changes": feed.drop("op")}, "changes", "no column 'op'"),
        ({"changes": feed.selectExpr("op", "1 AS name")}, "changes.name", "texts"),
        ({"changes": table.selectExpr("'cancel' AS op", "name")}, "changes", "the other a table"),
        ({"changes": feed.selectExpr("op", "name", "'now' AS time")}, "changes", "of type string"),
    ]
    for given, wrong, says in bad:
        with pytest.raises(QueryError) as caught:
            standing(**{**plain, **given})
        assert (caught.value.field, says in str(caught.value)) == (wrong, True), caught.value
