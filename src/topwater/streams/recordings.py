"""Recorded files, read in portions: where each event ends, and when it happened.

A position is a file's name and how far into it: bytes for lines of text, rows for parquet. Files
follow each other in the order of their names.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from topwater.errors import BatchError
from topwater.model import IntArray, Millis
from topwater.streams.kinds import ReplayStream
from topwater.streams.schema import columns
from topwater.streams.time_zones import has_local_times, instants, zone_of
from topwater.validation import FARTHEST

ROWS_AT_ONCE = 10_000
UNKNOWN: Millis = np.iinfo(np.int64).min
"""The time of an event that has none: it comes with the one before."""


class Stretch(NamedTuple):
    """A part of a file: from a position, up to another."""

    file: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Portion:
    """Events that follow each other: the position after each, and its time."""

    ends: IntArray
    times: IntArray


class Recording:
    """The files of a recording.

    Parameters
    ----------
    settings
        Where they are, and how events are written.
    zone
        The zone of times that name none, as Spark writes it.
    """

    def __init__(self, settings: ReplayStream, zone: str = "UTC") -> None:
        self._settings = settings
        self._zone = zone

    def files(self) -> list[str]:
        """Their names, in order; those that begin with ``_`` or ``.`` are none."""
        path = Path(self._settings.path)
        if path.is_file():
            return [path.name]
        if not path.is_dir():
            raise BatchError(f"{path} is gone", fix="put it back, and start again")
        return sorted(
            each.name
            for each in path.iterdir()
            if each.is_file()
            and not each.name.startswith(("_", "."))
            and fnmatchcase(each.name, self._settings.pattern)
        )

    def portion(self, file: str, start: int) -> Portion:
        """The next events of a file; none at its end."""
        if self._settings.format == "parquet":
            return self._rows(file, start)
        ends, times = [], []
        with self._path(file).open("rb") as lines:
            lines.seek(self._begin(file, start))
            for _ in range(ROWS_AT_ONCE):
                if not (line := lines.readline()):
                    break
                ends.append(lines.tell())
                times.append(self._time(line))
        return Portion(np.array(ends, np.int64), np.array(times, np.int64))

    def lines(self, stretch: Stretch) -> Iterator[list[bytes]]:
        """The lines of a stretch, some thousands at a time."""
        with self._path(stretch.file).open("rb") as lines:
            lines.seek(self._begin(stretch.file, stretch.start))
            found: list[bytes] = []
            while lines.tell() < stretch.end and (line := lines.readline()):
                found.append(line.rstrip(b"\r\n"))
                if len(found) == ROWS_AT_ONCE:
                    yield found
                    found = []
            yield found

    def tables(self, stretch: Stretch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows of a stretch of parquet, with the columns that are wanted."""
        with self._opened(stretch.file) as file:
            row = 0
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if row < stretch.end and row + rows > stretch.start:
                    batches = file.iter_batches(ROWS_AT_ONCE, [group], schema.names)
                    yield from _cut(batches, stretch.start - row, stretch.end - row, schema)
                row += rows

    def size(self, file: str) -> int:
        """The position at which a file ends."""
        if self._settings.format == "parquet":
            with self._opened(file) as opened:
                return int(opened.metadata.num_rows)
        return self._path(file).stat().st_size

    def _rows(self, file: str, start: int) -> Portion:
        name = self._settings.time
        with self._opened(file) as opened:
            end = min(start + ROWS_AT_ONCE, opened.metadata.num_rows)
            kind = opened.schema_arrow.field(name).type
            schema = pa.schema([(name, kind)])
            batches = list(self.tables(Stretch(file, start, end), schema))
            local = has_local_times(opened, name)
        column = pa.Table.from_batches(batches, schema).column(name)
        if local:
            column = instants(column, self._zone)
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("ms", column.type.tz), safe=False)
        times = column.cast(pa.int64()).fill_null(UNKNOWN)
        return Portion(np.arange(start, end) + 1, times.to_numpy())

    def _begin(self, file: str, start: int) -> int:
        """A position, after the line of names."""
        if start or self._settings.format != "csv" or not self._settings.header:
            return start
        with self._path(file).open("rb") as lines:
            lines.readline()
            return lines.tell()

    def _time(self, line: bytes) -> Millis:
        """When the event of a line was, if that can be read, and can be a time."""
        try:
            found = self._time_from(self._time_text(line.decode()))
        except (ValueError, TypeError, LookupError, OverflowError, RecursionError, csv.Error):
            return UNKNOWN
        return found if abs(found) < FARTHEST else UNKNOWN

    def _time_from(self, written: Any) -> Millis:
        if not isinstance(written, str):
            return int(written * 1000) if self._counts_seconds else int(written)
        if written.strip().lstrip("-").isdigit():
            return int(written)
        moment = datetime.fromisoformat(written.strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=self._tzinfo)
        return int(moment.timestamp() * 1000)

    def _time_text(self, line: str) -> Any:
        if self._settings.format in ("ntriples", "nquads"):
            return line.partition("\t")[0]
        if self._settings.format == "csv":
            return next(csv.reader([line]))[self._column]
        return json.loads(line)["time" if self._settings.rdf else self._settings.time]

    @cached_property
    def _tzinfo(self) -> tzinfo:
        return zone_of(self._zone)

    @cached_property
    def _column(self) -> int:
        return [*columns(self._settings.schema)].index(self._settings.time)

    @cached_property
    def _counts_seconds(self) -> bool:
        """Spark takes a number in the place of a timestamp for seconds."""
        kinds = columns(self._settings.schema) if self._settings.schema else {}
        return kinds.get(self._settings.time, "").startswith("timestamp")

    def _path(self, file: str) -> Path:
        path = Path(self._settings.path)
        return path if path.is_file() else path / file

    def _opened(self, file: str) -> pq.ParquetFile:
        path = self._path(file)
        try:
            return pq.ParquetFile(path)
        except (OSError, pa.ArrowException) as error:
            raise BatchError(f"{path} can't be read: {error}", fix="leave it out") from error


def _cut(
    batches: Iterator[pa.RecordBatch], start: int, end: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The rows from ``start`` to ``end``, the latter excluded."""
    for batch in batches:
        first, last = max(start, 0), min(end, len(batch))
        if first < last:
            kept = pa.Table.from_batches([batch.slice(first, last - first)])
            yield from kept.cast(schema).to_batches()
        start, end = start - len(batch), end - len(batch)
