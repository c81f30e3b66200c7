"""What is checked before a stream starts, and what a stream does that falls silent."""

from __future__ import annotations

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tests.support.observed import (
    FILES,
    SHARDS,
    START,
    eventually,
    figures_of,
    query,
    read,
    source,
    write,
)
from topwater import QueryError, StateError, TopKMonitor, TopKQuery, tables, tumbling
from topwater.monitor.grouped import GroupedMonitor
from topwater.monitor.reduction import reduce_batch
from topwater.scoring import Formula
from topwater.spark import answers_from, launch, read_state, standing, start, topk
from topwater.spark.heartbeats import BEAT, beat, heeded
from topwater.spark.state import lines
from topwater.standing import StandingQuery
from topwater.validation.checkpoints import SINK_LOG

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.observed import Ran

NOW = {"availableNow": True}


def rows_of(spark: SparkSession, ran: Ran, **settings: Any) -> DataFrame:
    made = settings.pop("query", query())
    return topk(read(spark, ran.events), made, source(), **({"shards": SHARDS} | settings))


def copied(ran: Ran, folder: Path) -> str:
    shutil.copytree(ran.checkpoint, folder / "copy")
    return str(folder / "copy")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("change", "problem", "fix"),
    [
        ({"mode": "update"}, "mode: 'update' can't be used", "append"),
        ({"mode": "complete"}, "mode: 'complete' can't be used", "append"),
        ({"path": None}, "path: parquet files need a folder", "folder"),
    ],
)
def test_a_sink_that_can_not_work(
    spark: SparkSession, ran: Ran, tmp_path: Path, change: dict[str, Any], problem: str, fix: str
) -> None:
    given: dict[str, Any] = {"path": tmp_path / "out", "checkpoint": tmp_path / "new"}
    with pytest.raises(QueryError) as caught:
        start(rows_of(spark, ran), **(given | change))
    assert caught.value.problem.startswith(problem)
    assert fix in caught.value.fix
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spark
def test_rows_that_are_no_answers(spark: SparkSession, ran: Ran, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"not made by topk"):
        start(read(spark, ran.events), to="noop", checkpoint=tmp_path)
    table = topk(spark.read.parquet(ran.events), query(), source())
    with pytest.raises(QueryError, match=r"a table(.|\n)*answers\.write"):
        start(table, to="noop", checkpoint=tmp_path)


@pytest.mark.spark
def test_a_query_that_got_no_event_yet_can_be_started_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    plain = TopKQuery(key="who", time="at", score="n", k=1, window=tumbling("1 min"))
    (tmp_path / "in").mkdir()

    def run(number: int, *said: str) -> None:
        (tmp_path / "in" / f"{number}.json").write_text("\n".join(said))
        events = spark.readStream.schema("who string, at timestamp, n int")
        wanted = topk(events.json(str(tmp_path / "in")).where("who != 'nobody'"), plain)
        out, state = tmp_path / "out", tmp_path / "state"
        start(wanted, path=out, checkpoint=state, trigger=NOW).awaitTermination()

    run(1, '{"who": "nobody", "at": "2026-01-01T00:00:01Z", "n": 1}')
    assert read_state(spark, tmp_path / "state") == []
    assert lines([]) == ["nothing yet: no event has come"]
    ann = '{"who": "ann", "at": "2026-01-01T00:00:01Z", "n": 1}'
    run(2, ann, ann.replace("00:00:01", "00:05:01"))
    found = spark.read.parquet(str(tmp_path / "out")).where("rank = 1").collect()
    assert [row.key for row in found] == ["ann"]


