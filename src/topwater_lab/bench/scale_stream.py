"""What comes in when many keys or groups are remembered on Spark: files, two a micro-batch.

::

    history               steady                                      last
    all keys, once        micro-batches of equal size, four a pane    two panes
    ──────── pane 0 ────┼── pane 1 ──┼── pane 2 ──┼── pane 3 ──┼── … ──►

Windows are so long that the history stays in them to the end: all keys are remembered throughout,
whichever of them still have events. With groups no window ends at all: it would be one of every
group, and groups that fall silent are forgotten. No event lies on the border of two panes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from topwater.model import IntArray, Millis
from topwater.query import TopKQuery
from topwater.windows import Windows, sliding, tumbling
from topwater_lab.bench.spark_data import ORIGIN

STEP: Millis = 60_000
FILES = 2
"""Of a micro-batch: as many as there are cores."""

BUDGET = 1_000
BUSY_GROUPS = 20
KEYS_A_GROUP = 50
_A_PANE = 4
_KEYS_OF_SILENT = 5
_CHANGED = 1_700_000_000


@dataclass(frozen=True, slots=True)
class SparkPoint:
    """What is measured.

    Attributes
    ----------
    keys
        How many are remembered; with groups, 0.
    drawn
        From how many of them the events of the steady micro-batches are drawn.
    groups
        How many are remembered; 0 for one ranking. Twenty have events in the steady micro-batches.
    shards
        How many share the work.
    """

    keys: int
    drawn: int
    groups: int = 0
    shards: int = 1

    def query(self, size: StreamSize) -> TopKQuery:
        """What is asked."""
        return TopKQuery(
            key="key",
            time="time",
            window=self._window(size),
            take={"n": "count"},
            score="n * remote",
            k=10,
            refresh={"remote": "remote", "budget": BUDGET, "policy": "worth"},
            group_by="group" if self.groups else None,
        )

    def _window(self, size: StreamSize) -> Windows:
        """So long that the history is in every window."""
        width = (size.panes + 2) * STEP
        if not self.groups:
            return sliding(width, STEP)
        return tumbling(width + 2 * STEP, start=ORIGIN)


class StreamSize(NamedTuple):
    """How many events a micro-batch has, and how many micro-batches come after the history."""

    events: int
    batches: int

    @property
    def panes(self) -> int:
        """Of the steady micro-batches."""
        return -(-self.batches // _A_PANE)


def schema(point: SparkPoint) -> str:
    """Of the files, as Spark wants it."""
    return "time timestamp, key bigint" + (", `group` bigint" if point.groups else "")


def write_stream(folder: Path, point: SparkPoint, size: StreamSize, seed: int) -> None:
    """The history and the steady micro-batches."""
    folder.mkdir()
    rng = np.random.default_rng([seed, point.keys, point.drawn, point.groups])
    for number, part in enumerate(_parts(point, size, rng)):
        _write(folder / f"{number:04}.parquet", part, number)


def write_last(folder: Path, point: SparkPoint, size: StreamSize, seed: int) -> None:
    """One more micro-batch, of two panes: so it ends a window, also if it is the first."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng([seed, point.keys, point.drawn, point.groups, 1])
    half = size.events // FILES
    for number in range(FILES):
        start = (size.panes + 1 + number) * STEP
        part = _events(point, start, start + STEP, half, rng)
        _write(folder / f"last-{number}.parquet", part, 10_000 + number)


class _Part(NamedTuple):
    times: IntArray
    keys: IntArray
    groups: IntArray | None


def _parts(point: SparkPoint, size: StreamSize, rng: np.random.Generator) -> Iterator[_Part]:
    """File by file."""
    history = _history(point, rng)
    for keys, groups in history:
        yield _Part(_times(0, STEP, len(keys)), keys, groups)
    span = STEP // _A_PANE // FILES
    for number in range(size.batches * FILES):
        start = STEP + number * span
        yield _events(point, start, start + span, size.events // FILES, rng)


def _history(
    point: SparkPoint, rng: np.random.Generator
) -> Iterator[tuple[IntArray, IntArray | None]]:
    """Every key once; of every group a few."""
    if not point.groups:
        yield from ((keys, None) for keys in np.array_split(rng.permutation(point.keys), FILES))
        return
    for groups in np.array_split(rng.permutation(point.groups), FILES):
        yield np.tile(np.arange(_KEYS_OF_SILENT), len(groups)), np.repeat(groups, _KEYS_OF_SILENT)


def _events(
    point: SparkPoint, start: Millis, end: Millis, rows: int, rng: np.random.Generator
) -> _Part:
    times = _times(start, end, rows)
    if not point.groups:
        return _Part(times, rng.integers(point.drawn, size=rows), None)
    groups = rng.integers(min(BUSY_GROUPS, point.groups), size=rows)
    return _Part(times, rng.integers(KEYS_A_GROUP, size=rows), groups)


def _times(start: Millis, end: Millis, rows: int) -> IntArray:
    """Ascending, and after the start."""
    times: IntArray = ORIGIN + start + 1 + np.arange(rows) * (end - start - 2) // max(1, rows)
    return times


def _write(path: Path, part: _Part, changed: int) -> None:
    """A file that seems to have been last changed at a given second."""
    columns = {"time": pa.array(part.times * 1_000, pa.timestamp("us", "UTC")), "key": part.keys}
    if part.groups is not None:
        columns["group"] = part.groups
    hidden = path.with_name(f".{path.name}")
    pq.write_table(pa.table(columns), hidden)
    os.utime(hidden, (_CHANGED + changed, _CHANGED + changed))
    hidden.rename(path)
