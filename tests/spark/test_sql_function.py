"""A query in SQL, over a table."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from topwater import QueryError, TopKQuery, sliding, tumbling
from topwater.spark import register_sql, start, topk
from topwater.spark.sql_function import Question

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

TOML = """
key = "key"
time = "at"
window = "20 s every 10 s"
take = {n = "count", most = "max(value)"}
score = "n + most"
k = 3
"""
COUNTED = TopKQuery(
    key="key",
    time="at",
    window=sliding("20 s", "10 s"),
    take={"n": "count", "most": "max(value)"},
    score="n + most",
    k=3,
)


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    """Some hundred events in four partitions, out of order, a few of them bad."""
    register_sql(spark)
    table = spark.sql(
        "SELECT timestamp_millis(1000000 + id * 7919 % 90000) AS at, "
        "IF(id % 50 = 0, NULL, concat('k', id * 31 % 11)) AS key, "
        "IF(id % 3 = 0, 'a', 'b') AS `group`, double(id * 17 % 23) AS value "
        "FROM range(0, 400, 1, 4)"
    )
    table.createOrReplaceTempView("events")
    return table


def asked(spark: SparkSession, text: str, table: str = "TABLE(events)") -> DataFrame:
    statement = f"SELECT * FROM topwater_topk({table}, :text)"  # noqa: S608  our own words
    return spark.sql(statement, args={"text": text})


def ranked(rows: DataFrame, *others: str) -> list[tuple[Any, ...]]:
    plain = rows.where("rank IS NOT NULL").orderBy("window_end", *others, "rank")
    names = ("window_start", "window_end", *others, "rank", "key", "score", "time", "exact")
    return [*map(tuple, plain.select(*names).collect())]


@pytest.mark.spark
def test_it_answers_what_topk_does(spark: SparkSession, events: DataFrame) -> None:
    counted = asked(spark, TOML)
    assert ranked(counted) == ranked(topk(events, COUNTED))
    (first,) = counted.where("rank = 1").orderBy("window_end").limit(1).collect()
    assert first.n + first.most == first.score
    grouped = TopKQuery(
        key="key", group_by="group", time="at", window=tumbling("30 s"), score="value", k=2
    )
    arguments = f"query => '{grouped.to_json()}', events => TABLE(events)"
    found = ranked(spark.sql(f"SELECT * FROM topwater_topk({arguments})"), "group")  # noqa: S608
    assert len(found) > 10
    assert found == ranked(topk(events, grouped), "group")


@pytest.mark.spark
def test_remote_values_are_looked_up(
    spark: SparkSession, events: DataFrame, tmp_path: Path
) -> None:
    with sqlite3.connect(tmp_path / "db") as db:
        db.execute("CREATE TABLE worths (name TEXT, worth REAL)")
        db.executemany("INSERT INTO worths VALUES (?, ?)", [(f"k{n}", n * 10) for n in range(11)])
    text = f"""
        [query]
        key = "key"
        time = "at"
        window = "100 s"
        k = 2
        take = {{n = "count"}}
        score = "0 * n + worth"
        refresh = "worth"
        budget = 20

        [source]
        kind = "sql"
        url = "sqlite:///{tmp_path / "db"}"
        table = "worths"
        key = "name"
        value = "worth"
    """
    rows = asked(spark, text)
    assert {(row.key, row.worth) for row in rows.collect()} == {("k10", 100.0), ("k9", 90.0)}


@pytest.mark.spark
@pytest.mark.parametrize(
    ("table", "text", "told"),
    [
        ("TABLE(events)", TOML.replace('"key"', '"user"'), "the key column 'user' is not there"),
        ("TABLE(events)", TOML.replace("k = 3", "k = 0"), "fix: ask for one item or more"),
        ("TABLE(events)", TOML + "budget = 3", "budget: there is nothing to look up"),
        ("'events'", TOML, "write TABLE(its_name)"),
    ],
)
def test_what_is_wrong_is_told_when_the_statement_is_read(
    spark: SparkSession, events: DataFrame, table: str, text: str, told: str
) -> None:
    assert events.columns
    with pytest.raises(AnalysisException) as caught:
        asked(spark, text, table)
    assert told in str(caught.value)


@pytest.mark.spark
def test_a_stream_of_sql_goes_to_topk_and_not_to_the_function(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Spark would call the function for each micro-batch, as if that were a table of its own."""
    register_sql(spark)
    place = f"USING parquet LOCATION '{tmp_path / 'in'}'"
    spark.sql(f"CREATE TABLE arriving (key string, at timestamp, value double) {place}")
    request.addfinalizer(lambda: spark.sql("DROP TABLE arriving"))
    times = ("2026-01-01T00:00:01Z", "2026-01-01T00:01:01Z")
    rows = [f"('{key}', timestamp'{at}', 1.0)" for key, at in zip("ab", times, strict=True)]
    spark.sql(f"INSERT INTO arriving VALUES {', '.join(rows)}")  # noqa: S608  our own words
    refused = asked(spark, TOML, "TABLE(SELECT * FROM STREAM arriving)")
    writer = refused.writeStream.format("noop").option("checkpointLocation", f"{tmp_path}/a")
    with pytest.raises(StreamingQueryException, match="the table is a stream"):
        writer.trigger(availableNow=True).start().awaitTermination()
    plain = TopKQuery(key="key", time="at", window=tumbling("1 min"), score="value", k=1)
    answers = topk(spark.sql("SELECT * FROM STREAM arriving"), plain).select("key", "score")
    out, now = str(tmp_path / "out"), {"availableNow": True}
    start(answers, path=out, checkpoint=tmp_path / "b", trigger=now).awaitTermination()
    assert [tuple(row) for row in spark.read.parquet(out).collect()] == [("a", 1.0)]


@pytest.mark.parametrize(
    ("text", "field", "problem"),
    [
        ("{", "query", "the text is no JSON"),
        ("key = ", "query", "the text is no TOML"),
        ('query = {k = 1}\nsink = {kind = "parquet"}', "sink", "the text has the tables"),
        ("query = 3", "query", "must be a table of names"),
        ('key = "a"\nscore = "x"\nk = 1\nwindow = "a while"', "window.width", "not a duration"),
        (
            '{"key": "a", "score": "x", "k": 1, "window": {"by": "count", "width": 5, "step": 5}}',
            "window",
            "depends on the order of events",
        ),
        (
            json.dumps({**COUNTED.to_dict(), "where": "f > 1", "refresh": [{"remote": "f"}]}),
            "refresh",
            "can't be asked for in SQL",
        ),
    ],
)
def test_a_text_that_is_no_query_is_named(text: str, field: str, problem: str) -> None:
    with pytest.raises(QueryError, match=problem) as caught:
        Question.of(text)
    assert caught.value.field == field