@pytest.mark.spark
def test_the_checkpoint_of_another_query(spark: SparkSession, ran: Ran, tmp_path: Path) -> None:
    other = rows_of(spark, ran, query=replace(query(), take={"n": "count", "m": "count"}))
    with pytest.raises(StateError, match=r"another query: its take is .*'count'.*, and here it is"):
        start(other, to="noop", checkpoint=copied(ran, tmp_path))
    # Also when nothing is left of the columns that topk() gave.
    told = other.select(F.to_json(F.struct("*")).alias("value"))
    with pytest.raises(StateError, match="another query: its take is"):
        start(told, to="noop", checkpoint=ran.checkpoint)


@pytest.mark.spark
def test_a_new_checkpoint_beside_a_folder_with_answers_is_refused(
    spark: SparkSession, ran: Ran, tmp_path: Path
) -> None:
    """Spark would leave out every micro-batch whose number the folder's log has, silently."""
    out = ran.checkpoint.replace("checkpoint", "out")
    with pytest.raises(QueryError) as caught:
        start(rows_of(spark, ran), path=out, checkpoint=tmp_path / "new", trigger=NOW)
    assert caught.value.field == "path"
    assert "holds the answers of another run" in caught.value.problem
    assert "another folder; this one keeps its windows" in caught.value.fix
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spark
@pytest.mark.parametrize(
    ("log", "problem"),
    [
        (["0", "1", "9.compact", "10"], "micro-batch 10, and .* only came to 3"),
        (["0", "1"], "ends with micro-batch 1, and .* has finished 3"),
    ],
)
def test_a_folder_that_is_not_as_far_as_the_checkpoint_is_refused(
    spark: SparkSession, ran: Ran, tmp_path: Path, log: list[str], problem: str
) -> None:
    (tmp_path / "out" / SINK_LOG).mkdir(parents=True)
    for name in log:
        (tmp_path / "out" / SINK_LOG / name).touch()
    with pytest.raises(QueryError, match=problem):
        start(rows_of(spark, ran), path=tmp_path / "out", checkpoint=ran.checkpoint, trigger=NOW)


@pytest.mark.spark
def test_standing_queries_are_refused_in_the_same_way(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out" / SINK_LOG).mkdir(parents=True)
    (tmp_path / "out" / SINK_LOG / "0").touch()
    events = spark.readStream.schema("x double, at timestamp").json(str(tmp_path / "in"))
    near = standing(
        events, [StandingQuery("a", k=1, window=3, score=Formula("x"))], columns=["x"], time="at"
    )
    with pytest.raises(QueryError, match="holds the answers of another run"):
        start(near, path=tmp_path / "out", checkpoint=tmp_path / "new", trigger=NOW)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("before", "after", "refused"), [(True, False, False), (False, True, False), (True, True, True)]
)
def test_a_query_of_spark_has_one_watermark(
    spark: SparkSession, tmp_path: Path, before: bool, after: bool, refused: bool
) -> None:
    """As docs/spark.md says: one of your own before ``topk``, or on ``window_end`` after it."""
    asked = TopKQuery(key="key", time="time", window=tumbling("1s"), score="value", k=1)
    (tmp_path / "in").mkdir()
    if refused:  # Spark sees it only when the first one has moved
        event = '{"time": "2026-01-01T00:00:0%dZ", "key": "a", "value": 1}'
        (tmp_path / "in" / "1.json").write_text("\n".join(event % at for at in range(1, 8)))
    events = spark.readStream.schema("time timestamp, key string, value double")
    stream = events.json(str(tmp_path / "in"))
    rows = topk(stream.withWatermark("time", "1 second") if before else stream, asked)
    rows = rows.withWatermark("window_end", "1 second") if after else rows
    writer = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "a"))
    running = writer.trigger(availableNow=True).start()
    if not refused:
        running.awaitTermination()
        start(rows, to="noop", checkpoint=tmp_path / "b", trigger="1 hour").stop()
        return
    with pytest.raises(StreamingQueryException, match="Redefining watermark"):
        running.awaitTermination()
    with pytest.raises(QueryError, match="Spark allows only one") as caught:
        start(rows, to="noop", checkpoint=tmp_path / "b")
    assert "leave out withWatermark before topk" in caught.value.fix


