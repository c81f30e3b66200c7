"""A thousand people ask for the three nearest of the last 2,000 taxis, on Spark."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from topwater.scoring import Euclidean
from topwater.spark import Progress, session, standing, standing_queries, start, watch
from topwater.standing import StandingQuery

PEOPLE, FILES, ROWS = 1_000, 4, 20_000
EVENTS = "at timestamp, taxi string, x double, y double"
FEED = "op string, name string, k int, window string, score string"


def near(name: str, x: float, y: float) -> StandingQuery:
    """Whose three nearest taxis are asked for."""
    return StandingQuery(name, k=3, window=2_000, score=Euclidean({"x": x, "y": y}))


def write(table: pa.Table, path: Path) -> None:
    """A file as a whole, with a date by which Spark takes one after the other."""
    path.parent.mkdir(exist_ok=True)
    pq.write_table(table, path)
    os.utime(path, (1_700_000_000 + int(path.stem), 1_700_000_000 + int(path.stem)))


def taxis(rng: np.random.Generator, number: int) -> pa.Table:
    """Twenty seconds in which some taxi says every millisecond where it is."""
    x, y = rng.random((2, ROWS))
    millis = 1_767_225_600_000 + number * ROWS + np.arange(ROWS)
    at = pa.array(millis * 1000, pa.timestamp("us", "UTC"))
    who = [f"taxi {each}" for each in rng.integers(0, 5_000, ROWS)]
    return pa.table({"at": at, "taxi": who, "x": x, "y": y})


def changes(number: int) -> pa.Table:
    """In the second file: one more person, one who changes, and one who cancels twice."""
    rows = [
        {"op": "register", "name": "late comer", "k": 1, "window": "10 s", "score": "x + y"},
        {"op": "change", "name": "person 3", "k": 3, "window": "500", "score": "abs(x - 0.5)"},
        {"op": "cancel", "name": "person 7"},
        {"op": "cancel", "name": "person 7"},
    ]
    kinds = [("op", "string"), ("name", "string"), ("k", "int32"), ("window", "string")]
    schema = pa.schema([*kinds, ("score", "string")])
    return pa.Table.from_pylist(rows if number == 1 else [], schema=schema)


def show(progress: Progress) -> None:
    """What a micro-batch did."""
    print(progress)
    for text in progress.refused:
        print("  refused:", text)


def main() -> None:
    """Write the stream, run the queries over it, and show the results of one of them."""
    rng = np.random.default_rng(1)
    queries = [near(f"person {n}", *rng.random(2).tolist()) for n in range(PEOPLE)]
    spark = session("standing", shuffle_partitions=2)
    with tempfile.TemporaryDirectory() as place, watch(spark, show):
        folder = Path(place)
        for number in range(FILES):
            write(taxis(rng, number), folder / "taxis" / f"{number}.parquet")
            write(changes(number), folder / "feed" / f"{number}.parquet")
        reader = spark.readStream.option("maxFilesPerTrigger", 1)
        results = standing(
            reader.schema(EVENTS).parquet(f"{folder}/taxis"),
            standing_queries(spark, queries),
            columns=["x", "y"],
            time="at",
            key="taxi",
            changes=reader.schema(FEED).parquet(f"{folder}/feed"),
            shards=2,
        )
        running = start(
            results,
            path=folder / "results",
            checkpoint=folder / "state",
            trigger={"availableNow": True},
            name="nearest",
        )
        running.awaitTermination()
        time.sleep(1)  # what watch() reports comes a moment later
        found = spark.read.parquet(f"{folder}/results")
        found.where("query = 'late comer'").orderBy("at", ascending=False).show(3, truncate=False)


if __name__ == "__main__":
    main()
