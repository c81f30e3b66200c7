"""Answers on their way to a sink: who writes, what Spark is told, and what passes through here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest

import topwater.spark
from topwater import TopKQuery, tumbling
from topwater.errors import QueryError
from topwater.jobs.sink_writer import (
    parts,
    require_lasting,
    start_writing,
    write_batch,
)
from topwater.jobs.sinks import BATCH, Sink
from topwater.spark import topk

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """What Spark is told to start."""
    begin = MagicMock()
    monkeypatch.setattr(topwater.spark, "start", begin)
    return begin


def started(sink: Sink, show: Any = None) -> MagicMock:
    answers = MagicMock()
    start_writing(sink, answers, show, checkpoint="c", trigger={"availableNow": True}, name="n")
    return answers


def test_the_password_of_a_kafka_sink_is_never_seen_by_spark(
    tmp_path: Path, begun: MagicMock
) -> None:
    """Kafka's client looks it up: what Spark is told stands in plans and logs."""
    given = {"kafka.sasl.jaas.config": "password=${KAFKA_KEY}", "kafka.acks": "all"}
    sink = Sink.of(
        {"kind": "kafka", "servers": "localhost:9", "topic": "t", "options": given}, tmp_path
    )
    answers = started(sink)
    (rows,), told = begun.call_args
    assert rows is answers.selectExpr.return_value
    assert told["to"] == "kafka"
    assert told["options"]["kafka.sasl.jaas.config"] == "password=${env:KAFKA_KEY}"
    assert told["options"]["kafka.config.providers"] == "env"
    assert told["options"]["kafka.acks"] == "all"
    assert told["options"]["topic"] == "t"
    batch = MagicMock()
    write_batch(sink, batch, 0)
    writer = batch.persist.return_value.selectExpr.return_value.write.format.return_value
    assert writer.options.call_args.kwargs == told["options"]


def test_a_format_is_written_by_spark_itself(
    tmp_path: Path, begun: MagicMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TW_KEY", "hush")
    given = {"format": "delta", "path": "out", "options": {"a": 1, "key": "${TW_KEY}"}}
    started(Sink.of({**given, "partition_by": "rank"}, tmp_path))
    told = begun.call_args.kwargs
    assert (told["to"], told["path"], told["table"]) == ("delta", str(tmp_path / "out"), None)
    assert told["options"] == {"a": "1", "key": "hush"}
    assert told["partition_by"] == ("rank",)
    assert (told["trigger"], told["name"]) == ({"availableNow": True}, "n")
    started(Sink.of({"table": "a.b", "checkpoint": "c"}, tmp_path))
    told = begun.call_args.kwargs
    assert (told["to"], told["path"], told["table"]) == (None, None, "a.b")


def test_what_has_no_streaming_sink_gets_micro_batches(tmp_path: Path, begun: MagicMock) -> None:
    started(Sink.of({"format": "jdbc", "checkpoint": "c", "options": {"url": "u"}}, tmp_path))
    take, batch = begun.call_args.kwargs["to"], MagicMock()
    take(batch, 7)
    kept = batch.persist.return_value
    writer = kept.selectExpr.return_value.write.mode.return_value.format
    assert writer.call_args.args == ("jdbc",)
    kept.unpersist.assert_called_once()
    kept.count.return_value = 0  # no window closed
    writer.reset_mock()
    take(batch, 8)
    writer.assert_not_called()


def test_no_row_that_is_written_passes_through_the_driver(tmp_path: Path) -> None:
    batch = MagicMock()
    write_batch(Sink.of({"kind": "parquet", "path": "out"}, tmp_path), batch, 3)
    kept = batch.persist.return_value
    writer = kept.write.mode.return_value.format.return_value.options.return_value
    writer.save.assert_called_once_with(f"{tmp_path}/out/batch=3")
    for frame in (batch, kept):
        for name in ("collect", "toPandas", "toArrow", "toLocalIterator", "take"):
            getattr(frame, name).assert_not_called()


def row(end: int, rank: int | None, group: str = "") -> MagicMock:
    found = MagicMock()
    found.asDict.return_value = {"window_end": end, "rank": rank, "group": group}
    return found


def test_a_terminal_gets_rows_in_parts_and_windows_as_a_whole(tmp_path: Path) -> None:
    batch = MagicMock()
    batch.toLocalIterator.return_value = [
        *(row(1, 1, "a"), row(1, 2, "a"), row(1, 1, "b"), row(2, None), row(3, 1), row(3, 2)),
        *(row(4, None, "a"), row(4, 1, "a"), row(4, None, "b"), row(4, 1, "b")),
    ]
    found = [[(each["window_end"], each["rank"]) for each in part] for part in parts(batch, 2)]
    assert found == [
        [(1, 1), (1, 2)], [(1, 1), (2, None)], [(3, 1), (3, 2)],
        [(4, None), (4, 1)], [(4, None), (4, 1)],
    ]  # fmt: skip
    seen: list[Any] = []
    write_batch(Sink.of({}, tmp_path), batch, 0, show=seen.append)
    assert [len(part) for part in seen] == [10]
    batch.persist.assert_not_called()


@pytest.mark.spark
@pytest.mark.parametrize("give", ["items", "windows", "both"])
def test_a_sink_gets_the_rows_that_it_wants(spark: SparkSession, tmp_path: Path, give: str) -> None:
    query = TopKQuery(key="user", time="at", window=tumbling(10), score="n", k=1)
    rows = [("ann", 1, 5.0), ("bob", 2, 7.0)]
    events = spark.createDataFrame(rows, "user string, at bigint, n double")
    sink = Sink.of({"kind": "parquet", "path": "out", "give": give}, tmp_path)
    write_batch(sink, topk(events, query, give="both"), 0)
    found = spark.read.parquet(f"{tmp_path}/out/{BATCH}=0")
    assert found.columns == topk(events, query, give=give).columns  # type: ignore[arg-type]
    assert found.count() == (2 if give == "both" else 1)


@pytest.mark.spark
def test_a_table_that_would_be_forgotten_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    sink = Sink.of({"table": "answers", "checkpoint": "c"}, tmp_path)
    with pytest.raises(QueryError, match="forgets answers when the run ends") as caught:
        require_lasting(sink, spark)
    assert caught.value.field == "table"
    require_lasting(Sink.of({"format": "delta", "path": "out"}, tmp_path), spark)
    spark.conf.set("spark.sql.catalog.lake", "org.example.Lake")
    try:
        require_lasting(Sink.of({"table": "lake.db.a", "checkpoint": "c"}, tmp_path), spark)
    finally:
        spark.conf.unset("spark.sql.catalog.lake")
