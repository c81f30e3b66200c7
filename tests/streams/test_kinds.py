"""Streams from files and from a user's own code; and all kinds by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from topwater.errors import QueryError
from topwater.streams.kinds import KINDS, FilesStream, PythonStream, ReplayStream

SCHEMA = "user string, at timestamp"


def test_every_kind_is_found_by_its_name() -> None:
    assert set(KINDS) == {"files", "kafka", "mqtt", "socket", "replay", "python", "spark"}
    assert all(made.kind == name for name, made in KINDS.items())


def test_files_may_be_here_or_anywhere_that_spark_reads(tmp_path: Path) -> None:
    assert FilesStream(path=str(tmp_path), schema=SCHEMA).bounded
    assert FilesStream(path="s3a://bucket/in", schema=SCHEMA).pattern == ""
    with pytest.raises(QueryError, match="absent") as caught:
        FilesStream(path=str(tmp_path / "absent"), schema=SCHEMA)
    assert caught.value.field == "path"


@pytest.mark.parametrize(("speed", "pace"), [(2, 2.0), (0.5, 0.5), (0, 0.0), ("max", 0.0)])
def test_the_pace_of_a_recording(tmp_path: Path, speed: Any, pace: float) -> None:
    made = ReplayStream(path=str(tmp_path), schema=SCHEMA, time="at", speed=speed)
    assert made.pace == pace


@pytest.mark.parametrize(
    ("schema", "time"),
    [("at bigint", "at"), ("at long", "at"), ("at timestamp_ltz, b int", "at")],
)
def test_the_time_of_a_recording_is_a_column(tmp_path: Path, schema: str, time: str) -> None:
    assert ReplayStream(path=str(tmp_path), schema=schema, time=time).time == time


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"time": "when"}, "time"),
        ({"time": "user"}, "time"),
        ({"time": "at", "speed": -1}, "speed"),
        ({"time": "at", "speed": "fast"}, "speed"),
        ({"time": "at", "rows_per_batch": 0}, "rows_per_batch"),
        ({"time": "at", "shift_to_now": 1}, "shift_to_now"),
        ({"time": "at", "header": "yes"}, "header"),
        ({"time": "at", "pattern": ""}, "pattern"),
    ],
)
def test_recordings_that_can_not_be_played(
    tmp_path: Path, settings: dict[str, Any], field: str
) -> None:
    with pytest.raises(QueryError) as caught:
        ReplayStream(path=str(tmp_path), schema=SCHEMA, **settings)
    assert caught.value.field == field


def test_code_of_ones_own_is_in_a_file_or_in_a_module(tmp_path: Path) -> None:
    (tmp_path / "mine.py").touch()
    source = f"{tmp_path}/mine.py:Mine"
    assert PythonStream(source=source).place == (f"{tmp_path}/mine.py", "Mine")
    assert PythonStream(source="json.decoder:JSONDecoder").place[0] == "json.decoder"
    assert "hush" not in repr(PythonStream(source=source, options={"password": "hush"}))
    for wrong in ("absent.py:Mine", "no.such.module:Mine", "json", ":Mine", "json:a b"):
        with pytest.raises(QueryError) as caught:
            PythonStream(source=wrong)
        assert caught.value.field == "source"


def test_a_data_source_tells_its_own_columns_unless_its_value_is_read() -> None:
    source = "json.decoder:JSONDecoder"
    assert not PythonStream(source=source).needs_schema
    assert PythonStream(source=source, format="ntriples").rdf
    with pytest.raises(QueryError) as caught:
        PythonStream(source=source, format="json")
    assert caught.value.field == "schema"
