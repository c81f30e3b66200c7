"""Several rankings in one query of Spark: side by side, and one over the answers of another."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import functions as F  # noqa: N812

from tests.support.observed import eventually
from topwater import QueryError, StateError, TopKQuery, run, tumbling
from topwater.scoring import Formula
from topwater.spark import Progress, read_state, rescale, standing, start, topk, watch
from topwater.spark.state import lines
from topwater.standing import StandingQuery
from topwater.testing import Scripted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from topwater import Answer

START = 1_000_000
NOW = {"availableNow": True}
Found = list[tuple[int, int, int, float]]

REGIONS = TopKQuery(
    key="key",
    group_by="group",
    time="time",
    window=tumbling("10s", start=START),
    score="value",
    k=2,
)
"""A ranking for each region."""

OVERALL = TopKQuery(
    key="key", time="window_end", window=tumbling("10s", start=START), score="score", k=2
)
"""The best of what all regions answered."""

LOOKED_UP = TopKQuery(
    key="key",
    time="time",
    window=tumbling("10s", start=START),
    take={"n": "count"},
    score="n + 10 * worth",
    k=3,
    refresh={"remote": "worth", "budget": 9},
)
"""Its budget is enough for all keys."""

# Seconds, keys, groups, values: a line for each file, and so for each micro-batch.
FILES = [
    [(1, 1, "a", 5.0), (2, 2, "a", 7.0), (3, 3, "b", 6.0), (4, 2, "a", 1.0)],
    [(12, 3, "b", 2.0), (13, 4, "b", 3.0), (14, 1, "a", 4.0)],
    [(22, 5, "a", 8.0), (23, 5, "b", 9.0), (24, 4, "b", 1.0)],
    [(33, 1, "a", 1.0), (45, 2, "b", 2.0)],
    [(56, 2, "b", 2.0), (57, 3, "a", 3.0), (68, 1, "a", 1.0), (79, 1, "b", 1.0)],
]


def _soak(change: str) -> Any:
    return pytest.param(change, marks=pytest.mark.soak)


def tables(*numbers: int) -> list[pa.Table]:
    """Those of all files, or of some."""
    columns = (("time", pa.timestamp("ms", "UTC")), ("key", pa.int64()), ("group", pa.string()))
    schema = pa.schema([*columns, ("value", pa.float64())])
    rows = [[(START + 1_000 * each[0], *each[1:]) for each in file] for file in FILES]
    rows = [rows[number] for number in numbers] if numbers else rows
    return [pa.table([*map(list, zip(*file, strict=True))], schema=schema) for file in rows]


def written(folder: Path, numbers: Sequence[int]) -> str:
    folder.mkdir(exist_ok=True)
    for number in numbers:
        path = folder / f"{number}.parquet"
        pq.write_table(tables(number)[0], path, coerce_timestamps="us")
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return str(folder)


def read(spark: SparkSession, folder: str) -> DataFrame:
    schema = "time timestamp, key bigint, `group` string, value double"
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(folder)


def source() -> Scripted:
    return Scripted({key: float(key % 3) for key in range(10)})


def marked(rows: DataFrame, name: str) -> DataFrame:
    """Of each ranking the columns that all have, and which one it is."""
    ranked = rows.filter("rank IS NOT NULL")
    ends = (F.unix_millis("window_end") - START).alias("end")
    return ranked.select(F.lit(name).alias("of"), ends, "rank", "key", "score")


def shown(spark: SparkSession, sink: Path, name: str) -> Found:
    rows = spark.read.parquet(str(sink)).where(F.col("of") == name).drop("of")
    return sorted(map(tuple, rows.collect()))


def essence(answers: Sequence[Answer], until: int) -> Found:
    """The rows of the windows that end before some time."""
    ends = [(answer.window.end - START, answer) for answer in answers]
    return sorted(
        (end, row.rank, row.key, row.score)  # type: ignore[misc]
        for end, answer in ends
        if end < until
        for row in answer.rows
    )


def overall(query: TopKQuery = OVERALL, regions: TopKQuery = REGIONS) -> list[Answer]:
    """What a ranking of the regions' answers gives, in this process."""
    rows = [
        {"key": row.key, "window_end": answer.window.end, "score": row.score}
        for answer in run(regions, tables())
        for row in answer.rows
    ]
    return list(run(query, [rows]))


