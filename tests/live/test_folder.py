"""A folder of answers: what is told of it, and what is not."""

from __future__ import annotations

import gzip
import os
import time
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.support.live_sink import Sink, rows_of
from tests.support.timing import within
from topwater.errors import EnvironmentProblem
from topwater.live.folder import PATIENCE, Folder


def firsts(folder: Folder) -> list[str]:
    """The best key of each window that is new."""
    return [each["rows"][0]["label"] for each in folder.news()]


@pytest.fixture
def sink(tmp_path: Path) -> Sink:
    return Sink(tmp_path / "answers")


def made_old(path: Path) -> None:
    long_ago = time.time() - PATIENCE / 1_000 - 60
    os.utime(path, (long_ago, long_ago))


@pytest.mark.parametrize("form", ["parquet", "json"])
def test_what_was_committed_since(tmp_path: Path, form: Literal["parquet", "json"]) -> None:
    sink = Sink(tmp_path / "a folder", form)
    folder = Folder(sink.folder)
    assert list(folder.news()) == []
    assert "is not there yet" in folder.state()
    sink.commit(0, "ann", "bob")
    (record,) = folder.news()
    assert [row["score"] for row in record["rows"]] == [100.0, 50.0]
    assert record["window"]["end"] - record["window"]["start"] == 60_000
    assert abs(record["at"] / 1_000 - time.time()) < 60
    assert list(folder.news()) == []
    sink.commit(1, "cy")
    assert firsts(folder) == ["cy"]


def test_what_is_not_committed_is_not_told(sink: Sink) -> None:
    sink.log()  # the log is there before the first file
    folder = Folder(sink.folder)
    path = sink.write(rows_of(0, "half"))
    assert firsts(folder) == []
    assert "has not answered a window yet" in folder.state()
    sink.commit(0, "ann")
    assert firsts(folder) == ["ann"]
    sink.log(path)
    assert firsts(folder) == ["half"]


def test_compacted_logs_tell_nothing_twice(sink: Sink) -> None:
    folder = Folder(sink.folder)
    for each in range(35):
        sink.commit(each, f"k{each}")
        assert firsts(folder) == [f"k{each}"]


def test_a_watcher_that_slept_gets_what_it_missed(sink: Sink) -> None:
    folder = Folder(sink.folder)
    sink.commit(0, "k0")
    assert firsts(folder) == ["k0"]
    for each in range(1, 25):
        sink.commit(each, f"k{each}")
    for each in range(19):  # Spark removes what a compacted log names too
        (sink.folder / "_spark_metadata" / str(each)).unlink(missing_ok=True)
    assert firsts(folder) == [f"k{each}" for each in range(1, 25)]


def test_batches_without_files(sink: Sink) -> None:
    folder = Folder(sink.folder)
    for each in range(25):
        sink.commit(each, f"k{each}") if each % 3 == 0 else sink.log()
    assert firsts(folder) == [f"k{each}" for each in range(0, 25, 3)]
    sink.log()
    assert firsts(folder) == []


def test_of_thousands_of_files_only_the_newest_are_read(tmp_path: Path) -> None:
    sink = Sink(tmp_path / "answers", "json")
    for each in range(2_003):
        sink.log(sink.write(rows_of(each, f"k{each}")))
    folder = Folder(sink.folder, most=50)
    with within(1):
        assert firsts(folder) == [f"k{each}" for each in range(1_953, 2_003)]
    sink.commit(2_003, "next")
    assert firsts(folder) == ["next"]


def test_a_folder_that_is_emptied_and_filled_anew(sink: Sink) -> None:
    folder = Folder(sink.folder)
    for each in range(3):
        sink.commit(each, f"k{each}")
    assert firsts(folder) == ["k0", "k1", "k2"]
    sink.clear()
    assert firsts(folder) == []
    sink.commit(0, "again")
    assert firsts(folder) == ["again"]


def test_a_window_in_several_files_of_a_batch(sink: Sink) -> None:
    first, second = rows_of(0, "ann", "bob")
    name = sink.write([first])
    other = name.with_name(name.name.replace("part-00000", "part-00001"))
    sink.write([second]).rename(other)
    sink.log(name, other)
    (record,) = Folder(sink.folder).news()
    assert [row["label"] for row in record["rows"]] == ["ann", "bob"]


def test_a_folder_divided_by_columns(sink: Sink) -> None:
    sink.log(
        sink.write(rows_of(0, "ann"), "group=north west"), sink.write(rows_of(0, "bob"), "group=s")
    )
    assert [each["group"] for each in Folder(sink.folder).news()] == ["north west", "s"]


def test_a_folder_that_was_moved(sink: Sink, tmp_path: Path) -> None:
    sink.commit(0, "ann")
    moved = sink.folder.rename(tmp_path / "elsewhere")
    assert firsts(Folder(moved)) == ["ann"]


def test_nothing_outside_the_folder_is_read(sink: Sink, tmp_path: Path) -> None:
    secret = Sink(tmp_path / "secret").write(rows_of(0, "secret"))
    sink.commit(0, "ann")
    sink.log(secret)
    folder = Folder(sink.folder)
    assert firsts(folder) == ["ann"]
    assert folder.passed_over == [f"{secret.name} is gone"]


def test_a_file_that_was_removed(sink: Sink) -> None:
    sink.commit(0, "ann").unlink()
    sink.commit(1, "bob")
    folder = Folder(sink.folder)
    assert firsts(folder) == ["bob"]
    (told,) = folder.passed_over
    assert told.endswith("is gone")


def test_without_a_log_a_half_written_file_is_waited_for(sink: Sink) -> None:
    path = sink.write(rows_of(0, "ann"))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    folder = Folder(sink.folder)
    later = sink.write(rows_of(1, "bob"))
    assert later.stat().st_mtime_ns >= path.stat().st_mtime_ns
    assert firsts(folder) == []
    path.write_bytes(whole)
    assert sorted(firsts(folder)) == ["ann", "bob"]
    assert firsts(folder) == []


