"""What a client of Spark Connect does, in a process of its own: FOLDER ADDRESS PART...

In one process Spark's functions are those of Connect or those of Spark itself, never both. Without
an address, ``-``, the process starts Spark itself: of another version, if that is on its path.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.support.observed import eventually
from tests.support.scenarios import Scenario, read_stream, remote_side, scenario, written
from topwater.errors import TopwaterError
from topwater.remote.replay import Replay
from topwater.scoring import Formula
from topwater.spark import (
    Files,
    Progress,
    read_state,
    rescale,
    rspql,
    session,
    settings,
    standing,
    start,
    topk,
    watch,
)
from topwater.standing import StandingQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FILES = 4
MUCH = 300_000
"""More bytes than travel inside of a plan."""

RSPQL = """
PREFIX : <http://example.org/>
REGISTER STREAM :best AS
SELECT ?item (SUM(?price) AS ?sum)
FROM NAMED WINDOW :w ON :bids [RANGE PT10S STEP PT10S]
WHERE { WINDOW :w { ?item :price ?price } }
GROUP BY ?item ORDER BY DESC(?sum) LIMIT 2
"""
TRIPLE = (
    "<http://example.org/{}> <http://example.org/price> "
    '"{}"^^<http://www.w3.org/2001/XMLSchema#integer> .'
)
HEARD = [(11_000, "a", 3), (12_000, "b", 5), (13_000, "a", 4), (31_000, "c", 1)]


def asked(name: str) -> Scenario:
    """What the client asks, and what is expected of it."""
    return scenario(name, 5, files=FILES, rows=200, unit=0.1)


class Large(Replay):
    """A source of a class that only this process knows, with more in it than fits into a plan."""

    padding = b""


def run_on(rows: DataFrame, folder: Path) -> list[Progress]:
    """Go on until the input ends; what was watched."""
    seen: list[Progress] = []
    with watch(rows.sparkSession, seen.append) as watching:
        running = start(
            rows,
            path=folder / "sink",
            checkpoint=folder / "checkpoint",
            trigger={"availableNow": True},
            name=folder.name,
        )
        running.awaitTermination()
        last = running.lastProgress
        assert last is not None
        eventually(lambda: any(each.batch == last.batchId for each in seen), seconds=120)
    assert watching.error is None
    return seen


def in_halves(
    spark: SparkSession, folder: Path, name: str, source: Any = None, shards: int = 1
) -> list[Progress]:
    """A scenario, with a restart from the checkpoint in the middle."""
    each, seen = asked(name), []
    half = len(each.files) // 2
    for first, files in ((0, each.files[:half]), (half, each.files[half:])):
        events = read_stream(spark, written(folder / "in", files, first), each.keys)
        seen += run_on(topk(events, each.query, source, give="both", shards=shards), folder)
    found = spark.read.parquet(str(folder / "sink")).toArrow()
    pq.write_table(found, folder / "found.parquet")
    return seen


def each_part(spark: SparkSession, folder: Path) -> Any:
    in_halves(spark, folder, "each-smallest")


def counts_part(spark: SparkSession, folder: Path) -> Any:
    in_halves(spark, folder, "last-and-sum", shards=2)


def worth_part(spark: SparkSession, folder: Path) -> Any:
    source = remote_side(Large)
    assert isinstance(source, Large)
    source.padding = bytes(MUCH)
    seen = in_halves(spark, folder, "worth", source, shards=2)
    state = read_state(spark, folder / "checkpoint")
    return {"seen": [asdict(each) for each in seen], "shards": [each.shard for each in state]}


def tuned_part(spark: SparkSession, folder: Path) -> Any:
    """The query before goes on with more shards: Spark writes a state. It has no new files."""
    before = folder.parent / "worth_part" / "checkpoint"
    rescaled = rescale(spark, before, 4)
    assert rescaled is not None
    states = read_state(spark, before)
    assert all(each.shards == rescaled.shards for each in states)
    return [rescaled.before, rescaled.shards]


def limits_part(spark: SparkSession, folder: Path) -> Any:
    """Whether a source in Python is told how much to read."""
    each = asked("last-and-sum")
    own = Files(written(folder / "in", each.files), max_files_per_trigger=1)
    return said(lambda: topk(own, each.query))


def refused_part(spark: SparkSession, folder: Path) -> Any:
    """What can't be done is said before anything starts. It follows the one before."""
    folder = folder.parent / "worth_part"
    each = asked("worth")
    events = read_stream(spark, str(folder / "in"), each.keys)
    rows = topk(events, each.query, each.source, shards=2)
    more = topk(events, each.query, each.source, shards=3)
    other = topk(events, asked("each-smallest").query)
    place: dict[str, Any] = {"path": folder / "sink", "checkpoint": folder / "checkpoint"}
    return {
        "shards": said(lambda: start(more, **place)),
        "rescale": said(lambda: rescale(spark, folder / "checkpoint", 3)),
        "other": said(lambda: start(other, **place)),
        "columns": said(lambda: start(rows.select("key", "rank"), **place)),
        "sink": said(lambda: start(rows, path=folder / "sink", checkpoint=folder / "new")),
        "nothing": said(lambda: read_state(spark, folder / "nothing")),
        "active": session() is spark,
    }


def said(what: Any) -> str:
    try:
        what()
    except TopwaterError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def files_part(spark: SparkSession, folder: Path) -> Any:
    """Files that are reduced while they are read, and no restart."""
    each = asked("last-and-sum")
    own = Files(written(folder / "in", each.files), max_files_per_trigger=1)
    run_on(topk(own, each.query, give="both", shards=2), folder)
    pq.write_table(spark.read.parquet(str(folder / "sink")).toArrow(), folder / "found.parquet")


def standing_part(spark: SparkSession, folder: Path) -> Any:
    each = asked("each-smallest")
    events = read_stream(spark, written(folder / "in", each.files), each.keys)
    queries = [StandingQuery("near", 2, 10, Formula("value"))]
    rows = standing(events, queries, columns=["value"], time="time", result="answers")
    run_on(rows, folder)
    return spark.read.parquet(str(folder / "sink")).count()


def rspql_part(spark: SparkSession, folder: Path) -> Any:
    heard = [(time, TRIPLE.format(item, price)) for time, item, price in HEARD]
    lines = spark.createDataFrame(heard, "time bigint, value string")
    rows = rspql(spark, RSPQL, streams={":bids": lines}).collect()
    return sorted([row["item"], row["sum"]] for row in rows if row["rank"] is not None)


PARTS = {
    "each": each_part,
    "counts": counts_part,
    "tuned": tuned_part,
    "limits": limits_part,
    "worth": worth_part,
    "refused": refused_part,
    "files": files_part,
    "standing": standing_part,
    "rspql": rspql_part,
}


def main(folder: Path, address: str, names: list[str]) -> None:
    spark = session("driver", master="local[2]", shuffle_partitions=2) if address == "-" else None
    if spark is None:
        builder: Any = SparkSession.builder
        spark = builder.remote(address).config(map=settings(shuffle_partitions=2)).getOrCreate()
    report: dict[str, Any] = {"version": spark.version}
    for name in names:
        place = folder / f"{name}_part"
        place.mkdir()
        report[name] = PARTS[name](spark, place)
    (folder / "report.json").write_text(json.dumps(report))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
