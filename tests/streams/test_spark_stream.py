"""Streams that Spark reads by itself: formats and tables, as they stand in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from topwater.errors import QueryError
from topwater.streams import SparkStream, stream_settings

if TYPE_CHECKING:
    from pathlib import Path


def test_a_format_or_a_table_needs_no_kind(tmp_path: Path) -> None:
    found = stream_settings({"format": "delta", "path": "events"}, tmp_path)
    assert isinstance(found, SparkStream)
    assert (found.kind, found.path) == ("spark", str(tmp_path / "events"))
    table = stream_settings({"table": "cat.db.`odd name`", "options": {"a": 1}})
    assert isinstance(table, SparkStream)
    assert table.table == "cat.db.`odd name`"
    far = stream_settings({"kind": "spark", "format": "json", "path": "s3a://b", "schema": "a int"})
    assert isinstance(far, SparkStream)
    assert far.path == "s3a://b"


@pytest.mark.parametrize(
    ("given", "field", "fix"),
    [
        ({"path": "in"}, "kind", "name a table"),
        ({"kind": "spark"}, "format", 'format = "delta"'),
        ({"format": "no format"}, "format", "its name"),
        ({"table": "a..b"}, "table", "db.events"),
        ({"table": ""}, "format", "table"),
        ({"table": "a", "path": "b"}, "path", "a table or a path"),
        ({"format": "delta", "options": 7}, "options", "options"),
        ({"format": "delta", "options": {"a": "${TW_NOWHERE}"}}, "options.a", "TW_NOWHERE"),
        ({"format": "delta", "schema": "user strin"}, "schema", "did you mean"),
        ({"kind": "spark", "format": "json", "path": "a"}, "schema", "schema"),
        ({"kind": "spark", "format": "ntriples", "path": "a"}, "format", "files"),
        ({"format": "delta", "servers": "a:1"}, "servers", ""),
    ],
)
def test_what_is_missing_is_said(given: dict[str, Any], field: str, fix: str) -> None:
    with pytest.raises(QueryError) as caught:
        stream_settings(given)
    assert caught.value.field == f"stream.{field}"
    assert fix in caught.value.fix


def test_options_are_not_shown() -> None:
    assert "hush" not in repr(SparkStream(format="jdbc", options={"password": "hush"}))
