"""Parquet files reduced while they are read: each file once, in order, whatever comes when."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles

from topwater import QueryError, TopKMonitor, TopKQuery, run, sliding
from topwater.errors import BatchError, EnvironmentProblem
from topwater.model import Counts
from topwater.monitor.reduction import PartialBatch
from topwater.spark import Files, answers_from, topk
from topwater.spark import file_source as source
from topwater.spark.file_source import FilesReader, OneFile, active_session
from topwater_lab.bids.generator import SCHEMA, Bids

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from topwater import Answer

BIDS = Bids(rows_per_second=50, seconds=120, seed=9, disorder_ms=1_500, lots=80)
QUERY = TopKQuery(
    key="key",
    time="time",
    score="value",
    k=4,
    window=sliding("30s", "10s", start=BIDS.origin_ms),
    lateness=BIDS.disorder_ms,
)
SECONDS = 1_700_000_000


def write(folder: Path, number: int, batch: pa.RecordBatch, changed: float | None = None) -> str:
    """A file that was last changed ``changed`` seconds after the first, by default ``number``."""
    folder.mkdir(exist_ok=True)
    path = folder / f"part-{number:03}.parquet"
    table = pa.Table.from_batches([batch])
    pq.write_table(table.append_column("unused", table.column("key")), path)
    at = SECONDS + (number if changed is None else changed)
    os.utime(path, (at, at))
    return path.name


def tenth(number: int) -> pa.RecordBatch:
    """A part of the stream: ten of them are all."""
    size = len(BIDS) // 10
    return BIDS.batch(number * size, (number + 1) * size)


def collect(
    rows: DataFrame, query: TopKQuery, checkpoint: str, sink: str
) -> tuple[list[Answer], int]:
    """Run until the input ends; all answers in the sink, and the micro-batches of this run."""
    running = (
        rows.writeStream.format("parquet")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start(sink)
    )
    running.awaitTermination()
    found = answers_from(rows.sparkSession.read.parquet(sink).toArrow(), query)
    return found, sum(progress.numInputRows > 0 for progress in running.recentProgress)


def essence(answers: list[Answer]) -> list[tuple[Any, ...]]:
    return [(answer.window, answer.group, answer.rows, answer.exact) for answer in answers]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_files_equal_the_local_host_while_more_files_come(checkpoint: str, tmp_path: Path) -> None:
    folder, sink = tmp_path / "in", str(tmp_path / "sink")
    for number in range(5):
        write(folder, number, tenth(number))
    events = Files(folder, max_files_per_trigger=2)
    _, batches = collect(topk(events, QUERY, give="both"), QUERY, checkpoint, sink)
    assert batches == 3
    # One file comes with the date of one that was read already.
    write(folder, 5, tenth(5), changed=3)
    for number in range(6, 10):
        write(folder, number, tenth(number))
    again = Files(f"file:{folder}", max_files_per_trigger=3)
    got, batches = collect(topk(again, QUERY, give="both"), QUERY, checkpoint, sink)
    assert batches == 2
    local = list(run(QUERY, [tenth(number) for number in range(10)]))
    assert len(got) == 9
    assert essence(got) == essence(local[:9])
    assert sum(answer.counts.events for answer in got) == len(BIDS)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("change", "shards"),
    [
        ({"take": {"n": "count", "most": "max(value)"}, "score": "n + most / 1e6"}, 2),
        ({"group_by": "unused"}, 1),
    ],
)
def test_files_equal_the_same_files_read_by_spark(
    spark: SparkSession, tmp_path: Path, change: dict[str, Any], shards: int
) -> None:
    query = replace(QUERY, **change)
    folder = tmp_path / "in"
    for number in range(4):
        write(folder, number, tenth(number))
    schema = "time timestamp, key string, value double, unused string"
    options = {"maxFilesPerTrigger": 2}
    streams: dict[str, DataFrame | Files] = {
        "theirs": spark.readStream.schema(schema).options(**options).parquet(str(folder)),
        "ours": Files(folder, max_files_per_trigger=2),
    }
    found = {}
    for name, events in streams.items():
        rows = topk(events, query, shards=shards, give="both")
        found[name], _ = collect(
            rows, query, str(tmp_path / f"{name}-checkpoint"), str(tmp_path / name)
        )
    assert len(found["ours"]) >= 2
    assert found["ours"] == found["theirs"]


def run_keys(*batches: pa.RecordBatch) -> list[Any]:
    """The keys of the first answer, in process."""
    return next(iter(run(QUERY, list(batches)))).keys


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_broken_file_is_named(checkpoint: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write(folder, 0, tenth(0))
    (folder / "part-001.parquet").write_bytes(b"PAR1 half a file")
    rows = topk(Files(folder), QUERY, give="both")
    with pytest.raises(StreamingQueryException, match=r"part-001.parquet can't be read"):
        collect(rows, QUERY, checkpoint, str(tmp_path / "sink"))
    # The micro-batch has named its files: without the bad one it goes on only if told to.
    (folder / "part-001.parquet").unlink()
    write(folder, 2, tenth(9))
    skipping = topk(Files(folder, unreadable="skip"), QUERY, give="both")
    got, _ = collect(skipping, QUERY, checkpoint, str(tmp_path / "sink"))
    assert sum(answer.counts.skipped_files for answer in got) == 1
    assert got[0].keys == run_keys(tenth(0), tenth(9))


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"key": "who"}, "the key column 'who' is not there"),
        ({"key": "value"}, "the key column 'value' is of type double"),
        ({"score": "key"}, "the score column 'key' is of type string"),
    ],
)
def test_columns_that_do_not_fit_are_named_before_the_stream_starts(
    tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    write(tmp_path, 0, tenth(0))
    with pytest.raises(QueryError) as caught:
        topk(Files(tmp_path), replace(QUERY, **change))
    assert problem in caught.value.problem
    with pytest.raises(QueryError):
        topk(Files(tmp_path / "empty", schema=SCHEMA), replace(QUERY, **change))


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_folder_without_files_needs_a_schema(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="columns are unknown"):
        topk(Files(tmp_path), QUERY)
    with pytest.raises(QueryError, match="can't be listed"):
        topk(Files(tmp_path / "nowhere"), QUERY)
    assert topk(Files(tmp_path, schema=SCHEMA), QUERY).isStreaming


def test_settings_that_can_not_work() -> None:
    with pytest.raises(QueryError, match="max_files_per_trigger"):
        Files("in", max_files_per_trigger=0)


def test_files_need_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    with pytest.raises(EnvironmentProblem, match="no active Spark session"):
        active_session()


def reader(folder: Path, most: int = 0) -> FilesReader:
    return FilesReader(str(folder), "*.parquet", most, QUERY.to_json(), shards=2)


def taken(reader: FilesReader, start: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """The files of the next micro-batch, and its offset."""
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    parts = reader.partitions(start, end)
    return [part.file for part in parts if isinstance(part, OneFile)], end


def test_files_come_oldest_first_then_by_name(tmp_path: Path) -> None:
    for number, changed in ((3, 1), (1, 2), (2, 2), (0, 3)):
        write(tmp_path, number, tenth(0), changed)
    for hidden in ("_part-9.parquet", ".part-9.parquet", "part-9.csv"):
        (tmp_path / hidden).write_bytes(b"")
    (tmp_path / "folder.parquet").mkdir()
    limited = reader(tmp_path, most=3)
    first, offset = taken(limited, limited.initialOffset())
    assert first == ["part-003.parquet", "part-001.parquet", "part-002.parquet"]
    second, end = taken(limited, offset)
    assert second == ["part-000.parquet"]
    assert taken(limited, end) == ([], end)


def test_a_micro_batch_that_runs_again_reads_the_same_files(tmp_path: Path) -> None:
    names = [write(tmp_path, number, tenth(0)) for number in range(2)]
    first = reader(tmp_path)
    start = first.initialOffset()
    _, end = taken(first, start)
    write(tmp_path, 2, tenth(0), changed=0.5)
    assert reader(tmp_path).partitions(start, end) == [
        OneFile(task, name) for task, name in enumerate(names)
    ]
    assert taken(reader(tmp_path), end)[0] == ["part-002.parquet"]


def test_files_that_come_after_the_start_are_for_the_next_run(tmp_path: Path) -> None:
    write(tmp_path, 0, tenth(0))
    now = reader(tmp_path, most=1)
    now.prepareForTriggerAvailableNow()
    write(tmp_path, 1, tenth(0))
    first, end = taken(now, now.initialOffset())
    assert first == ["part-000.parquet"]
    assert taken(now, end) == ([], end)
    assert taken(reader(tmp_path), end)[0] == ["part-001.parquet"]


def test_offsets_stay_small_and_lose_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dates repeat, and each file but the first comes when newer ones were read already."""
    monkeypatch.setattr(source, "REMEMBERED", 8)
    limited = reader(tmp_path, most=2)
    offset, seen = limited.initialOffset(), []
    for number in range(0, 40, 2):
        for each, changed in ((number, number + 3), (number + 1, number // 4 * 4)):
            write(tmp_path, each, tenth(0), changed)
        files, offset = taken(limited, offset)
        seen += files
        assert len(offset["recent"]) <= 8
    assert taken(limited, offset)[0] == []
    assert sorted(seen) == sorted(path.name for path in tmp_path.iterdir())


def test_a_file_that_is_older_than_all_remembered_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "REMEMBERED", 4)
    for each in range(20):
        write(tmp_path, each, tenth(0), 100 + each)
    whole = reader(tmp_path)
    files, offset = taken(whole, whole.initialOffset())
    assert len(files) == 20
    assert taken(whole, offset)[0] == []
    seen = []
    for each in range(20, 30):
        write(tmp_path, each, tenth(0), 50 - each % 3 if each % 2 else 200 + each)
        files, offset = taken(whole, offset)
        seen += files
        assert taken(whole, offset) == ([], offset)
    assert seen == [f"part-{each:03}.parquet" for each in range(20, 30)]
    assert taken(reader(tmp_path), offset)[0] == []


def test_files_that_come_late_while_the_query_is_stopped_are_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "REMEMBERED", 4)
    for each in range(20):
        write(tmp_path, each, tenth(0), 100 + each)
    before = reader(tmp_path)
    offset = taken(before, before.initialOffset())[1]
    for each in (20, 21):
        write(tmp_path, each, tenth(0), 50)
    again = reader(tmp_path)
    end = again.latestOffset(offset, again.getDefaultReadLimit())
    (told,) = again.partitions(offset, end)  # no file is read
    (row,) = pa.Table.from_batches(again.read(told)).to_pylist()
    assert PartialBatch.unpack(row["portion"]).counts.skipped_files == 2
    write(tmp_path, 22, tenth(0), 200)
    for later in (again, reader(tmp_path)):
        files, _ = taken(later, end)
        assert files == ["part-022.parquet"]
        assert len(later.partitions(end, later.latestOffset(end, ReadAllAvailable()))) <= 1


