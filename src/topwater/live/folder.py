"""A folder of answers as Spark's sinks write it, read without Spark while more is written.

Only what Spark committed is told. A streaming sink names its committed files in
``_spark_metadata``, batch by batch; files that are not named there are half written, or left over
from an attempt that failed. A folder without that log was written by batch jobs, whose files
appear under their names when they are complete; one that can't be read yet is tried again.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from topwater.errors import EnvironmentProblem, QueryError
from topwater.live.feed import MOST_WINDOWS, now
from topwater.live.new_files import NewFiles
from topwater.live.records import Record, records_of_rows

LOG = "_spark_metadata"
JOB_BATCH = "batch"
"""How ``topwater run`` tells the folders of micro-batches apart; not part of an answer."""

PATIENCE = 10_000
"""Milliseconds after its last change during which an unreadable file is tried again."""

_BATCH = re.compile(r"(\d+)(\.compact)?")
_JOB = re.compile(r"part-\d+-([0-9a-f-]{36})")
_PARTITION = re.compile(r"[^/=]+=[^/]*")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_UNFINISHED = "_temporary"
"""From here Spark moves the files of a job to where they belong, one by one."""

EXPLAINED = "_explained.txt"
"""In a folder of answers: what they answer, in words."""
_ENDINGS = (".parquet", ".json", ".json.gz", ".jsonl")
MOST_BYTES, MOST_CELLS = 64 * 2**20, 20_000_000
"""How large a file may be, unpacked, and how many cells it may have: answers are small."""

_BAD = (
    OSError, EOFError, ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError,
    RecursionError, MemoryError, zlib.error, pa.ArrowException, QueryError,
)  # fmt: skip
"""All that a file may do to those who read it."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Files that one job wrote, and when they were committed, in milliseconds since 1970.

    The last batch of a log has the log's number.
    """

    job: str
    files: tuple[Path, ...]
    at: int
    number: int | None = None


Looked: TypeAlias = tuple[Batch, list[Record] | None]


class Unread(Exception):
    """A file that can't be read now."""


