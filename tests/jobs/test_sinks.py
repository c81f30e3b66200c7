"""Where answers go: settings, paths, checkpoints, and what Spark is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest

from tests.support.job_files import job
from topwater.errors import QueryError
from topwater.jobs.sinks import BATCH, Sink
from topwater.live.folder import EXPLAINED
from topwater.validation.checkpoints import SINK_LOG

if TYPE_CHECKING:
    from pathlib import Path


def test_paths_start_where_the_file_is(tmp_path: Path) -> None:
    sink = '[sink]\nkind = "parquet"\npath = "out"\n'
    found = job(tmp_path, sink)
    assert found.sink.path == str(tmp_path / "out")
    assert found.sink.checkpoint == str(tmp_path / "out" / "_checkpoint")
    assert not found.sink.started
    (tmp_path / "out" / "_checkpoint" / "offsets").mkdir(parents=True)
    (tmp_path / "out" / "_checkpoint" / "offsets" / "0").touch()
    assert job(tmp_path, sink).sink.started
    assert job(tmp_path, f'{sink}checkpoint = "c"\n').sink.checkpoint == str(tmp_path / "c")
    far = job(tmp_path, '[sink]\nkind = "parquet"\npath = "s3a://b/out"\n')
    assert far.sink.checkpoint == "s3a://b/out/_checkpoint"


def test_the_password_of_a_kafka_sink_is_never_seen_by_spark(tmp_path: Path) -> None:
    """Kafka's client looks it up: what Spark is told stands in plans and logs."""
    given = {"kafka.sasl.jaas.config": "password=${KAFKA_KEY}", "kafka.acks": "all"}
    sink = Sink.of(
        {"kind": "kafka", "servers": "localhost:9", "topic": "t", "options": given}, tmp_path
    )
    batch = MagicMock()
    sink.write(batch, 0)
    writer = batch.selectExpr.return_value.write.format.return_value.option.return_value
    told = writer.option.return_value.options.call_args.kwargs
    assert told["kafka.sasl.jaas.config"] == "password=${env:KAFKA_KEY}"
    assert told["kafka.config.providers"] == "env"
    assert told["kafka.acks"] == "all"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"kind": "jsn"}, "kind"),
        ({"kind": "json"}, "path"),
        ({"kind": "json", "path": 7}, "path"),
        ({"kind": "json", "path": "out", "topic": "t"}, "topic"),
        ({"path": "out"}, "path"),
        ({"kind": "kafka", "servers": "x:1"}, "topic"),
        ({"kind": "spark"}, "format"),
        ({"kind": "python"}, "object"),
        ({"kind": "python", "object": "absent.py:keep"}, "object"),
        ({"kind": "json", "path": "out", "options": 7}, "options"),
    ],
)
def test_settings_that_can_not_work(tmp_path: Path, given: dict[str, Any], field: str) -> None:
    with pytest.raises(QueryError) as caught:
        Sink.of(given, tmp_path)
    assert caught.value.field == field
    assert caught.value.fix


def test_the_answers_of_another_run_are_not_written_over(tmp_path: Path) -> None:
    given = {"kind": "json", "path": "out"}
    (tmp_path / "out" / f"{BATCH}=0").mkdir(parents=True)
    with pytest.raises(QueryError, match="holds the answers of another run"):
        Sink.of(given, tmp_path)
    (tmp_path / "out" / "_checkpoint" / "offsets").mkdir(parents=True)
    (tmp_path / "out" / "_checkpoint" / "offsets" / "0").touch()
    assert Sink.of(given, tmp_path).started


def test_an_older_checkpoint_does_not_write_over_what_is_newer(tmp_path: Path) -> None:
    """Micro-batches 1 and 2 would take the place of others of these numbers, and 5 would stay."""
    given = {"kind": "json", "path": "out", "checkpoint": "c"}
    (tmp_path / "out" / f"{BATCH}=5").mkdir(parents=True)
    (tmp_path / "c" / "offsets").mkdir(parents=True)
    for number in range(2):
        (tmp_path / "c" / "offsets" / str(number)).touch()
    with pytest.raises(QueryError, match=r"micro-batch 5, and .* only came to 1"):
        Sink.of(given, tmp_path)


def test_a_folder_that_start_wrote_is_not_mixed_with_a_jobs(tmp_path: Path) -> None:
    """Spark's readers go by the log in it, and would never see the job's files."""
    (tmp_path / "out" / SINK_LOG).mkdir(parents=True)
    with pytest.raises(QueryError, match="written by start"):
        Sink.of({"kind": "parquet", "path": "out"}, tmp_path)


def test_folders_of_other_machines_are_looked_at_when_spark_is_there(tmp_path: Path) -> None:
    """Before, a local folder with a checkpoint elsewhere could be written to only once."""
    (tmp_path / "out" / f"{BATCH}=0").mkdir(parents=True)
    sink = Sink.of({"kind": "json", "path": "out", "checkpoint": "s3a://b/c"}, tmp_path)
    there = {str(tmp_path / "out"): [f"{BATCH}=0"], "s3a://b/c/offsets": ["0"]}
    sink.require_continued(lambda folder: there.get(folder, []))
    with pytest.raises(QueryError, match="holds the answers of another run"):
        sink.require_continued(lambda folder: there[folder] if "s3a" not in folder else [])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "console"),
        ({"kind": "json", "path": "s3a://b/out"}, "json in s3a://b/out"),
        ({"kind": "kafka", "servers": "x:1", "topic": "t"}, "Kafka, topic t at x:1"),
        ({"kind": "spark", "format": "delta", "path": "s3a://b"}, "delta in s3a://b"),
        ({"kind": "spark", "format": "jdbc"}, "spark"),
    ],
)
def test_what_it_is_in_a_few_words(tmp_path: Path, given: dict[str, Any], told: str) -> None:
    assert str(Sink.of(given, tmp_path)) == told


def test_options_are_text_and_are_not_shown(tmp_path: Path) -> None:
    given = {"kind": "json", "path": "out", "options": {"a": True, "b": "hush", "c": 5}}
    sink = Sink.of(given, tmp_path)
    assert sink.options == {"a": "true", "b": "hush", "c": "5"}
    assert "hush" not in repr(sink)


def test_files_have_beside_them_what_they_answer(tmp_path: Path) -> None:
    Sink.of({"kind": "json", "path": "out"}, tmp_path).explain("the 3 best")
    assert (tmp_path / "out" / EXPLAINED).read_text() == "the 3 best"
    Sink.of({}, tmp_path).explain("the 3 best")
    Sink.of({"kind": "json", "path": "s3a://b/out"}, tmp_path).explain("the 3 best")
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_only_its_owner_may_read_what_is_left_beside_the_answers(tmp_path: Path) -> None:
    (tmp_path / EXPLAINED).write_text("of an older version, for all to read")
    Sink.of({"kind": "json", "path": str(tmp_path)}, tmp_path).explain("the 3 best")
    assert (tmp_path / EXPLAINED).read_text() == "the 3 best"
    assert (tmp_path / EXPLAINED).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("given", ["delta", "iceberg", "jdbc", "clickhouse"])
def test_a_format_of_spark_is_told_how_it_is_written(given: str, tmp_path: Path) -> None:
    with pytest.raises(QueryError) as caught:
        Sink.of({"kind": given, "path": "x"}, tmp_path)
    assert f'kind = "spark" and format = "{given}"' in caught.value.fix


def test_a_mistyped_kind_is_told_with_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="did you mean parquet"):
        Sink.of({"kind": "parqet", "path": "x"}, tmp_path)
