"""A folder of parquet files as a source that reduces while it reads.

Arrow reads the columns that the query needs, and the task that reads a file reduces it at once.
So no event ever passes through Java: the source's rows are portions.

::

    folder ──► list, on the driver ──► read and reduce, one task per file ──► portions
               (new files, oldest       (Arrow, a million rows at a time)
                first)
"""

from __future__ import annotations

import functools
import logging
import os
import re
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from topwater.errors import BatchError, EnvironmentProblem, QueryError
from topwater.model import Counts
from topwater.monitor.event_time import PaneTimes
from topwater.monitor.key_columns import with_keys_inside
from topwater.monitor.reduction import PartialBatch
from topwater.query import TopKQuery
from topwater.query.keyed_query import forms_of, outer_query
from topwater.spark.read_limits import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
    require_limits,
)
from topwater.spark.stage_one import PORTIONS, ROWS_AT_ONCE, partial_rows, portion_rows
from topwater.spark.time_columns import zone_of_session
from topwater.spark.workers import set_modules_aside
from topwater.streams.time_zones import has_local_times, instants, zone_of
from topwater.validation import choice_of, whole_of

FORMAT = "topwater-files"
REMEMBERED = 256
"""How many of the newest files taken an offset names."""

LAST = 2**31 - 1
"""The number of a portion that comes after all others of its task."""

_SKIP = 'or pass it over: Files(…, unreadable="skip")'
_log = logging.getLogger("topwater")
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")

Offset: TypeAlias = dict[str, list[Any]]
Listed: TypeAlias = tuple[int, str]
"""When a file was last changed, in nanoseconds, and its name: the order in which files come."""


@dataclass(frozen=True, slots=True)
class Files:
    """A folder of parquet files to which more may come, in place of a streaming DataFrame.

    Files are read in the order in which they were last changed, then by name; each once. A file
    must be complete when it appears: write it under a name that starts with ``_`` or ``.``, which
    are skipped, or elsewhere, and rename it. A file may appear out of order; only one
    that comes while the query is stopped must not be older than all of the last 256 that were read:
    which one it is can't be told then, so it is not read, and counted as one of ``skipped_files``
    (unless as many were removed meanwhile). One that is written anew is read anew.

    Parameters
    ----------
    path
        The folder: a path or URI that is the same on all machines. Subfolders are not searched.
    max_files_per_trigger
        How many files make up a micro-batch at most; all that are there, if left out. Every file
        is a task of its own.
    pattern
        Which names to read.
    schema
        The columns. Needed only if the folder may still be empty; otherwise its first file tells.
    unreadable
        What a file does that is damaged, gone, or has other columns: ``"stop"`` the query, or
        ``"skip"``: what is left of it is passed over, and it is counted in the next answer, as
        ``skipped_files``. It may be changed at a restart: so goes on what such a file has stopped.

    Examples
    --------
    >>> Files("/data/bids", max_files_per_trigger=4).pattern
    '*.parquet'
    """

    path: str | os.PathLike[str]
    max_files_per_trigger: int | None = None
    pattern: str = "*.parquet"
    schema: pa.Schema | None = None
    unreadable: Literal["stop", "skip"] = "stop"

    def __post_init__(self) -> None:
        choice_of(self.unreadable, ("stop", "skip"), "unreadable")
        if self.max_files_per_trigger is not None:
            fix = "leave it out to read all files that are there"
            whole_of(self.max_files_per_trigger, "max_files_per_trigger", 1, fix=fix)

    @property
    def folder(self) -> str:
        """The path as every process can use it."""
        path = os.fspath(self.path)
        return path if _REMOTE.match(path) else os.path.abspath(path)  # noqa: PTH100

    def columns(self) -> pa.Schema:
        """The columns of the files: as declared, or those of the first file."""
        if self.schema is not None:
            return self.schema
        listed = _listed(self.folder, self.pattern)
        if not listed:
            raise QueryError(
                f"no file in {self.folder} is named {self.pattern}, so its columns are unknown",
                field="path",
                fix="start when the first file is there, or give the columns as schema=",
            )
        return self._columns_of([name for _, name in sorted(listed)])

    def _columns_of(self, names: list[str]) -> pa.Schema:
        """The columns of the first file that can be read."""
        try:
            with _opened(self.folder, names[0]) as file:
                return file.schema_arrow
        except Unreadable:
            if self.unreadable == "stop" or len(names) == 1:
                raise
        return self._columns_of(names[1:])