class Folder:
    """What was committed to a folder, batch by batch.

    Parameters
    ----------
    path
        The folder; it need not be there yet.
    most
        How many windows the first look gives, the newest ones.

    Attributes
    ----------
    passed_over
        What could not be read, in words, until it is emptied.
    """

    def __init__(self, path: Path, most: int = MOST_WINDOWS) -> None:
        self.path = path
        self.passed_over: list[str] = []
        self._most = most
        self._begun = False
        self._number: int | None = None
        self._job = ""
        self._seen: set[str] = set()
        self._files = NewFiles(path, _ENDINGS)
        self._pending: dict[str, list[Path]] = {}
        self._newest_batch = -1
        self._log_changed = -1

    def state(self) -> str:
        """What there is to wait for, in words."""
        if not self.path.exists():
            return f"{self.path} is not there yet. It is read as soon as the stream creates it."
        if (self.path / LOG).is_dir():
            return f"The stream that writes to {self.path} has not answered a window yet."
        return f"Nothing has been written to {self.path} yet."

    def news(self) -> Iterator[Record]:
        """The windows that were committed since the last call, in the order of time.

        The first call gives the newest ones only. A batch that can't be read yet comes next
        time, and all after it, so that the order stays.

        Raises
        ------
        EnvironmentProblem
            If the folder can't be read.
        """
        batches = self._batches()
        looked = map(self._look, batches) if self._begun else self._newest(batches)
        self._begun = self._begun or bool(batches)
        for batch, records in looked:
            if records is None:
                return
            self._take(batch)
            yield from records

    def _newest(self, batches: list[Batch]) -> list[Looked]:
        """Those at the end that hold as many windows as wanted: a folder may hold years."""
        looked: list[Looked] = []
        windows = 0
        for batch in reversed(batches):
            if windows >= self._most:
                break
            looked.append(self._look(batch))
            windows += len(looked[-1][1] or ())
        for batch in batches[: len(batches) - len(looked)]:
            self._take(batch)
        return looked[::-1]

    def _look(self, batch: Batch) -> Looked:
        """What a batch holds; None if that can't be read yet."""
        try:
            rows = [row for path in batch.files for row in self._rows(path, batch)]
        except Unread:
            return batch, None
        try:
            records = records_of_rows(rows)
        except _BAD as error:  # each file has answers, and together they have not
            self._pass_over(batch.files[0], error)
            records = []
        return batch, [{**record, "at": batch.at} for record in records]

    def _rows(self, path: Path, batch: Batch) -> list[dict[str, Any]]:
        try:
            rows = _read(path, self.path)
        except FileNotFoundError:
            self.passed_over.append(f"{path.name} is gone")
            return []
        except _BAD as error:
            if now() - batch.at < PATIENCE:
                raise Unread from error
            self._pass_over(path, error)
            return []
        try:
            records_of_rows(rows)
        except _BAD as error:  # it is whole, so waiting does not help
            self._pass_over(path, error)
            return []
        return rows

    def _pass_over(self, path: Path, error: BaseException) -> None:
        why = (str(error).splitlines() or [""])[0][:200] or type(error).__name__
        self.passed_over.append(f"{path.name} can't be read: {why}")

    def _take(self, batch: Batch) -> None:
        self._job = batch.job or self._job
        if batch.number is not None:
            self._number = batch.number
            return
        self._seen.add(batch.job)
        self._pending.pop(batch.job, None)

    def _batches(self) -> list[Batch]:
        """Those that were not taken yet."""
        log = self.path / LOG
        try:
            if log.is_dir():
                return self._logged(log)
            return self._listed() if self.path.is_dir() else []
        except (FileNotFoundError, ValueError):  # a log that is written or removed right now
            return []
        except OSError as error:
            raise EnvironmentProblem(
                f"{self.path} can't be read: {error.strerror}",
                fix="let the user of this process read the folder, and start again",
            ) from None

    def _log_names(self, log: Path) -> dict[int, str]:
        """The names in a log that may be new, by their numbers."""
        changed, before = log.stat().st_mtime_ns, self._log_changed
        names = dict(_next_names(log, self._number))
        self._log_changed = changed
        if names or (changed == before and self._number is not None):
            return names
        found = sorted(
            filter(None, map(_BATCH.fullmatch, (each.name for each in log.iterdir()))),
            key=lambda each: len(each[0]),
        )
        # A compacted log comes later here than a plain one of the same number, and replaces it.
        names = {int(each[1]): each[0] for each in found}
        if self._number is not None and max(names, default=-1) < self._number:
            self._number, self._job, self._begun = None, "", False  # emptied, and filled anew
        return names

    def _logged(self, log: Path) -> list[Batch]:
        names = self._log_names(log)
        newest = max(names, default=-1)
        after = -1 if self._number is None else self._number
        if newest <= after:
            return []
        compacted = [each for each, name in names.items() if name != str(each) and each > after]
        start = max(compacted, default=after + 1)
        batches: list[Batch] = []
        for number in sorted(each for each in names if each >= start):
            path = log / names[number]
            try:
                batches += _of_log(path, number, self.path)
            except _BAD as error:
                if now() - _changed(path) < PATIENCE:
                    break  # it is written or removed right now
                self._pass_over(path, error)
                batches.append(Batch("", (), _changed(path), number))
        return self._after_job(batches)

    def _after_job(self, batches: list[Batch]) -> list[Batch]:
        """A compacted log also names what was taken before."""
        places = [place for place, batch in enumerate(batches) if batch.job == self._job != ""]
        return batches[places[-1] + 1 :] if places else batches

    def _listed(self) -> list[Batch]:
        """Without a log: files that one job wrote belong together."""
        self._close_finished()
        for path in self._files.look():
            inside = path.relative_to(self.path)
            self._newest_batch = max(self._newest_batch, _micro_batch(inside) or 0)
            if (job := _job(str(inside))) not in self._seen:
                self._pending.setdefault(job, []).append(path)
        found = []
        for job, paths in self._pending.items():
            inside = paths[0].relative_to(self.path)
            number = _micro_batch(inside)
            if number is None or not (self.path / inside.parts[0] / _UNFINISHED).exists():
                when = max(map(_written, paths))
                found.append((number or 0, when, job, tuple(sorted(paths))))
        return [Batch(job, paths, when // 1_000_000) for _, when, job, paths in sorted(found)]

    def _close_finished(self) -> None:
        """Only the newest micro-batch may be written anew, by a run that goes on after a crash.

        Those before it were finished when it came, so the look that saw it saw all of them.
        """
        inside = [each for each in self._files.folders if each != self.path]
        numbers = {each: _micro_batch(each.relative_to(self.path)) for each in inside}
        self._files.close(
            *(each for each, n in numbers.items() if n is not None and n < self._newest_batch)
        )


def _of_log(path: Path, number: int, folder: Path) -> list[Batch]:
    """The batches that a log names: one, or if it is compacted, also all before."""
    told = [json.loads(line) for line in _text_of(path).strip().split("\n")[1:]]
    deleted = {each["path"] for each in told if each.get("action") == "delete"}
    jobs: dict[str, list[dict[str, Any]]] = {}
    for each in told:
        if each["path"] not in deleted:
            jobs.setdefault(_job(each["path"]), []).append(each)
    batches = [
        Batch(
            job,
            tuple(_inside(each["path"], folder) for each in files),
            max(int(each["modificationTime"]) for each in files),
        )
        for job, files in jobs.items()
    ] or [Batch("", (), _changed(path))]
    return [*batches[:-1], replace(batches[-1], number=number)]


def _next_names(log: Path, number: int | None) -> Iterator[tuple[int, str]]:
    """The names that follow a number in a log, as far as they are there."""
    while number is not None:
        number += 1
        names = [name for name in (f"{number}.compact", str(number)) if (log / name).exists()]
        if not names:
            return
        yield number, names[0]


def _written(path: Path) -> int:
    """When a file was written, in nanoseconds; 0 if it is gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _micro_batch(inside: Path) -> int | None:
    """The number of the micro-batch of ``topwater run`` that a path is of."""
    name, _, number = inside.parts[0].partition("=")
    return int(number) if name == JOB_BATCH and number.isdecimal() else None


def _job(address: str) -> str:
    """What tells the files of one job from those of others."""
    found = _JOB.match(address.rsplit("/", 1)[-1])
    return found[1] if found else address


def _inside(address: str, folder: Path) -> Path:
    """The file in this folder: by its name, and the folders of the columns that divide it.

    So a folder that was moved, or is mounted elsewhere, can be read; and nothing outside of it.
    """
    parts = unquote(address).split("/")
    start = len(parts) - 1
    while start > 0 and _PARTITION.fullmatch(parts[start - 1]):
        start -= 1
    return folder.joinpath(*parts[start:])


def _changed(path: Path) -> int:
    return path.stat().st_mtime_ns // 1_000_000


def _read(path: Path, folder: Path) -> list[dict[str, Any]]:
    if not path.exists():
        raise FileNotFoundError(path)
    if not path.is_file():
        raise ValueError("it is not a file")
    rows = _parquet(path) if path.name.endswith(".parquet") else _json(path)
    columns = _columns_of_path(path.relative_to(folder))
    columns.pop(JOB_BATCH, None)
    return [{**columns, **row} for row in rows] if columns else rows


def _parquet(path: Path) -> list[dict[str, Any]]:
    file = pq.ParquetFile(path)
    about = file.metadata
    unpacked = sum(about.row_group(each).total_byte_size for each in range(about.num_row_groups))
    if unpacked > MOST_BYTES or about.num_rows * about.num_columns > MOST_CELLS:
        raise ValueError("it is too large for answers")
    table = file.read()
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            millis = table.column(place).cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
            table = table.set_column(place, field.name, millis)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _json(path: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in _text_of(path).split("\n") if line.strip()]
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError("it holds something other than rows")
    return rows


def _text_of(path: Path) -> str:
    """What is in a file of text, packed or not, as far as it is not too much."""
    if not path.is_file():
        raise ValueError("it is not a file")
    opened = gzip.open if path.name.endswith(".gz") else open
    with opened(path, "rb") as file:
        text: bytes = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise ValueError("it is too large for answers")
    return text.decode("utf-8")


def _columns_of_path(path: Path) -> dict[str, Any]:
    """Columns by which the folder is divided, as ``group=north``."""
    pairs = (part.split("=", 1) for part in path.parts[:-1] if "=" in part)
    return {name: None if value == _NO_VALUE else unquote(value) for name, value in pairs}
