"""Events from text: what can't be read is a row of nulls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.spark_streams import collected, written
from topwater.spark import stream
from topwater.streams import stream_settings

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


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


def test_bad_lines_are_rows_of_nulls(spark: SparkSession, tmp_path: Path, checkpoint: str) -> None:
    lines = b"\n".join(payload for payload, _ in PAYLOADS) + b"\n\n  \n"
    folder = written(tmp_path / "in", a_jsonl=lines)
    settings = stream_settings({"kind": "files", "path": str(folder), "schema": SCHEMA})
    right = [row for _, row in PAYLOADS]
    assert [tuple(row) for row in stream(spark, settings, once=True).collect()] == right
    assert collected(stream(spark, settings), checkpoint) == right