@pytest.mark.spark
def test_plain_spark_finds_the_same_in_the_first_micro_batch(
    spark: SparkSession, ran: Ran, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    more = Path(ran.events, "more.parquet")
    request.addfinalizer(more.unlink)
    shutil.copy(Path(write(tmp_path / "more", [[(27_000, 8)]]), "0.parquet"), more)
    checkpoint = copied(ran, tmp_path)
    settings: dict[str, Any]
    for settings, problem in (
        ({"query": query(k=3)}, r"other settings: k: 2 → 3(.|\n)*topwater.spark.start"),
        ({"shards": 3}, r"shards=2, and now(.|\n)*topwater state rescale CHECKPOINT --shards 3"),
        # One shard has no ranking behind it, so Spark itself misses a part of the query.
        ({"shards": 1}, "STREAMING_STATEFUL_OPERATOR_NOT_MATCH"),
    ):
        answers = rows_of(spark, ran, **settings)
        writer = answers.writeStream.format("noop").option("checkpointLocation", checkpoint)
        with pytest.raises(StreamingQueryException, match=problem):
            writer.trigger(availableNow=True).start().awaitTermination()


@pytest.mark.spark
def test_an_older_state_is_refused(
    spark: SparkSession, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "VERSION", tables.VERSION + 1)
    with pytest.raises(StateError, match=r"the state has version 3, this program reads 4"):
        start(rows_of(spark, ran), to="noop", checkpoint=ran.checkpoint)


@pytest.mark.spark
def test_the_right_checkpoint_goes_on(spark: SparkSession, ran: Ran, tmp_path: Path) -> None:
    """A window that was open is answered once its end is passed; none is answered again."""
    got: list[Row] = []
    running = start(
        rows_of(spark, ran).filter("rank = 1"),
        to=lambda batch, _: got.extend(batch.collect()),
        checkpoint=copied(ran, tmp_path),
        trigger=NOW,
    )
    running.awaitTermination()
    assert got == []
    assert running.exception() is None


@pytest.mark.spark
def test_a_session_without_a_setting_gets_as_many_tasks_as_shards(
    spark: SparkSession, tmp_path: Path
) -> None:
    setting = "spark.sql.shuffle.partitions"
    before = spark.conf.get(setting)
    spark.conf.unset(setting)
    try:
        events = read(spark, write(tmp_path / "in", FILES[:1]))
        rows = topk(events, query(), source(), shards=SHARDS)
        running = start(rows, to="noop", checkpoint=tmp_path / "c", trigger=NOW)
        running.awaitTermination()
        assert spark.conf.get(setting) == "200"
    finally:
        spark.conf.set(setting, str(before))
    assert {each.stateOperators[0].numShufflePartitions for each in running.recentProgress} == {2}
    folders = [path for path in (tmp_path / "c" / "state" / "0").iterdir() if path.name.isdecimal()]
    assert sum(any(path.rglob("*.changelog")) for path in folders) == 2
    assert len(read_state(spark, str(tmp_path / "c"))) == SHARDS


@pytest.mark.spark
def test_queries_that_start_at_once_have_the_partitions_of_their_own(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session says how many a query gets: it must say another's to nobody."""
    setting = "spark.sql.shuffle.partitions"
    before = spark.conf.get(setting)
    events = write(tmp_path / "in", FILES[:1])
    plain = TopKQuery(key="key", time="time", window=tumbling("10s"), score="key", k=1)
    begin = DataStreamWriter.start

    def begin_slowly(*given: Any) -> Any:
        time.sleep(0.3)
        return begin(*given)

    monkeypatch.setattr(DataStreamWriter, "start", begin_slowly)

    def run(partitions: int) -> set[int]:
        rows = topk(read(spark, events), plain)
        place = tmp_path / str(partitions)
        running = start(rows, to="noop", checkpoint=place, trigger=NOW, partitions=partitions)
        running.awaitTermination()
        told = (each.stateOperators for each in running.recentProgress)
        return {stage.numShufflePartitions for stages in told for stage in stages}

    with ThreadPoolExecutor(3) as pool:
        assert [*pool.map(run, (1, 2, 3))] == [{1}, {2}, {3}]
    assert spark.conf.get(setting) == before


@pytest.mark.spark
@pytest.mark.parametrize("shards", [1, 2])
def test_a_stream_that_falls_silent_still_closes_its_windows(
    spark: SparkSession, tmp_path: Path, shards: int
) -> None:
    """One event, now; nothing else ever comes, and heartbeats are neither events nor bad."""
    now = int(time.time() * 1_000)
    folder = write(tmp_path / "in", [[(now - START, 5)]])
    asked = TopKQuery(
        key="key", time="time", window=tumbling("1s"), take={"n": "count"}, score="n", k=1
    )
    answers = topk(read(spark, folder), asked, idle="500ms", shards=shards)
    out = str(tmp_path / "out")
    running = start(answers, path=out, checkpoint=tmp_path / "checkpoint")
    eventually(lambda: any(figures_of(each)["windows"] for each in running.recentProgress))
    running.stop()
    first, *rest = answers_from(spark.read.parquet(out).toArrow(), asked)
    assert first.keys == [5]
    assert first.window.start < now <= first.window.end
    assert [each.keys for each in rest] == [[]] * len(rest)
    assert sum(each.counts.events for each in (first, *rest)) == 1
    assert sum(each.counts.bad for each in (first, *rest)) == 0


def test_heartbeats_are_heeded_only_when_nothing_else_tells_the_time() -> None:
    asked = query()
    silent = Row(shard=0, task=BEAT, part=0, portion=beat(asked.window, START + 50_000).pack())
    part = reduce_batch(asked, {"key": [1], "time": [START + 5_000]}).pack()
    event = Row(shard=0, task=0, part=0, portion=part)
    assert [len(each.table) for each in heeded([silent, event])] == [1]
    monitor = TopKMonitor.build(asked, source=source())
    monitor.admit(*heeded([silent, event]))
    assert monitor.watermark == START + 5_000
    monitor.admit(*heeded([silent]))
    assert monitor.watermark == START + 50_000
    assert (monitor.counts.events, monitor.counts.late, monitor.counts.bad) == (1, 0, 0)


def test_heartbeats_move_the_time_of_all_groups() -> None:
    asked = TopKQuery(
        key="key", time="time", window=tumbling("10s"), score="value", k=1, group_by="team"
    )
    monitor = GroupedMonitor.build(asked)
    monitor.ingest({"key": [1, 2], "time": [5, 6], "value": [1.0, 2.0], "team": ["a", "b"]})
    monitor.admit(beat(asked.window, 10_001))
    assert monitor.watermark == 10_001
    answers = monitor.close_until(10_001)
    assert [(answer.group, answer.keys, answer.counts.events) for answer in answers] == [
        ("a", [1], 1),
        ("b", [2], 1),
    ]


@pytest.mark.spark
@pytest.mark.parametrize("idle", ["soon", -1])
def test_idle_must_be_a_duration(spark: SparkSession, ran: Ran, idle: Any) -> None:
    with pytest.raises(QueryError, match="idle: "):
        rows_of(spark, ran, idle=idle)


def test_a_checkpoint_is_for_its_owner_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch._make_private(str(tmp_path / "a" / "_checkpoint"))
    assert (tmp_path / "a" / "_checkpoint").stat().st_mode & 0o777 == 0o700
    monkeypatch.chdir(tmp_path)
    launch._make_private("s3a://bucket/checkpoint")
    assert [each.name for each in tmp_path.iterdir()] == ["a"]
    (tmp_path / "file").touch()
    launch._make_private(str(tmp_path / "file" / "checkpoint"))