def test_a_file_that_stays_unreadable_is_passed_over_and_said(sink: Sink) -> None:
    sink.folder.mkdir()
    broken = sink.folder / "part-0.parquet"
    broken.write_bytes(b"PAR1 and no more")
    made_old(broken)
    sink.write(rows_of(1, "bob"))
    folder = Folder(sink.folder)
    assert firsts(folder) == ["bob"]
    assert "part-0.parquet can't be read" in folder.passed_over[0]


def test_without_a_log_old_files_are_not_taken_for_new_ones(sink: Sink) -> None:
    for each in range(5):
        sink.write(rows_of(each, f"k{each}"))
    folder = Folder(sink.folder, most=2)
    assert firsts(folder) == ["k3", "k4"]
    assert firsts(folder) == []
    sink.write(rows_of(5, "k5"))
    assert firsts(folder) == ["k5"]


def test_lines_that_are_no_rows_are_passed_over(sink: Sink) -> None:
    sink.write(rows_of(0, "ann"))
    other = sink.folder / "part-0.json"
    other.write_text("[1, 2]\n", encoding="utf-8")
    made_old(other)
    folder = Folder(sink.folder)
    assert firsts(folder) == ["ann"]
    assert folder.passed_over == ["part-0.json can't be read: it holds something other than rows"]


def test_what_batch_jobs_leave_beside_their_files(sink: Sink) -> None:
    sink.write(rows_of(0, "ann"))
    sink.write(rows_of(1, "bob"), "_temporary/0/task")
    for name in ("_SUCCESS", ".part-0.parquet.crc", "notes.txt"):
        (sink.folder / name).write_text("?", encoding="utf-8")
    assert firsts(Folder(sink.folder)) == ["ann"]


def test_a_micro_batch_of_a_job_is_told_when_all_its_files_are_there(sink: Sink) -> None:
    """Spark moves the files of a micro-batch out of ``_temporary`` one by one."""
    first = sink.write(rows_of(0, "ann", group="north"), "batch=7")
    other = sink.write(rows_of(0, "bob", group="south"), "batch=7/_temporary/0")
    folder = Folder(sink.folder)
    assert firsts(folder) == []
    other.rename(first.parent / first.name.replace("part-00000", "part-00001"))
    (first.parent / "_temporary" / "0").rmdir()
    (first.parent / "_temporary").rmdir()
    assert sorted(firsts(folder)) == ["ann", "bob"]


def test_micro_batches_of_a_job_come_in_their_order_whenever_they_were_copied(sink: Sink) -> None:
    for number in (10, 9, 100):
        sink.write(rows_of(number, f"k{number}"), f"batch={number}")
    assert firsts(Folder(sink.folder)) == ["k9", "k10", "k100"]


def test_a_micro_batch_that_runs_again_after_a_crash_is_told_again(sink: Sink) -> None:
    first = sink.write(rows_of(0, "ann"), "batch=0")
    folder = Folder(sink.folder)
    assert firsts(folder) == ["ann"]
    first.unlink()
    first.parent.rmdir()
    sink.write(rows_of(0, "again"), "batch=0")
    assert firsts(folder) == ["again"]


@pytest.mark.parametrize("logged", [True, False])
def test_a_look_costs_what_is_new_and_not_what_is_there(
    tmp_path: Path, logged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, all names were read and all files asked for their time, twice a second."""
    sink = Sink(tmp_path / "answers", "json")

    def answered(minute: int) -> None:
        if logged:
            sink.commit(minute, f"k{minute}")
        else:
            sink.write(rows_of(minute, f"k{minute}"), f"batch={minute}")

    for each in range(2_000):
        answered(each)
    folder = Folder(sink.folder, most=5)
    assert firsts(folder) == [f"k{each}" for each in range(1_995, 2_000)]
    assert firsts(folder) == []
    asked: list[object] = []

    def counted(real: Any) -> Any:
        def asks(*place: Any, **more: Any) -> Any:
            asked.append(place)
            return real(*place, **more)

        return asks

    for name in ("stat", "scandir"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    for each in range(2_000, 2_010):
        assert firsts(folder) == []
        answered(each)
        asked.clear()
        assert firsts(folder) == [f"k{each}"]
        assert 0 < len(asked) < 40


def test_compressed_lines(tmp_path: Path) -> None:
    sink = Sink(tmp_path / "answers", "json")
    plain = sink.write(rows_of(0, "ann"))
    packed = gzip.compress(plain.read_bytes())
    plain.with_suffix(".json.gz").write_bytes(packed)
    plain.unlink()
    assert firsts(Folder(sink.folder)) == ["ann"]


def test_a_log_that_is_only_half_there(sink: Sink) -> None:
    sink.commit(0, "ann")
    log = sink.folder / "_spark_metadata" / "0"
    whole = log.read_bytes()
    log.write_bytes(whole[:-9])
    folder = Folder(sink.folder)
    assert firsts(folder) == []
    log.write_bytes(whole)
    assert firsts(folder) == ["ann"]


def test_a_folder_that_may_not_be_read(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    sink.commit(0, "ann")
    monkeypatch.setattr(Path, "iterdir", refused)  # root may read all
    with pytest.raises(EnvironmentProblem, match="can't be read: Permission denied"):
        list(Folder(sink.folder).news())


def test_files_that_are_not_answers(sink: Sink) -> None:
    sink.log(sink.write([{"a": 1}]))
    folder = Folder(sink.folder)
    assert list(folder.news()) == []
    (word,) = folder.passed_over
    assert "not answers" in word
