"""Recorded files in portions: positions, times, and reading the same again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from topwater.streams import ReplayStream, recordings
from topwater.streams.recordings import UNKNOWN, Recording, Stretch

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = "user string, at bigint"


def recording(path: Path, **more: Any) -> Recording:
    told: dict[str, Any] = {"schema": SCHEMA, "time": "at", "path": str(path), **more}
    return Recording(ReplayStream(**told))


def times(found: Recording, file: str) -> list[int]:
    return [int(each) for each in found.portion(file, 0).times]


@pytest.mark.parametrize(
    ("kind", "more", "text"),
    [
        ("json", {}, '{"at": 1000}\n{"at": "x"}\n[1]\n{"at": 2000}'),
        ("json", {"schema": "at timestamp"}, '{"at": "1970-01-01T00:00:01Z"}\n{}\n\n{"at": 2}\n'),
        ("csv", {}, 'user,at\na,1000\n"b,b",\nc\nd,2000\n'),
        (
            "csv",
            {"header": False, "schema": "at timestamp"},
            "1970-01-01 00:00:01\n\n?\n1970-01-01T00:00:02Z",
        ),
        (
            "ntriples",
            {"schema": "", "time": "time"},
            "1000\t<a> .\nno\n# a\n1970-01-01T00:00:02Z\t.",
        ),
        (
            "jsonld",
            {"schema": "", "time": "time"},
            '{"time": 1000}\n{}\n3\n{"time": "1970-01-01T00:00:02"}',
        ),
    ],
)
def test_times_of_text(tmp_path: Path, kind: str, more: dict[str, Any], text: str) -> None:
    (tmp_path / "a").write_text(text)
    found = recording(tmp_path / "a", format=kind, **more)
    assert times(found, "a") == [1_000, UNKNOWN, UNKNOWN, 2_000]
    ends = found.portion("a", 0).ends.tolist()
    assert ends[-1] == found.size("a")
    body = (
        text.splitlines()[1:] if kind == "csv" and more.get("header", True) else text.splitlines()
    )
    for first in range(4):
        start = ends[first - 1] if first else 0
        (lines,) = found.lines(Stretch("a", start, ends[2]))
        assert [line.decode() for line in lines] == body[first:3]


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("json", "[" * 100_000),
        ("json", '{"at": 1e30}'),
        ("json", f'{{"at": {2**53}}}'),
        ("json", '{"at": Infinity}'),
        ("json", f'{{"at": {"9" * 5_000}}}'),
        ("csv", f"{'x' * 200_000},1"),  # more than Python's csv takes in one field
        ("csv", f"a,{'9' * 30}"),
        ("csv", "a,²"),
    ],
)
def test_a_line_that_no_parser_likes_has_no_time(tmp_path: Path, kind: str, line: str) -> None:
    (tmp_path / "a").write_text(line, encoding="utf-8")
    assert times(recording(tmp_path / "a", format=kind, **_headless(kind)), "a") == [UNKNOWN]


def _headless(kind: str) -> dict[str, Any]:
    return {"header": False} if kind == "csv" else {}


@pytest.mark.parametrize("kind", [pa.int64(), pa.timestamp("ns"), pa.timestamp("us", "UTC")])
def test_times_of_parquet(
    tmp_path: Path, kind: pa.DataType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "ROWS_AT_ONCE", 7)
    unit = {"timestamp[ns]": 10**6, "int64": 1}.get(str(kind), 1000)
    at = pa.array([n * unit for n in range(100)], pa.int64()).cast(kind)
    pq.write_table(
        pa.table({"user": [str(n) for n in range(100)], "at": at}),
        tmp_path / "a",
        row_group_size=23,
    )
    found = recording(tmp_path / "a", format="parquet", schema="")
    read: list[int] = []
    while len((portion := found.portion("a", len(read))).ends):
        assert portion.ends[-1] == len(read) + len(portion.times)
        read += portion.times.tolist()
    assert read == [*range(100)]
    schema = pa.schema([("user", pa.string())])
    for start, end in [(0, 100), (22, 24), (23, 46), (50, 51), (99, 100), (5, 5)]:
        users = [
            user
            for batch in found.tables(Stretch("a", start, end), schema)
            for user in batch["user"].to_pylist()
        ]
        assert users == [str(n) for n in range(start, end)]


def test_files_follow_their_names(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "_new.jsonl", ".hidden", "c.txt"):
        (tmp_path / name).write_text(json.dumps({"at": 1}))
    assert recording(tmp_path).files() == ["a.jsonl", "b.jsonl", "c.txt"]
    assert recording(tmp_path, pattern="*.jsonl").files() == ["a.jsonl", "b.jsonl"]


def test_a_long_file_is_read_in_portions(tmp_path: Path) -> None:
    lines = recordings.ROWS_AT_ONCE + 10
    (tmp_path / "a").write_text("".join(f'{{"at": {n}}}\n' for n in range(lines)))
    found = recording(tmp_path / "a")
    first = found.portion("a", 0)
    assert len(first.ends) == recordings.ROWS_AT_ONCE
    rest = found.portion("a", int(first.ends[-1]))
    assert rest.times.tolist() == [*range(recordings.ROWS_AT_ONCE, lines)]
    parts = [len(part) for part in found.lines(Stretch("a", 0, found.size("a")))]
    assert parts == [recordings.ROWS_AT_ONCE, 10]
