"""Where answers go: settings, paths, checkpoints, and what Spark is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
        ({"format": "a b", "path": "out"}, "format"),
        ({"format": "kafka", "checkpoint": "c"}, "format"),
        ({"format": "delta"}, "checkpoint"),
        ({"table": "answers"}, "checkpoint"),
        ({"table": "an swers", "checkpoint": "c"}, "table"),
        ({"table": "answers", "path": "out"}, "path"),
        ({"format": "delta", "path": "out", "partition_by": 7}, "partition_by"),
        ({"format": "jdbc", "checkpoint": "c", "options": {"a": "${TW_NOWHERE}"}}, "options.a"),
        ({"kind": "kafka", "servers": "x:1", "topic": "t", "partition_by": ["a"]}, "partition_by"),
        ({"trigger": "often"}, "trigger"),
        ({"give": "item"}, "give"),
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
    with pytest.raises(QueryError, match="written by Spark's own sink"):
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
        ({"format": "delta", "path": "s3a://b"}, "delta in s3a://b"),
        ({"format": "jdbc", "checkpoint": "c"}, "jdbc"),
        ({"table": "db.a", "checkpoint": "c"}, "the table db.a"),
        ({"table": "a", "format": "delta", "checkpoint": "c"}, "the table a, delta"),
    ],
)
def test_what_it_is_in_a_few_words(tmp_path: Path, given: dict[str, Any], told: str) -> None:
    assert str(Sink.of(given, tmp_path)) == told


@pytest.mark.parametrize(
    ("given", "promise", "streamed"),
    [
        ({}, "", False),
        ({"kind": "csv", "path": "a"}, "each window once", False),
        ({"format": "delta", "path": "a"}, "each window once", True),
        ({"format": "iceberg", "table": "a", "checkpoint": "c"}, "each window once", True),
        ({"format": "parquet", "path": "a"}, f"once, for readers that go by {SINK_LOG}", True),
        ({"table": "a", "checkpoint": "c"}, "once, if the table is of files, Delta", True),
        ({"format": "mine", "path": "a"}, "as Spark's sink for mine says", True),
        ({"format": "noop"}, "", True),
        ({"format": "jdbc", "checkpoint": "c"}, "at least once", False),
        ({"kind": "kafka", "servers": "x:1", "topic": "t"}, "at least once", True),
        ({"kind": "python", "object": "own.py:keep"}, "with the same number", False),
    ],
)
def test_how_often_a_window_is_written_is_said(
    tmp_path: Path, given: dict[str, Any], promise: str, streamed: bool
) -> None:
    (tmp_path / "own.py").write_text("def keep(batch, number): pass\n")
    sink = Sink.of(given, tmp_path)
    assert promise in sink.promise
    assert bool(promise) == bool(sink.promise)
    assert sink.streamed == streamed


def test_a_format_of_spark_is_not_mixed_with_files_of_ours(tmp_path: Path) -> None:
    """Spark's readers would see only what its log names."""
    (tmp_path / "out" / f"{BATCH}=0").mkdir(parents=True)
    with pytest.raises(QueryError, match='written with kind = "parquet"'):
        Sink.of({"format": "parquet", "path": "out"}, tmp_path)
    (tmp_path / "out" / SINK_LOG).mkdir()
    assert Sink.of({"format": "parquet", "path": "out"}, tmp_path).streamed


def test_a_run_that_ends_by_itself(tmp_path: Path) -> None:
    assert Sink.of({"trigger": "available_now"}, tmp_path).ends
    assert not Sink.of({"trigger": "5 s"}, tmp_path).ends


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
    assert f'write format = "{given}" in place of kind' in caught.value.fix


def test_a_mistyped_kind_is_told_with_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="did you mean parquet"):
        Sink.of({"kind": "parqet", "path": "x"}, tmp_path)
