"""Jobs: what of the parts belongs to the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.job_files import job
from topwater.errors import QueryError
from topwater.jobs import read_job

if TYPE_CHECKING:
    from pathlib import Path


def test_kafka_brings_its_package(tmp_path: Path) -> None:
    kafka = 'stream={kind="kafka", servers="x:1", topics=["t"], schema="user string, at timestamp"}'
    found = job(tmp_path, '[sink]\nkind = "kafka"\nservers = "x:1"\ntopic = "u"\n', kafka)
    (package,) = found.packages
    assert package.startswith("org.apache.spark:spark-sql-kafka")


def test_each_package_is_named_once(tmp_path: Path) -> None:
    found = job(tmp_path, "", 'spark.packages=["a:b:1", "a:b:1", "c:d:2"]')
    assert found.packages == ("a:b:1", "c:d:2")


def test_what_a_job_says_of_itself(tmp_path: Path) -> None:
    plain = job(tmp_path)
    assert (plain.name, plain.needs_example, plain.wants_live) == ("job", False, False)
    assert job(tmp_path, "[live]\n").wants_live
    source = '[source]\nurl = "example:followers"\n'
    asking = job(tmp_path, source, "query.refresh=f", 'query.score="n * f"')
    assert asking.needs_example
    assert "example:followers" not in repr(asking)


def test_late_rows_go_with_both_only(tmp_path: Path) -> None:
    assert job(tmp_path, '[sink]\ngive = "items"\n').sink.give == "items"
    with pytest.raises(QueryError, match=r"sink\.give: what came too late"):
        job(tmp_path, '[sink]\ngive = "items"\n', "spark.late_rows=true")


def test_a_query_in_rspql_has_no_late_rows_and_one_form_of_rows(tmp_path: Path) -> None:
    (tmp_path / "1.nt").write_text("")
    (tmp_path / "q.rq").write_text(
        "SELECT ?s FROM NAMED WINDOW <x:w> ON <x:s> [RANGE PT9M] "
        "WHERE { WINDOW <x:w> { ?s <x:v> ?v } } ORDER BY DESC(?v) LIMIT 3"
    )
    streams = [f"<x:s>={tmp_path}"]
    assert read_job(tmp_path / "q.rq", streams=streams).plan is not None
    with pytest.raises(QueryError, match=r"spark\.late_rows: "):
        read_job(tmp_path / "q.rq", streams=streams, settings=["spark.late_rows=true"])
    with pytest.raises(QueryError, match=r"sink\.give: a query in RSP-QL"):
        read_job(tmp_path / "q.rq", streams=streams, settings=['sink.give="windows"'])
