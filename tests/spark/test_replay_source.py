"""Recordings on Spark: pace, order, and going on where it was."""

from __future__ import annotations

import itertools
import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows

from tests.support.observed import eventually
from topwater.errors import QueryError
from topwater.spark import stream
from topwater.spark.replay_source import ReplaySource

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

SCHEMA = "n bigint, at timestamp"


def recorded(folder: Path, files: int = 3, rows: int = 40) -> dict[str, Any]:
    """One event a second, in files of their own."""
    folder.mkdir()
    for file in range(files):
        numbers = range(file * rows, file * rows + rows)
        lines = (json.dumps({"n": n, "at": n}) + "\n" for n in numbers)
        (folder / f"{file}.jsonl").write_text("".join(lines))
    return {"kind": "replay", "path": str(folder), "schema": SCHEMA, "time": "at"}


def played(
    rows: DataFrame, checkpoint: str, batches: dict[int, list[Any]] | None = None, until: int = 0
) -> list[Any]:
    """What a stream gives: all of it, or at least so many micro-batches."""
    found: dict[int, list[Any]] = {} if batches is None else batches
    writer = rows.writeStream.option("checkpointLocation", checkpoint)
    # A micro-batch that runs again takes the place of itself.
    writer = writer.foreachBatch(
        lambda batch, number: found.__setitem__(number, [tuple(row) for row in batch.collect()])
    )
    running = (writer if until else writer.trigger(availableNow=True)).start()
    if until:
        eventually(lambda: len(found) >= until or not running.isActive, seconds=300)
        running.stop()
    else:
        running.awaitTermination()
    if (error := running.exception()) is not None:
        raise error
    return [row for number in sorted(found) for row in found[number]]


def test_a_recording_goes_on_where_it_was(
    spark: SparkSession, tmp_path: Path, checkpoint: str
) -> None:
    told = recorded(tmp_path / "in") | {"speed": "max", "rows_per_batch": 13}
    rows = stream(spark, told).selectExpr("n", "unix_timestamp(at)")
    batches: dict[int, list[Any]] = {}
    assert len(played(rows, checkpoint, batches, until=2)) >= 13
    assert played(rows, checkpoint, batches) == [(n, n) for n in range(120)]


def test_all_formats_and_times_that_begin_now(spark: SparkSession, tmp_path: Path) -> None:
    told = recorded(tmp_path / "in", files=1, rows=5)
    table = stream(spark, told, once=True)
    assert [row.n for row in table.collect()] == [*range(5)]
    for kind in ("parquet", "csv"):
        folder = tmp_path / kind
        table.coalesce(1).write.option("header", True).format(kind).save(str(folder))
        other = {**told, "format": kind, "path": str(folder), "shift_to_now": True}
        before = time.time()
        found = played(
            stream(spark, other).selectExpr("n", "unix_millis(at)"), str(tmp_path / f"c-{kind}")
        )
        assert [n for n, _ in found] == [*range(5)]
        assert before * 1000 - 1 <= found[0][1] <= time.time() * 1000 + 1
        assert {b - a for (_, a), (_, b) in itertools.pairwise(found)} == {1_000}
    with pytest.raises(QueryError, match=r"^shift_to_now: "):
        stream(spark, other, once=True)


def test_rdf_is_played_too(spark: SparkSession, tmp_path: Path, checkpoint: str) -> None:
    (tmp_path / "a.nt").write_text("# a\n1000\t<urn:a> <urn:b> <urn:c> .\n\nno\n2000\t<urn:a> .\n")
    told = {"kind": "replay", "path": str(tmp_path / "a.nt"), "format": "ntriples", "speed": 0}
    rows = played(stream(spark, told).selectExpr("unix_millis(time)", "value"), checkpoint)
    assert rows == [(1_000, "<urn:a> <urn:b> <urn:c> ."), (None, None), (2_000, "<urn:a> .")]


@pytest.mark.parametrize("speed", [10, 100.0])
def test_the_pace_is_that_of_the_times(tmp_path: Path, speed: float) -> None:
    """Without Spark, whose own delays would hide it."""
    told = recorded(tmp_path / "in") | {"speed": speed}
    reader = ReplaySource({"settings": json.dumps(told), "zone": "UTC"}).streamReader(None)  # type: ignore[arg-type]
    limit = ReadMaxRows(1_000)
    offset = reader.latestOffset(reader.initialOffset(), limit)
    assert offset["time"] == 0  # the first event is due at once
    began = time.monotonic()
    while (passed := time.monotonic() - began) < 0.9:
        offset = reader.latestOffset(offset, limit)
        now = time.monotonic() - began
        assert passed * speed - 1.1 <= offset["time"] / 1000 or offset["time"] == 119_000
        assert offset["time"] / 1000 <= now * speed + 0.5
        time.sleep(0.01)
    # A second reader goes on from there, and not from where the first would be by now.
    time.sleep(0.3)
    again = ReplaySource({"settings": json.dumps(told), "zone": "UTC"}).streamReader(None)  # type: ignore[arg-type]
    then = again.latestOffset(offset, limit)
    assert then["time"] - offset["time"] <= 1_000 * max(1, speed / 20)
