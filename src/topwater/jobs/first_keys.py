"""The first keys of a job's stream, where they can be read without starting anything."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from topwater.jobs.job import Job
from topwater.jobs.key_texts import key_from
from topwater.model import Key
from topwater.streams.kinds import FilesStream, ReplayStream
from topwater.streams.schema import columns

if TYPE_CHECKING:
    from topwater.rspql import Plan

MOST = 5
"""Keys that are tried: the first may be one that the service does not know."""

_LINES = 2_000


def first_keys(job: Job, columns: tuple[str, ...] = ()) -> list[Key]:
    """The first distinct keys of the stream, in order; none where only Spark could say.

    Files that can't be read tell none: that is for the run to say. ``columns`` are those of the
    keys, if these are not the ranked ones.
    """
    found: dict[Key, None] = {}
    try:
        for key in _keys(job, columns or job.query.key_columns):
            found[key] = None
            if len(found) == MOST:
                break
    except (OSError, ValueError, LookupError, TypeError, csv.Error, pa.ArrowException):
        pass
    return list(found)


def _keys(job: Job, columns: tuple[str, ...]) -> Iterator[Key]:
    for name, stream in job.streams.items():
        settings = stream.settings
        if not isinstance(settings, FilesStream | ReplayStream):
            continue
        for file in _files(settings):
            if job.plan is not None:
                if settings.rdf and not stream.mapped:
                    yield from _terms(job.plan, name, file, settings.format)
            else:
                yield from _values(file, settings, columns)


def _files(settings: FilesStream | ReplayStream) -> list[Path]:
    path = Path(settings.path)
    if path.is_file():
        return [path]
    names = sorted(each for each in path.iterdir() if each.is_file())
    pattern = settings.pattern or "*"
    return [
        each
        for each in names
        if not each.name.startswith(("_", ".")) and fnmatchcase(each.name, pattern)
    ][:MOST]


def _values(
    file: Path, settings: FilesStream | ReplayStream, names: tuple[str, ...]
) -> Iterator[Key]:
    """What the key's columns hold in the first rows of a file."""
    known = columns(settings.schema) if settings.schema else {}
    kinds = [known.get(name, "") for name in names]
    for cells in zip(*(_cells(file, settings, name) for name in names), strict=False):
        if (found := key_from(cells, kinds)) is not None:
            yield found


def _cells(file: Path, settings: FilesStream | ReplayStream, key: str) -> list[Any]:
    """What a column holds in the first rows of a file."""
    if settings.format == "parquet":
        with pq.ParquetFile(file) as opened:
            batch = next(opened.iter_batches(_LINES, columns=[key]), None)
        return [] if batch is None else batch.column(0).to_pylist()
    if settings.format == "csv":
        return [*_csv_cells(file, settings, key)]
    return [_cell(line, key) for line in _lines(file)]


def _cell(line: str, key: str) -> Any:
    """What a line of JSON has in a column; nothing if it can't be read: the run counts it."""
    try:
        return json.loads(line)[key]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _csv_cells(file: Path, settings: FilesStream | ReplayStream, key: str) -> list[str]:
    rows = csv.reader(_lines(file))
    head = next(rows, []) if settings.header else []
    # Spark takes the columns of a schema by their places, whatever the first line says.
    names = list(columns(settings.schema)) if settings.schema else head
    place = names.index(key)
    return [row[place] for row in rows if len(row) > place]


def _lines(file: Path) -> list[str]:
    with file.open(encoding="utf-8", errors="replace") as lines:
        return [line for line in islice(lines, _LINES) if line.strip()]


def _terms(plan: Plan, stream: str, file: Path, form: str) -> Iterator[Key]:
    """The keys of a query's first solutions over lines of RDF."""
    from rdflib import URIRef

    from topwater.rspql import full_name
    from topwater.rspql.rdf.event_format import Documents
    from topwater.rspql.rdf.pattern_match import Matcher

    if len(plan.keys) > 1:  # a service is asked for one of them
        return
    lines = [line.rstrip("\n") for line in _lines(file)]
    texts = lines if form == "jsonld" else [line.partition("\t")[2] for line in lines]
    table = pa.table({"value": pa.array(texts, pa.string()), "time": pa.array([0] * len(texts))})
    name = URIRef(full_name(stream, plan.prefixes))
    found = Matcher.of(plan, name, Documents("value", "time", form)).match(table)  # type: ignore[arg-type]
    for key in found.column(plan.key).cast(pa.string()).to_pylist():
        if key and "\0" not in key:  # the mark of a row that only tells the time
            yield key