def stream(spark: SparkSession, files: Files, query: TopKQuery, shards: int) -> DataFrame:
    """The portions of the events in a folder."""
    require_limits("Files(…)", "give topk() what spark.readStream.parquet(…) reads")
    spark.dataSource.register(FilesSource)
    options = {
        "folder": files.folder,
        "pattern": files.pattern,
        "most": str(files.max_files_per_trigger or 0),
        "query": query.to_json(),
        "shards": str(shards),
        "zone": zone_of_session(spark),
        "unreadable": files.unreadable,
    }
    zone_of(options["zone"])
    return spark.readStream.format(FORMAT).options(**options).load()


def active_session() -> SparkSession:
    """The session to read files with."""
    found = SparkSession.getActiveSession()
    if found is None:
        raise EnvironmentProblem(
            "there is no active Spark session to read the files with",
            fix="start one first, for instance with topwater.spark.session()",
        )
    return found


class FilesSource(DataSource):
    """Files reduced to portions. It knows the query, so it is made by :func:`stream` only."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._options = dict(options.items())

    @classmethod
    def name(cls) -> str:
        """The name to give to ``format``."""
        return FORMAT

    def schema(self) -> str:
        """Portions, not events."""
        return PORTIONS

    def streamReader(self, schema: StructType) -> FilesReader:  # noqa: ARG002, N802
        """The reader that Spark drives."""
        told = self._options
        return FilesReader(
            told["folder"],
            told["pattern"],
            int(told["most"]),
            told["query"],
            int(told["shards"]),
            zone=told["zone"],
            unreadable=told["unreadable"],
        )


@dataclass(frozen=True)
class OneFile(InputPartition):
    """What one task reads: a file, and its place in the micro-batch."""

    task: int
    file: str


@dataclass(frozen=True)
class Passed(InputPartition):
    """What tells of files that are not read."""

    task: int
    number: int


class FilesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets name the files of the micro-batch that ends there, so a re-run reads the same.

    They also name the newest files taken so far, by which new ones are told from old ones, and say
    how many older ones there were, and how many of these came while the query was stopped.
    """

    def __init__(
        self,
        folder: str,
        pattern: str,
        most: int,
        query: str,
        shards: int,
        *,
        zone: str = "UTC",
        unreadable: str = "stop",
    ) -> None:
        self._folder = folder
        self._pattern = pattern
        self._most = most
        self._query = query
        self._shards = shards
        self._zone = zone
        self._unreadable = unreadable
        self._all: list[Listed] | None = None
        self._seen: set[Listed] | None = None
        self._passed = 0

    def initialOffset(self) -> Offset:  # noqa: N802
        """Nothing read yet."""
        return {"files": [], "recent": [], "older": [0, 0]}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """One micro-batch's share."""
        return ReadMaxFiles(self._most) if self._most else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Files that come from now on are for the next run."""
        self._all = _listed(self._folder, self._pattern)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Where the next micro-batch ends: after the oldest files that are new."""
        there = _listed(self._folder, self._pattern) if self._all is None else self._all
        taken = [(changed, name) for changed, name in start["recent"]]
        new = self._late(there, taken, start) + _new(there, taken)
        batch = new[: limit.max_files] if isinstance(limit, ReadMaxFiles) else new
        if not batch and not self._passed:
            return start
        recent = sorted([*taken, *batch])[-REMEMBERED:]
        passed, self._passed = self._passed, 0
        older = start["older"][0] + passed + len(taken) + len(batch) - len(recent)
        return {
            "files": [name for _, name in batch],
            "recent": [list(each) for each in recent],
            "older": [older, passed],
        }

    def _late(self, there: list[Listed], taken: list[Listed], start: Offset) -> list[Listed]:
        """Files older than all that the offset names, which were not there when this run began."""
        first, names = _first(taken), set(start["files"])
        if self._seen is None:
            self._seen = {file for file in there if file < first}
            self._passed = max(0, len(self._seen) - start["older"][0])
        self._seen |= {*taken, *(file for file in there if file[1] in names)}
        self._seen &= {*taken, *there}
        return sorted(file for file in there if file <= first and file not in self._seen)

    def partitions(self, start: Offset, end: Offset) -> Sequence[OneFile | Passed]:
        """The files of a micro-batch."""
        if start == end:
            return []
        passed = end["older"][1]
        told = [Passed(len(end["files"]), passed)] if passed else []
        return [*(OneFile(task, file) for task, file in enumerate(end["files"])), *told]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The portions of one file."""
        set_modules_aside()
        if isinstance(partition, Passed):
            yield _skipped(partition.task, partition.number)
            return
        if not isinstance(partition, OneFile):
            raise TypeError(f"not a partition of this source: {partition!r}")
        try:
            yield from self._portions(partition)
        except Unreadable as error:
            if self._unreadable == "stop":
                raise BatchError(error.problem, fix=error.fix) from error
            _log.warning("skipped: %s", error.problem)
            yield _skipped(partition.task)

    def _portions(self, partition: OneFile) -> Iterator[pa.RecordBatch]:
        query = TopKQuery.from_json(self._query)
        names = used(outer_query(query))
        with _opened(self._folder, partition.file) as file:
            local = has_local_times(file, query.time) and self._zone != "UTC"
            batches = file.iter_batches(ROWS_AT_ONCE, columns=names, use_threads=False)
            for part, batch in enumerate(batches):
                table = with_keys_inside(pa.Table.from_batches([batch]), *forms_of(query))
                if local:
                    table = _with_instants(table, str(query.time), self._zone)
                yield partial_rows(query, table, self._shards, partition.task, part)


def used(query: TopKQuery) -> list[str]:
    """The columns that a query reads."""
    return [*query.columns]


def _with_instants(table: pa.Table, name: str, zone: str) -> pa.Table:
    at = table.column_names.index(name)
    return table.set_column(at, name, instants(table.column(at), zone))


def _skipped(task: int, number: int = 1) -> pa.RecordBatch:
    """A portion that says no more than how many files were skipped; one shard counts them."""
    none = PaneTimes.union([])
    part = PartialBatch(pa.table({}), none, Counts(skipped_files=number), counted=False)
    return portion_rows([(0, part.pack())], task, LAST)


def _first(taken: list[Listed]) -> Listed:
    """The oldest file that is remembered; older ones were taken, if they were there."""
    return min(taken) if len(taken) >= REMEMBERED else (-1, "")


def _new(there: list[Listed], taken: list[Listed]) -> list[Listed]:
    """Files not taken yet, oldest first. Those before all that we remember were taken."""
    known = set(taken)
    first = _first(taken)
    return sorted(file for file in there if file > first and file not in known)


@functools.cache
def _place(folder: str) -> tuple[fs.FileSystem, str]:
    if not _REMOTE.match(folder):
        return fs.LocalFileSystem(), folder
    # Java writes file:/folder where Arrow expects file:///folder.
    system, base = fs.FileSystem.from_uri(re.sub("^file:/+", "file:///", folder))
    return system, base


def _listed(folder: str, pattern: str) -> list[Listed]:
    system, base = _place(folder)
    try:
        found = system.get_file_info(fs.FileSelector(base))
    except OSError as error:
        raise QueryError(
            f"{folder} can't be listed: {error}", field="path", fix="name a folder that is there"
        ) from error
    return [
        (file.mtime_ns, file.base_name)
        for file in found
        if file.is_file
        and not file.base_name.startswith(("_", "."))
        and fnmatchcase(file.base_name, pattern)
    ]


@contextmanager
def _opened(folder: str, name: str) -> Iterator[pq.ParquetFile]:
    """A file, or an error that names it."""
    system, base = _place(folder)
    path = f"{base}/{name}"
    try:
        with system.open_input_file(path) as raw, pq.ParquetFile(raw) as file:
            yield file
    except BatchError as error:
        raise Unreadable(f"{path}: {error.problem}", fix=f"{error.fix}; {_SKIP}") from error
    except FileNotFoundError as error:
        raise Unreadable(
            f"{path} is gone",
            fix="put it back: a micro-batch that runs again reads the same files again; " + _SKIP,
        ) from error
    except (OSError, pa.ArrowException) as error:
        kind = Unreadable if _is_damage(error, system) else BatchError
        raise kind(
            f"{path} can't be read: {error}",
            fix="write files under a name that starts with _ and rename them when complete; "
            + _SKIP,
        ) from error


class Unreadable(BatchError):
    """A file that is as it is: reading it again would not help."""


def _is_damage(error: Exception, system: fs.FileSystem) -> bool:
    """Whether a file is to blame, and not the disk, the network, or who may read it."""
    if not isinstance(error, OSError):
        return True
    return error.errno is None and isinstance(system, fs.LocalFileSystem)
