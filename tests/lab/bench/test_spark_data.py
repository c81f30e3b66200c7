"""The files that the Spark benchmark reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from topwater_lab.bench.spark_data import BATCH_MILLIS, ORIGIN, Data, Layout, Size

if TYPE_CHECKING:
    from pathlib import Path


def test_every_micro_batch_has_its_share_and_no_event_is_on_a_border(tmp_path: Path) -> None:
    data = Data(tmp_path, Size(3, 4_000))
    assert len(list(data.write())) == 12
    folder = data.folder(Layout(10), batches=2)
    assert folder == data.folder(Layout(10), batches=2)
    paths = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    names = [path.name.split("-")[0] for path in paths]
    assert names == ["history"] * 4 + ["data"] * 8 + ["tail.parquet"]
    times = [t for path in paths for t in millis(path)]
    assert times == sorted(times)
    assert all(time % 1_000 for time in times)
    assert times[0] == ORIGIN - 10_000 + 1
    assert times[-1] == ORIGIN + 2 * BATCH_MILLIS + 1_001
    assert sum(time > ORIGIN for time in times) == 8_001


def millis(path: Path) -> list[int]:
    column = pq.read_table(path).column("time").cast("int64")
    return [micros // 1_000 for micros in column.to_pylist()]


def test_sizes_keep_two_million_rows_per_micro_batch() -> None:
    assert Size.of(30_000_000) == Size(15, 2_000_000)
    assert Size.of(2_000_000).rows == 2_000_000
