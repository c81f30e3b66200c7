"""Times without a zone: one rule on Spark, whatever reads them, and it is Spark's."""

from __future__ import annotations

import datetime as dt
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F  # noqa: N812

from topwater import TopKQuery, tumbling
from topwater.monitor.reduction import PartialBatch
from topwater.spark import Rdf, topk
from topwater.spark.file_source import FilesReader, OneFile
from topwater.spark.rspql_streams import _checked, _reading
from topwater.spark.time_columns import with_instants, zone_of_session
from topwater.streams import ReplayStream
from topwater.streams.recordings import Recording

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

ZONE = "Europe/Rome"
NOON = dt.datetime.fromisoformat("2026-01-15T12:00:00")
INSTANT = 1_768_474_800_000
"""11:00 in UTC: noon in Rome."""
QUERY = TopKQuery(key="who", time="at", score="n", k=1, window=tumbling("1 min"))


@contextmanager
def zone(spark: SparkSession, name: str) -> Iterator[None]:
    before = zone_of_session(spark)
    spark.conf.set("spark.sql.session.timeZone", name)
    try:
        yield
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.spark
def test_spark_itself_and_all_that_reads_a_stream_agree(spark: SparkSession) -> None:
    rows = "timestamp_ntz'2026-01-15 12:00:00' AS at, date'2026-01-15' AS day, 1 AS n, 'a' AS who"
    with zone(spark, ZONE):
        events = spark.sql(f"SELECT {rows}")
        spark_says = events.select(F.unix_millis(F.col("at").cast("timestamp"))).first()
        read = with_instants(events, "at", "day", "n", "absent", None)
        assert read.select(F.unix_millis("at"), F.unix_millis("day")).first() == (
            INSTANT,
            INSTANT - 12 * 3_600_000,
        )
        assert read.select("n", "who").first() == (1, "a")
        [answer] = topk(events, QUERY).select("who", F.unix_millis("time")).collect()
        rdf = Rdf(events, text="who", time="at")
        [time] = events.select(_checked(events, _reading(rdf, None), "s")[0]).collect()  # type: ignore[arg-type]
    assert spark_says == (INSTANT,)
    assert tuple(answer) == ("a", INSTANT)
    assert time.at.timestamp() * 1000 == INSTANT


def times_of(folder: Path, column: pa.Array, *, old: bool = False, zone: str = ZONE) -> list[int]:
    """When the events of a file happened, as our own source reads it."""
    table = pa.table({"at": column, "n": [1.0] * len(column), "who": ["a"] * len(column)})
    pq.write_table(table, folder / "a.parquet", use_deprecated_int96_timestamps=old)
    reader = FilesReader(str(folder), "*.parquet", 0, QUERY.to_json(), 1, zone=zone)
    [rows] = reader.read(OneFile(0, "a.parquet"))
    part = PartialBatch.unpack(rows.column("portion")[0].as_py())
    return [int(each) for each in part.times.newest]


def test_files_agree_with_spark(tmp_path: Path) -> None:
    local = pa.array([NOON], pa.timestamp("us"))
    assert times_of(tmp_path, local) == [INSTANT]
    assert times_of(tmp_path, local, zone="UTC") == [INSTANT + 3_600_000]
    assert times_of(tmp_path, local, zone="+01:00") == [INSTANT]
    # What Spark used to write, and what has a zone, are instants.
    assert times_of(tmp_path, local, old=True) == [INSTANT + 3_600_000]
    assert times_of(tmp_path, pa.array([INSTANT], pa.timestamp("ms", "UTC"))) == [INSTANT]
    assert times_of(tmp_path, pa.array([INSTANT])) == [INSTANT]
    days = pa.array([NOON.date()], pa.date32())
    assert times_of(tmp_path, days) == [INSTANT - 12 * 3_600_000]


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_recordings_agree_with_spark(tmp_path: Path, kind: str) -> None:
    """A recording that begins now would else begin an hour off."""
    if kind == "json":
        (tmp_path / "1.json").write_text('{"at": "2026-01-15 12:00:00"}\n')
    else:
        pq.write_table(pa.table({"at": pa.array([NOON], pa.timestamp("us"))}), tmp_path / "1.json")
    settings = ReplayStream(path=str(tmp_path), schema="at timestamp", time="at", format=kind)
    for zone, instant in ((ZONE, INSTANT), ("UTC", INSTANT + 3_600_000)):
        assert Recording(settings, zone).portion("1.json", 0).times.tolist() == [instant]
