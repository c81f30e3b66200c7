"""Recorded files as a stream, at their own pace or any other.

The driver looks ahead at the times only, to tell which events are due; tasks read the events. An
offset is a position in the recording, so a query that is restarted goes on where it was, and
time goes on from there too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from topwater.spark.compat import arrow_schema
from topwater.spark.read_limits import (
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
    require_limits,
)
from topwater.spark.time_columns import zone_of_session
from topwater.streams import ReplayStream, stream_settings
from topwater.streams.recordings import UNKNOWN, Portion, Recording, Stretch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = "topwater-replay"
SHIFT = "__shift"
_LINES = pa.schema([("value", pa.binary()), (SHIFT, pa.int64())])

Offset: TypeAlias = dict[str, Any]


def replayed(spark: SparkSession, settings: ReplayStream, schema: str) -> DataFrame:
    """Lines, or the columns of ``schema``, and by how many milliseconds their times are to move."""
    require_limits("recordings that are replayed", "read them as files, or once")
    spark.dataSource.register(ReplaySource)
    told = json.dumps({"kind": settings.kind, **asdict(settings)})
    reader = spark.readStream.format(FORMAT).option("settings", told)
    reader = reader.option("zone", zone_of_session(spark))
    return reader.schema(f"{schema}, {SHIFT} bigint").load()


class ReplaySource(DataSource):
    """Made by :func:`replayed` only."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._settings = options["settings"]
        self._zone = options["zone"]

    @classmethod
    def name(cls) -> str:
        """The name to give to ``format``."""
        return FORMAT

    def streamReader(self, schema: StructType) -> ReplayReader:  # noqa: N802
        """The reader that Spark drives."""
        return ReplayReader(self._settings, schema, self._zone)


@dataclass(frozen=True)
class Played(InputPartition):
    """What one task reads: a stretch of a file, and by how much its times move."""

    stretch: Stretch
    shift: int


class ReplayReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are positions; they also have the time there, from which the pace goes on."""

    def __init__(self, settings: str, schema: StructType, zone: str = "UTC") -> None:
        told = stream_settings(json.loads(settings))
        assert isinstance(told, ReplayStream)  # noqa: S101
        self._settings = told
        self._schema = schema
        self._recording = Recording(told, zone)
        self._pace = told.pace
        self._began: tuple[float, int] | None = None
        self._ahead: tuple[str, int, Portion] | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        """The beginning."""
        return {"file": "", "at": 0, "time": None, "shift": None}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """One micro-batch's share."""
        return ReadMaxRows(self._settings.rows_per_batch)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """All there is, at once."""
        self._pace = 0.0

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Behind the last event that is due."""
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else self._settings.rows_per_batch
        end = start
        for file in self._files(start["file"]):
            at = end["at"] if file == end["file"] else 0
            while rows > 0 and len((portion := self._portion(file, at)).ends):
                due = self._due(portion, end, rows)
                if due:
                    end = self._after(file, portion, due, end)
                    at, rows = end["at"], rows - due
                if due < len(portion.ends):
                    return end
        return end

    def partitions(self, start: Offset, end: Offset) -> Sequence[Played]:
        """The stretches between two positions, one for each file."""
        found = []
        for file in self._files(start["file"]):
            if file > end["file"]:
                break
            first = start["at"] if file == start["file"] else 0
            last = end["at"] if file == end["file"] else self._recording.size(file)
            if first < last:
                found.append(Played(Stretch(file, first, last), end["shift"] or 0))
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The events of a stretch."""
        if not isinstance(partition, Played):
            raise TypeError(f"not a partition of this source: {partition!r}")
        if self._settings.format == "parquet":
            whole = arrow_schema(self._schema)
            wanted = whole.remove(whole.get_field_index(SHIFT))
            for batch in self._recording.tables(partition.stretch, wanted):
                yield _with_shift(batch.columns, partition.shift, whole)
            return
        for lines in self._recording.lines(partition.stretch):
            yield _with_shift([pa.array(lines, pa.binary())], partition.shift, _LINES)

    def _files(self, since: str) -> list[str]:
        return [file for file in self._recording.files() if file >= since]

    def _portion(self, file: str, at: int) -> Portion:
        """The next events; those that were not due are not read twice."""
        if self._ahead is None or self._ahead[:2] != (file, at):
            self._ahead = file, at, self._recording.portion(file, at)
        return self._ahead[2]

    def _due(self, portion: Portion, end: Offset, rows: int) -> int:
        """How many of the next events are due now."""
        if self._pace == 0:
            return min(len(portion.ends), rows)
        newest = np.maximum.accumulate(portion.times)
        if self._began is None:
            known = portion.times[portion.times != UNKNOWN]
            first = end["time"] if end["time"] is not None else known[0] if len(known) else UNKNOWN
            if first == UNKNOWN:
                return min(len(portion.ends), rows)
            self._began = time.monotonic(), int(first)
        clock, origin = self._began
        reached = origin + (time.monotonic() - clock) * 1000 * self._pace
        return min(int(np.searchsorted(newest, reached, side="right")), rows)

    def _after(self, file: str, portion: Portion, due: int, end: Offset) -> Offset:
        """The position behind some events; what is left of the portion is kept for later."""
        at = int(portion.ends[due - 1])
        rest = Portion(portion.ends[due:], portion.times[due:])
        self._ahead = (file, at, rest) if len(rest.ends) else None
        known = portion.times[:due][portion.times[:due] != UNKNOWN]
        times = [*known[:1].tolist(), int(known.max(initial=UNKNOWN)), end["time"] or UNKNOWN]
        shift = end["shift"]
        if shift is None and self._settings.shift_to_now and len(known):
            shift = time.time_ns() // 1_000_000 - times[0]
        newest = max(times)
        told = None if newest == UNKNOWN else newest
        return {"file": file, "at": at, "time": told, "shift": shift}


def _with_shift(columns: list[Any], shift: int, schema: pa.Schema) -> pa.RecordBatch:
    moved = pa.array(np.full(len(columns[0]), shift, np.int64))
    return pa.RecordBatch.from_arrays([*columns, moved], schema=schema)