def test_large_files_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "ROWS_AT_ONCE", 250)
    name = write(tmp_path, 0, tenth(0))
    rows = pa.Table.from_batches(reader(tmp_path).read(OneFile(3, name)))
    assert rows.column("part").to_pylist() == [0, 0, 1, 1, 2, 2]
    assert set(rows.column("task").to_pylist()) == {3}
    parts = [PartialBatch.unpack(packed) for packed in rows.column("portion").to_pylist()]
    assert sum(int(part.times.events.sum()) for part in parts if part.counted) == 600


def test_a_file_with_other_columns_is_named(tmp_path: Path) -> None:
    name = write(tmp_path, 0, tenth(0).rename_columns(["time", "key", "price"]))
    with pytest.raises(BatchError, match=f"{name}: the score column 'value' is not there"):
        list(reader(tmp_path).read(OneFile(0, name)))
    with pytest.raises(BatchError, match=r"lost.parquet is gone"):
        list(reader(tmp_path).read(OneFile(0, "lost.parquet")))


def skipping(folder: Path) -> FilesReader:
    return FilesReader(str(folder), "*.parquet", 0, QUERY.to_json(), shards=2, unreadable="skip")


def damaged(folder: Path, how: str) -> str:
    """A file of three row groups that can't be read to its end."""
    name = write(folder, 0, tenth(0))
    path = folder / name
    if how == "gone":
        path.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "no parquet":
        path.write_bytes(b"PAR1 half a file")
    elif how == "cut off":
        path.write_bytes(path.read_bytes()[:-20])
    elif how == "other columns":
        write(folder, 0, tenth(0).rename_columns(["time", "key", "price"]))
    elif how == "damaged inside":
        whole = bytearray(path.read_bytes())
        whole[8 : len(whole) // 2] = bytes(len(whole) // 2 - 8)
        path.write_bytes(whole)
    return name


@pytest.mark.parametrize(
    "how", ["gone", "empty", "no parquet", "cut off", "other columns", "damaged inside"]
)
def test_a_file_that_can_not_be_read_is_skipped_and_counted_if_asked(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    name = damaged(tmp_path, how)
    with pytest.raises(BatchError, match=name) as caught:
        list(reader(tmp_path).read(OneFile(0, name)))
    assert type(caught.value) is BatchError  # the command line knows its name
    assert 'unreadable="skip"' in caught.value.fix
    *_, last = skipping(tmp_path).read(OneFile(4, name))
    [row] = last.to_pylist()
    assert (row["shard"], row["task"]) == (0, 4)
    part = PartialBatch.unpack(row["portion"])
    assert part.counts == Counts(skipped_files=1)
    assert len(part.times) == 0
    assert name in caplog.text


def test_what_is_skipped_is_told_in_the_next_answer(tmp_path: Path) -> None:
    bad, good = damaged(tmp_path, "cut off"), write(tmp_path, 1, tenth(9))
    monitor = TopKMonitor.build(QUERY)
    for file in (bad, good):
        for rows in skipping(tmp_path).read(OneFile(0, file)):
            packed = [row["portion"] for row in rows.to_pylist() if row["shard"] == 0]
            monitor.admit(*map(PartialBatch.unpack, packed))
    answer, *_ = monitor.flush()
    assert answer.counts.skipped_files == 1
    assert "1 files skipped" in answer.counts.facts


def test_what_the_machine_does_not_let_us_read_is_not_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be there the next time: a network that is down, or a right that is missing."""
    name = write(tmp_path, 0, tenth(0))

    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pq, "ParquetFile", fail)
    with pytest.raises(BatchError, match="Permission denied"):
        list(skipping(tmp_path).read(OneFile(0, name)))


def test_the_columns_are_those_of_the_first_file_that_can_be_read(tmp_path: Path) -> None:
    damaged(tmp_path, "no parquet")
    with pytest.raises(BatchError, match="part-000"):
        Files(tmp_path).columns()
    with pytest.raises(BatchError, match="part-000"):
        Files(tmp_path, unreadable="skip").columns()
    write(tmp_path, 1, tenth(0))
    assert Files(tmp_path, unreadable="skip").columns().names[:2] == SCHEMA.names[:2]
    with pytest.raises(QueryError, match="unreadable"):
        Files(tmp_path, unreadable="ignore")  # type: ignore[arg-type]


def test_limits_follow_the_settings(tmp_path: Path) -> None:
    assert reader(tmp_path, most=4).getDefaultReadLimit() == ReadMaxFiles(4)
    assert reader(tmp_path).getDefaultReadLimit() == ReadAllAvailable()
