"""Streams of files, sockets and the user's own, on Spark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from topwater.errors import QueryError
from topwater.spark import stream
from topwater.streams import stream_settings

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SCHEMA = "user string, at bigint, score double"
PAYLOADS: list[tuple[bytes, tuple[Any, ...]]] = [
    (b'{"user": "ann", "at": 1, "score": 2.5}', ("ann", 1, 2.5)),
    (b'{"user": "bob", "at": 2, "score": 3, "more": [1]}', ("bob", 2, 3.0)),
    (b'{"user": "cy"}', ("cy", None, None)),
    (b'{"user": "dee", "at": "soon", "score": 1}', ("dee", None, 1.0)),
    (b'{"user": "eve", "at": 3, "score": "4.5"}', ("eve", 3, None)),
    (b'{"user": 7, "at": 4, "score": 1}', ("7", 4, 1.0)),
    (b'{"user": "caf\xc3\xa9", "at": 5, "score": 1}', ("café", 5, 1.0)),
    (b'{"user": "caf\xe9", "at": 5, "score": 1}', (None, None, None)),
    (b'[{"user": "ann", "at": 1}]', (None, None, None)),
    (b'{"user": "ann", "at": 1', (None, None, None)),
    (b"null", (None, None, None)),
    (b"\x00\x01\x02", (None, None, None)),
    (b"#", (None, None, None)),
    (b'"ann"', (None, None, None)),
]
"""Payloads as they come, and what is read: numbers as text are not numbers."""


def collected(rows: DataFrame, checkpoint: str) -> list[tuple[Any, ...]]:
    """What a stream gives until it has no more."""
    found: list[tuple[Any, ...]] = []
    running = (
        rows.writeStream.foreachBatch(lambda batch, _: found.extend(map(tuple, batch.collect())))
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    return found


def written(folder: Path, **files: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_bytes(text)
    return folder


def test_bad_lines_are_rows_of_nulls(spark: SparkSession, tmp_path: Path, checkpoint: str) -> None:
    lines = b"\n".join(payload for payload, _ in PAYLOADS) + b"\n\n  \n"
    folder = written(tmp_path / "in", a_jsonl=lines)
    settings = stream_settings({"kind": "files", "path": str(folder), "schema": SCHEMA})
    right = [row for _, row in PAYLOADS]
    assert [tuple(row) for row in stream(spark, settings, once=True).collect()] == right
    assert collected(stream(spark, settings), checkpoint) == right


def test_one_file_of_many(spark: SparkSession, tmp_path: Path, checkpoint: str) -> None:
    right = json.dumps({"user": "ann", "at": 1, "score": 1.5}).encode()
    folder = written(tmp_path / "in", a_jsonl=right, b_jsonl=b"{}")
    (folder / "a[1].jsonl").write_bytes(right)
    for name in ("a.jsonl", "a[1].jsonl"):
        told = {"kind": "files", "path": str(folder / name), "schema": SCHEMA}
        assert stream(spark, told, once=True).collect() == [("ann", 1, 1.5)]
    assert collected(stream(spark, told), checkpoint) == [("ann", 1, 1.5)]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_other_formats(spark: SparkSession, tmp_path: Path, checkpoint: str, kind: str) -> None:
    rows = [("ann", 1, 2.5), ("b,b", 2, 3.5)]
    folder = str(tmp_path / "in")
    spark.createDataFrame(rows, SCHEMA).coalesce(1).write.option("header", True).format(kind).save(
        folder
    )
    told = {"kind": "files", "path": folder, "format": kind}
    told |= {"schema": SCHEMA} if kind == "csv" else {}
    assert collected(stream(spark, told), checkpoint) == rows
    assert stream(spark, told, once=True).collect() == rows


def test_parquet_that_is_not_there_yet(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"^schema: .* has no parquet file yet"):
        stream(spark, {"kind": "files", "path": str(tmp_path), "format": "parquet"})
