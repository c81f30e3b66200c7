"""Changes that are pushed on Spark: the same as in process, for one shard and for several."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pytest

from topwater import (
    Answer,
    ChangeStream,
    QueryError,
    TopKMonitor,
    TopKQuery,
    remote,
    topk,
    tumbling,
)
from topwater.model import KeyForm
from topwater.model.key_form import KeyColumn
from topwater.monitor.notice_settings import NoticeSettings
from topwater.replica.notices import BEAT, VALUE, notice_table
from topwater.spark import answers_from
from topwater.spark.notice_stream import divided

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

Rows: TypeAlias = list[list[dict[str, Any]]]
PRICES = {"tea": 3.0, "rice": 2.0, "salt": 1.0, "oil": 4.0}
EVENTS: Rows = [
    [{"product": key, "at": 10 * place + at} for at, key in enumerate(PRICES, 1)]
    for place in range(4)
]
NOTICES: Rows = [
    [{"key": key, "time": 1, "price": price} for key, price in PRICES.items()],
    [{"key": "salt", "time": 12, "price": 9.0}, {"key": None, "time": 21, "price": None}],
    [{"key": "tea", "time": 23, "price": None}, {"key": "rice", "time": 5, "price": 7.0}],
    [{"key": "oil", "time": 37, "price": 0.5}, {"key": "tea", "time": 38, "price": "dear"}],
]


def query(policy: str = "worth", **changes: Any) -> TopKQuery:
    given: dict[str, Any] = {
        "key": "product",
        "time": "at",
        "window": tumbling(10),
        "k": 2,
        "take": {"sold": "count"},
        "score": "sold * price",
        "refresh": {"remote": "price", "budget": 1, "policy": policy},
    }
    return TopKQuery(**{**given, **changes})


def in_process(asked: TopKQuery, sources: Any, sold: Rows, told: Rows) -> list[Answer]:
    settings = NoticeSettings(complete=True)
    monitor = TopKMonitor.build(asked, source=sources, changes=settings)
    found = []
    for events, notices in zip(sold, told, strict=True):
        monitor.learn(notices)
        monitor.ingest(events)
        found += monitor.close_until(monitor.watermark or 0)
    return found


def on_spark(rows: DataFrame, asked: TopKQuery, checkpoint: str) -> list[Answer]:
    tables: list[pa.Table] = []
    writer = rows.writeStream.foreachBatch(lambda batch, _: tables.append(batch.toArrow()))
    running = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    running.awaitTermination()
    return answers_from(pa.concat_tables(tables), asked)


def text(row: dict[str, Any]) -> str | None:
    return None if row["price"] is None else str(row["price"])


def stream(spark: SparkSession, folder: Path, files: list[Any], schema: str) -> DataFrame:
    folder.mkdir()
    for at, rows in enumerate(files):
        file = folder / f"{at}.json"
        file.write_text("\n".join(map(json.dumps, rows)))
        os.utime(file, (1_000_000 + at, 1_000_000 + at))  # Spark reads the oldest first
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.option("latestFirst", False).json(str(folder))


@pytest.mark.parametrize(("shards", "policy"), [(1, "worth"), (2, "worth"), (2, "lru")])
def test_the_same_as_in_process(
    shards: int, policy: str, spark: SparkSession, tmp_path: Path, checkpoint: str
) -> None:
    events = stream(spark, tmp_path / "events", EVENTS, "product string, at long")
    told = [[{**row, "price": text(row)} for row in rows] for rows in NOTICES]
    changes = stream(spark, tmp_path / "told", told, "key string, time long, price string")
    asked = query(policy)
    rows = topk(
        events,
        asked,
        remote.memory(PRICES),
        give="both",
        shards=shards,
        changes=ChangeStream(changes, complete=True),
    )
    found = on_spark(rows, asked, checkpoint)
    right = in_process(asked, remote.memory(PRICES), EVENTS, told)
    assert len(found) == 3
    if policy == "worth":
        assert [answer.keys for answer in found] == [answer.keys for answer in right]
        assert [answer.exact for answer in found] == [answer.exact for answer in right]
        assert [answer.notices for answer in found] == [answer.notices for answer in right]
    else:  # each shard looks up with a part of the budget
        assert found[0].keys == right[0].keys
        assert dict(found[0].notices) == {"told": 4}


def test_two_sources_are_heard_of_as_in_process(
    spark: SparkSession, tmp_path: Path, checkpoint: str
) -> None:
    """One is looked up by numbers, whose notices have texts: a stream has one column of keys."""
    goods = {key: {"price": price, "stock": 1.0} for key, price in PRICES.items()}
    sources = {"shop": remote.memory(goods), "vendors": remote.memory({7: 1.0, 8: 0.5})}
    joins = [
        {"remote": ["price", "stock"], "from": "shop"},
        {"remote": "trust", "from": "vendors", "key": "vendor"},
    ]
    asked = query(
        take={"sold": "count", "vendor": "last(vendor)"},
        score="sold * price * trust",
        where="stock > 0",
        refresh=joins,
        budget={"cost": 1},
    )
    sold = [[{**row, "vendor": 7 + row["at"] % 2} for row in rows] for rows in EVENTS]
    told: Rows = [
        [{"source": "shop", **row, "stock": None if row["price"] is None else 1.0} for row in rows]
        for rows in NOTICES[:3]
    ]
    told[0] += [{"source": "vendors", "key": key, "time": 1, "trust": 1.0} for key in ("7", "8")]
    told[1] += [{"source": "vendors", "key": "7", "time": 15, "trust": 0.1}]
    told += [[{"source": name, "key": None, "time": 40} for name in sources]]
    columns = ("source", "key", "time", "price", "stock", "trust")
    told = [[{name: row.get(name) for name in columns} for row in rows] for rows in told]
    schema = "source string, key string, time long, price double, stock double, trust double"
    rows = topk(
        stream(spark, tmp_path / "events", sold, "product string, at long, vendor long"),
        asked,
        sources=sources,
        give="both",
        changes=ChangeStream(stream(spark, tmp_path / "told", told, schema), complete=True),
    )
    found = on_spark(rows, asked, checkpoint)
    right = in_process(asked, sources, sold, told)
    assert [each.keys for each in found] == [each.keys for each in right]
    # When the second window closes, the vendors have been silent since before its end.
    assert [each.exact for each in found] == [each.exact for each in right] == [True, False, True]
    assert [dict(each.notices) for each in found] == [dict(each.notices) for each in right]


def test_streams_that_cant_be_are_refused_at_once(spark: SparkSession, tmp_path: Path) -> None:
    events = stream(spark, tmp_path / "events", EVENTS, "product string, at long")
    source = remote.memory(PRICES)
    for changes, problem in (
        ([], "changes are a DataFrame, not a list"),
        (spark.createDataFrame([("a", 1, 1.0)], "key string, time long, price double"), "a table"),
        (stream(spark, tmp_path / "a", NOTICES, "key string, price string"), "time column 'time'"),
        (stream(spark, tmp_path / "b", NOTICES, "key string, time long"), "no column 'price'"),
    ):
        with pytest.raises(QueryError, match=problem):
            topk(events, query(), source, changes=changes)  # type: ignore[arg-type]


def test_each_notice_goes_to_the_shard_of_its_key_and_those_without_to_all() -> None:
    keys = [*map(str, range(40)), None]
    columns = {"source": ["source"] * 41, "time": [1] * 41, "kind": [VALUE] * 40 + [BEAT]}
    notices = notice_table({**columns, "key": keys})
    form = KeyForm((KeyColumn("id", "whole"),))
    parts = divided(notices, form, 4)
    assert sorted(key for part in parts for key in part.column("key").to_pylist()[:-1]) == sorted(
        map(str, range(40))
    )
    assert all(part.column("key").to_pylist()[-1] is None for part in parts)
