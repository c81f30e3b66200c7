"""Streams of files, sockets and the user's own, on Spark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.spark_streams import collected, written
from topwater.errors import QueryError
from topwater.spark import stream

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = "user string, at bigint, score double"


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
