"""The files that the Spark benchmark reads: made once, then linked into a folder per query.

::

    history                        data                              tail
    a window's length, few rows    micro-batches of equal size       one row, ends the last window
    ────────────────────────────┼──────────┼──────────┼──────────┼──►

The history makes every window full from the first measured micro-batch on. No event lies on the
border of two panes, where Spark's windows and ours differ.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from topwater.errors import QueryError
from topwater.model import IntArray, Millis
from topwater.query import TopKQuery
from topwater.windows import sliding

K = 10
ORIGIN: Millis = 1_767_225_600_000
"""When the data begin: a border of panes of every length that occurs here."""

FILES_PER_BATCH = 4
BATCH_MILLIS: Millis = 40_000
"""Event time of a micro-batch, whatever its rows."""

SPARK_SCHEMA = "time timestamp, key bigint, value double"
_HISTORY_ROWS = 2 * K
_CHANGED = 1_700_000_000


@dataclass(frozen=True, slots=True)
class Size:
    """How much data there are: micro-batches, and rows in each.

    Examples
    --------
    >>> Size.of(10_000_000)
    Size(batches=5, rows_per_batch=2000000)
    >>> Size.of(400_000)
    Size(batches=5, rows_per_batch=80000)
    """

    batches: int
    rows_per_batch: int

    @staticmethod
    def of(rows: int) -> Size:
        """Micro-batches of two million rows, but five of them at least."""
        if rows < 5 * FILES_PER_BATCH * 1_000:
            least = 5 * FILES_PER_BATCH * 1_000
            raise QueryError(f"must be {least:,} or more, not {rows:,}", field="rows", fix="more")
        per_batch = min(2_000_000, rows // 5) // FILES_PER_BATCH * FILES_PER_BATCH
        return Size(max(5, rows // per_batch), per_batch)

    @property
    def rows(self) -> int:
        """All of them."""
        return self.batches * self.rows_per_batch

    @property
    def ends(self) -> Millis:
        """The event time at which the data end."""
        return ORIGIN + self.batches * BATCH_MILLIS


@dataclass(frozen=True, slots=True)
class Layout:
    """The windows of one query."""

    window_over_step: int
    step: Millis = 1_000

    @property
    def width(self) -> Millis:
        """The length of a window."""
        return self.window_over_step * self.step

    def query(self) -> TopKQuery:
        """What is asked."""
        return TopKQuery(
            key="key", time="time", score="value", k=K, window=sliding(self.width, self.step)
        )


class Data:
    """The data files, and folders that link to them.

    Parameters
    ----------
    root
        An empty folder for all of it.
    size
        How much.
    seed
        Another seed, another stream.
    keys
        How many different ones there are.
    """

    def __init__(self, root: Path, size: Size, seed: int = 7, keys: int = 100_000) -> None:
        self.size = size
        self._root = root
        self._seed = seed
        self.keys = keys
        self._files: list[Path] = []

    def write(self) -> Iterator[Path]:
        """Write the data files, one at a time."""
        folder = self._root / "data"
        folder.mkdir()
        per_file = self.size.rows_per_batch // FILES_PER_BATCH
        span = BATCH_MILLIS // FILES_PER_BATCH
        for number in range(self.size.batches * FILES_PER_BATCH):
            rng = np.random.default_rng([self._seed, number])
            path = folder / f"data-{number:04}.parquet"
            start = ORIGIN + number * span
            self._write(path, _times(start, start + span, per_file), rng, number)
            self._files.append(path)
            yield path

    def folder(self, layout: Layout, batches: int | None = None) -> Path:
        """The folder of one query: history, the first ``batches`` of the data, and tail."""
        used = self.size.batches if batches is None else min(batches, self.size.batches)
        folder = self._root / f"{layout.window_over_step}-{layout.step}-{used}"
        if folder.exists():
            return folder
        folder.mkdir()
        for path in self._files[: used * FILES_PER_BATCH]:
            (folder / path.name).hardlink_to(path)
        rng = np.random.default_rng([self._seed, 1 << 30, layout.window_over_step])
        first = ORIGIN - layout.width
        for number in range(FILES_PER_BATCH):
            start, end = (first + layout.width * n // FILES_PER_BATCH for n in (number, number + 1))
            rows = _HISTORY_ROWS * layout.window_over_step // FILES_PER_BATCH
            times = _times(start, end, rows)
            self._write(folder / f"history-{number}.parquet", times, rng, number - FILES_PER_BATCH)
        ends = ORIGIN + used * BATCH_MILLIS
        after = -(-(ends + 1) // layout.step) * layout.step
        tail = np.array([after + 1], np.int64)
        self._write(folder / "tail.parquet", tail, rng, len(self._files))
        return folder

    def trickle(self, layout: Layout, batches: int) -> Path:
        """A folder whose files are micro-batches of a hundred rows, each ending a window."""
        folder = self._root / f"trickle-{layout.window_over_step}-{batches}"
        folder.mkdir()
        rng = np.random.default_rng([self._seed, 2 << 30])
        for number in range(batches):
            start = ORIGIN + number * layout.step
            self._write(
                folder / f"{number:05}.parquet",
                _times(start, start + layout.step, 100),
                rng,
                number,
            )
        return folder

    def _write(self, path: Path, times: IntArray, rng: np.random.Generator, changed: int) -> None:
        """A file that seems to have been last changed at a given second."""
        table = pa.table(
            {
                "time": pa.array(times * 1_000, pa.timestamp("us", "UTC")),
                "key": rng.integers(self.keys, size=len(times)),
                "value": rng.random(len(times)),
            }
        )
        pq.write_table(table, path)
        os.utime(path, (_CHANGED + changed, _CHANGED + changed))


def _times(start: Millis, end: Millis, rows: int) -> IntArray:
    """Ascending times, none of which is a multiple of 1,000."""
    times = start + np.arange(rows, dtype=np.int64) * (end - start) // rows
    return np.where(times % 1_000 == 0, times + 1, times)
