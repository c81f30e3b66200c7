"""The streams of a job: their settings, what is kept on the way, and rows as triples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.job_files import job
from topwater.errors import QueryError
from topwater.jobs.job_file import Written
from topwater.jobs.job_streams import JobStream, stream_of
from topwater.jobs.sinks import Sink

MAPPED = {"subject": "user", "predicates": {":n": "n"}}


def rdf_stream(folder: Path, given: Any, sink: dict[str, Any] | None = None) -> JobStream:
    written = Written(folder / "job.toml", {"streams": {":S": given}})
    kept = Sink.of(sink or {}, folder)
    return stream_of(written, ("streams", ":S"), given, kept, rdf=True)


def test_what_is_taken_in_is_kept_next_to_the_checkpoint(tmp_path: Path) -> None:
    mqtt = 'stream={kind="mqtt", url="mqtt://x", topics=["t"], schema="user string, at timestamp"}'
    found = job(tmp_path, '[sink]\nkind = "json"\npath = "out"\n', mqtt)
    assert getattr(found.streams[""].settings, "spool", "") == str(
        tmp_path / "out" / "_checkpoint-spool"
    )
    with pytest.raises(QueryError, match=r"stream\.spool: is missing"):
        job(tmp_path, "", mqtt)


def test_of_several_streams_each_keeps_its_own(tmp_path: Path) -> None:
    given = {"kind": "mqtt", "url": "mqtt://x", "topics": ["t"], "format": "ntriples"}
    found = rdf_stream(tmp_path, given, {"kind": "json", "path": "out"})
    assert getattr(found.settings, "spool", "") == str(tmp_path / "out" / "_checkpoint-spool-S")


@pytest.mark.parametrize(
    ("names", "format_", "pattern"),
    [
        (["1.nt", "2.nt", "README.md"], "ntriples", "*.nt"),
        (["1.nq"], "nquads", "*.nq"),
        (["1.jsonl"], "jsonld", "*.jsonl"),
    ],
)
def test_files_of_rdf_tell_by_their_endings_what_they_are(
    tmp_path: Path, names: list[str], format_: str, pattern: str
) -> None:
    for name in names:
        (tmp_path / name).write_text("")
    found = rdf_stream(tmp_path, {"path": "."}).settings
    assert (found.kind, found.format, getattr(found, "pattern", "")) == ("files", format_, pattern)
    assert found.rdf


@pytest.mark.parametrize("names", [[], ["a.txt"], ["a.nt", "a.nq"]])
def test_a_folder_of_no_kind_or_of_two(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).write_text("")
    with pytest.raises(QueryError, match=r'streams\.":S"\.path: ') as caught:
        rdf_stream(tmp_path, {"path": "."})
    assert "*.nt" in caught.value.fix


@pytest.mark.parametrize(
    ("given", "setting"),
    [
        (7, ""),
        ({"path": "absent"}, ".path"),
        ({"kind": "files", "path": ".", "format": "json", "schema": "user string"}, ".mapped"),
        ({"path": ".", "format": "json", "schema": "user string", "mapped": {}}, ".mapped"),
        ({"path": ".", "format": "json", "schema": "user string",
          "mapped": {**MAPPED, "odd": 1}}, ".mapped.odd"),
        ({"path": ".", "format": "ntriples", "pth": 1}, ".pth"),
    ],
)  # fmt: skip
def test_what_can_not_be_read_is_told_with_its_place(
    tmp_path: Path, given: Any, setting: str
) -> None:
    with pytest.raises(QueryError) as caught:
        rdf_stream(tmp_path, given)
    assert f'streams.":S"{setting}: ' in caught.value.problem
    assert caught.value.fix


def test_rows_may_be_triples(tmp_path: Path) -> None:
    given = {"path": ".", "format": "json", "schema": "user string, n int", "mapped": MAPPED}
    found = rdf_stream(tmp_path, given)
    assert found.mapped == MAPPED
    assert found.columns == {"user": "string", "n": "int"}


def test_columns_that_are_known_before_spark_starts(tmp_path: Path) -> None:
    (tmp_path / "1.nt").write_text("")
    assert rdf_stream(tmp_path, {"path": "."}).columns == {"time": "timestamp", "value": "string"}
    (only,) = job(tmp_path).streams.values()
    assert only.columns == {"user": "string", "at": "timestamp"}
