"""What the Spark part of the benchmark of many keys is fed with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from topwater import run
from topwater_lab.bench.scale_local import Computed
from topwater_lab.bench.scale_stream import (
    STEP,
    SparkPoint,
    StreamSize,
    schema,
    write_last,
    write_stream,
)
from topwater_lab.bench.spark_data import ORIGIN

if TYPE_CHECKING:
    from pathlib import Path

SIZE = StreamSize(60, 6)


def read(folder: Path) -> list[pa.Table]:
    """All files, the one that was changed first before the others."""
    ordered = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    return [pq.read_table(path) for path in ordered]


def panes(table: pa.Table) -> set[int]:
    times = np.asarray(table["time"].cast("int64")) // 1_000 - ORIGIN
    assert (times % STEP != 0).all(), "none lies on a border"
    return {*(times // STEP).tolist()}


def test_all_keys_come_once_and_few_of_them_again_and_again(tmp_path: Path) -> None:
    point = SparkPoint(90, 10)
    write_stream(tmp_path / "in", point, SIZE, seed=1)
    files = read(tmp_path / "in")
    assert len(files) == 2 * (1 + SIZE.batches)
    history = pa.concat_tables(files[:2])["key"].to_pylist()
    assert sorted(history) == [*range(90)]
    assert all(0 <= key < 10 for file in files[2:] for key in file["key"].to_pylist())
    assert [panes(file) for file in files] == [{0}] * 2 + [{1}] * 8 + [{2}] * 4
    write_last(tmp_path / "in", point, SIZE, seed=1)
    assert [panes(file) for file in read(tmp_path / "in")[-2:]] == [{3}, {4}]


def test_every_window_remembers_all_keys_to_the_end(tmp_path: Path) -> None:
    point = SparkPoint(90, 10)
    write_stream(tmp_path / "in", point, SIZE, seed=1)
    write_last(tmp_path / "in", point, SIZE, seed=1)
    answers = [*run(point.query(SIZE), read(tmp_path / "in"), source=Computed())]
    # The last, which ends with the stream, has no events after it.
    assert [answer.candidates >= 90 for answer in answers][:4] == [True] * 4


def test_no_window_of_a_group_ends_before_the_stream(tmp_path: Path) -> None:
    point = SparkPoint(0, 0, groups=30)
    assert "group" in schema(point)
    write_stream(tmp_path / "in", point, SIZE, seed=1)
    write_last(tmp_path / "in", point, SIZE, seed=1)
    files = read(tmp_path / "in")
    assert {*pa.concat_tables(files[:2])["group"].to_pylist()} == {*range(30)}
    assert {*pa.concat_tables(files[2:])["group"].to_pylist()} == {*range(20)}
    answers = [*run(point.query(SIZE), files, source=Computed())]
    assert len(answers) == 30
    assert {answer.group for answer in answers} == {*range(30)}
