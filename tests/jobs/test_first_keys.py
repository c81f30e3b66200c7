"""The first keys of a recorded stream, read without Spark."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.job_files import job
from topwater.cli.starter import start_project
from topwater.jobs import read_job
from topwater.jobs.first_keys import MOST, first_keys

if TYPE_CHECKING:
    from pathlib import Path


def test_lines_of_json(tmp_path: Path) -> None:
    made = job(tmp_path)
    lines = [f'{{"user": "u{number // 2}", "at": 0}}' for number in range(50)]
    (tmp_path / "in" / "a.jsonl").write_text("\n".join(lines))
    (tmp_path / "in" / "_hidden.jsonl").write_text('{"user": "x"}')
    assert first_keys(made) == [f"u{number}" for number in range(MOST)]


@pytest.mark.parametrize("header", [True, False])
def test_csv_by_the_places_of_the_schema(tmp_path: Path, header: bool) -> None:
    schema = 'schema="at timestamp, user bigint"'
    given = f'kind="files", path="in", format="csv", header={str(header).lower()}, {schema}'
    made = job(tmp_path, "", f"stream={{{given}}}")
    head = "at,user\n" if header else ""
    (tmp_path / "in" / "a.csv").write_text(f"{head}2026-01-01,7\n2026-01-01,8\n")
    assert first_keys(made) == [7, 8]


def test_parquet(tmp_path: Path) -> None:
    schema = 'schema="user string, at timestamp"'
    made = job(tmp_path, "", f'stream={{kind="files", path="in", format="parquet", {schema}}}')
    pq.write_table(pa.table({"user": ["ann", None, "bob"]}), tmp_path / "in" / "a.parquet")
    assert first_keys(made) == ["ann", "bob"]


def test_a_project_of_ours(tmp_path: Path) -> None:
    start_project(tmp_path / "rows")
    assert all(isinstance(key, int) for key in first_keys(read_job(tmp_path / "rows/job.toml")))
    start_project(tmp_path / "rdf", rspql=True)
    found = first_keys(read_job(tmp_path / "rdf" / "job.toml"))
    assert len(found) == MOST
    assert all(str(key).startswith("http://example.org/user/") for key in found)


@pytest.mark.parametrize("text", ["", "no json", '{"other": 1}', "[1]", '{"user": null}'])
def test_what_can_not_be_read_tells_no_key(tmp_path: Path, text: str) -> None:
    made = job(tmp_path)
    assert first_keys(made) == []
    (tmp_path / "in" / "a.jsonl").write_text(text)
    assert first_keys(made) == []


def test_a_stream_that_is_not_recorded_tells_none(tmp_path: Path) -> None:
    schema = 'schema="user string, at timestamp"'
    stream = f'stream={{kind="kafka", servers="h:1", topics=["t"], {schema}}}'
    assert first_keys(job(tmp_path, "", stream)) == []


def test_a_line_that_can_not_be_read_hides_no_other(tmp_path: Path) -> None:
    made = job(tmp_path)
    lines = ["not JSON", "[" * 100_000, "7", '{"at": 0}', '{"user": "ann", "at": 0}']
    (tmp_path / "in" / "a.jsonl").write_text("\n".join(lines))
    assert first_keys(made) == ["ann"]


def test_a_cell_too_large_for_csv_ends_nothing(tmp_path: Path) -> None:
    schema = 'schema="at timestamp, user bigint"'
    made = job(tmp_path, "", f'stream={{kind="files", path="in", format="csv", {schema}}}')
    (tmp_path / "in" / "a.csv").write_text(f'"{"x" * 200_000}",7\n')
    assert first_keys(made) == []


def test_keys_of_several_columns(tmp_path: Path) -> None:
    schema = 'schema="user string, at timestamp, day date"'
    stream = f'stream={{kind="files", path="in", format="json", {schema}}}'
    made = job(tmp_path, "", 'query.key=["user", "day"]', stream)
    lines = ['{"user": "ann", "day": "2026-11-18"}', '{"user": "bob"}', '{"user": "a", "day": "x"}']
    (tmp_path / "in" / "a.jsonl").write_text("\n".join(lines))
    assert first_keys(made) == [("ann", date(2026, 11, 18))]