def side_by_side(
    spark: SparkSession,
    folder: str,
    looked_up: TopKQuery = LOOKED_UP,
    *,
    shards: int = 2,
    turned: bool = False,
) -> DataFrame:
    events = read(spark, folder)
    first = marked(topk(events, looked_up, source(), shards=shards, name="worth"), "worth")
    second = marked(topk(events, REGIONS, name="regions"), "regions")
    return second.union(first) if turned else first.union(second)


def ended(rows: DataFrame, folder: Path, **settings: Any) -> None:
    sink, checkpoint = folder / "out", folder / "state"
    start(rows, path=sink, checkpoint=checkpoint, trigger=NOW, **settings).awaitTermination()


@pytest.mark.spark
def test_a_union_goes_on_with_other_settings_for_one(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = written(tmp_path / "in", [0, 1, 2])
    seen: list[Progress] = []
    with watch(spark, seen.append) as watched, watch(spark, tmp_path / "told.prom"):
        ended(side_by_side(spark, folder), tmp_path, name="both")
        eventually(lambda: len(seen) == 6)
        eventually(lambda: windows_told(tmp_path / "told.prom") == {"regions": 4, "worth": 2})
    check_metrics(seen)
    assert {each.partition("/")[2] for each in watched.latest} == {"regions", "worth"}
    check_refused(spark, folder, tmp_path)
    states = read_state(spark, tmp_path / "state")
    assert [(each.name, each.shard) for each in states] == [
        *[("worth", shard) for shard in (0, 1, 2)],
        ("regions", 0),
    ]
    assert [line for line in lines(states) if line.startswith("query")] == [
        "query worth",
        "query regions",
    ]
    written(tmp_path / "in", [3, 4])
    fewer = replace(LOOKED_UP, k=1)
    caplog.clear()
    # One shard has no stage for a ranking of all: the other ranking's stage gets its number.
    ended(side_by_side(spark, folder, fewer, shards=1), tmp_path)
    changes = "worth: shards: 2 → 1; worth: k: 3 → 1"
    assert f"goes on with {changes}; as it was, it is kept in" in caplog.text
    assert shown(spark, tmp_path / "out", "regions") == essence([*run(REGIONS, tables())], 79_000)
    right = essence([*run(LOOKED_UP, tables(), source=source())], 79_000)
    # The windows that were answered before the change had three places.
    expected = [row for row in right if row[0] <= 20_000 or row[1] == 1]
    assert shown(spark, tmp_path / "out", "worth") == expected


def windows_told(file: Path) -> dict[str, float]:
    """What Prometheus reads of the windows of each ranking."""
    return {
        sample.labels["ranking"]: sample.value
        for family in text_string_to_metric_families(file.read_text())
        for sample in family.samples
        if sample.name == "topwater_windows_total"
    }


def check_metrics(seen: list[Progress]) -> None:
    """Each ranking has its own figures; what is the query's is told once."""
    by = {name: [each for each in seen if each.ranking == name] for name in ("regions", "worth")}
    assert [each.windows for each in by["regions"]] == [0, 2, 2]
    assert [each.windows for each in by["worth"]] == [0, 1, 1]
    assert sum(each.fetched for each in by["worth"]) > 0
    assert [sum(each.rows for each in by[name]) for name in by] == [20, 0]
    assert all(each.state_bytes for each in seen)
    assert str(by["worth"][0]).startswith("both worth #0: ")


def check_refused(spark: SparkSession, folder: str, place: Path) -> None:
    """What would count something else, and rankings that have changed places."""
    other = replace(LOOKED_UP, take={"n": "count", "m": "max(value)"})
    with pytest.raises(StateError, match=r"ranking 'worth' of the checkpoint .* its take is"):
        ended(side_by_side(spark, folder, other), place)
    with pytest.raises(StateError, match="that of the ranking 'worth', and here it is 'regions'"):
        ended(side_by_side(spark, folder, turned=True), place)
    one = marked(topk(read(spark, folder), REGIONS, name="regions"), "regions")
    with pytest.raises(StateError, match="with 2 rankings, and here there are 1"):
        ended(one, place)
    with pytest.raises(StateError, match="has the rankings: worth, regions"):
        rescale(spark, place / "state", 3)


@pytest.mark.spark
@pytest.mark.parametrize("change", ["k", _soak("none"), _soak("shards")])
def test_one_over_the_answers_of_another_goes_on(
    spark: SparkSession, tmp_path: Path, change: str
) -> None:
    """Without names. The second answers a window when the first has answered the next one."""
    folder = written(tmp_path / "in", [0, 1, 2])
    shards = 1

    def chained(query: TopKQuery = OVERALL) -> DataFrame:
        regions = topk(read(spark, folder), REGIONS, shards=shards)
        return marked(topk(regions.filter("rank IS NOT NULL"), query), "all")

    ended(chained(), tmp_path)
    assert shown(spark, tmp_path / "out", "all") == essence(overall(), 20_000)
    if change == "k":
        other = replace(OVERALL, group_by="group")
        with pytest.raises(StateError, match=r"ranking '#2' of the checkpoint .* its group_by is"):
            ended(chained(other), tmp_path)
    written(tmp_path / "in", [3, 4])
    later = replace(OVERALL, k=1) if change == "k" else OVERALL
    shards = 3 if change == "shards" else 1
    ended(chained(later), tmp_path)
    right = essence(overall(), 70_000)
    expected = [row for row in right if change != "k" or row[0] <= 10_000 or row[1] == 1]
    assert shown(spark, tmp_path / "out", "all") == expected
    kept = {"k": "state.as-it-was", "shards": "state.as-it-was"}.get(change, "state")
    assert (tmp_path / kept).is_dir()


@pytest.mark.soak
@pytest.mark.spark
def test_standing_queries_beside_a_ranking(spark: SparkSession, tmp_path: Path) -> None:
    folder = written(tmp_path / "in", [0])

    def both(k: int = 2) -> DataFrame:
        ranked = marked(topk(read(spark, folder), replace(REGIONS, k=k), name="regions"), "regions")
        near = standing(
            read(spark, folder),
            [StandingQuery("a", k=1, window=100, score=Formula("value"))],
            columns=["value"],
            time="time",
            key="key",
            name="near",
        )
        end = F.lit(0).cast("bigint")
        plain = near.select(F.lit("near"), end, F.lit(1), "key", "score")
        return ranked.union(plain)

    seen: list[Progress] = []
    with watch(spark, seen.append):
        ended(both(), tmp_path)
        eventually(lambda: len(seen) == 2)
    assert {each.ranking: each.results for each in seen} == {"near": 2, "regions": 0}
    assert all(each.state_bytes > 100 for each in seen)
    written(tmp_path / "in", [2])
    ended(both(k=1), tmp_path)
    right = essence([*run(replace(REGIONS, k=1), tables(0, 2))], 24_000)
    assert shown(spark, tmp_path / "out", "regions") == right
    best = [(row[2], row[3]) for row in shown(spark, tmp_path / "out", "near")]
    assert sorted(best) == [(1, 5.0), (2, 7.0), (5, 8.0), (5, 9.0)]


@pytest.mark.spark
def test_a_ranking_that_is_there_twice_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    rows = marked(topk(read(spark, written(tmp_path / "in", [0])), REGIONS), "one")
    with pytest.raises(QueryError, match="the same ranking is twice in these rows"):
        ended(rows.union(rows), tmp_path)
