"""Files → jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from topwater.errors import QueryError
from topwater.jobs.job import Job
from topwater.jobs.job_file import ENDINGS, Written, overridden, read, text_of
from topwater.jobs.rspql_query import rspql_job
from topwater.jobs.table_query import plain_job
from topwater.validation import shown

QUERIES = (".rq", ".rspql", ".sparql", "")
"""The endings of files that hold a query in RSP-QL."""


def read_job(
    path: str | Path,
    *,
    streams: Sequence[str] = (),
    services: Sequence[str] = (),
    files: Sequence[str] = (),
    settings: Sequence[str] = (),
) -> Job:
    """The job in a file, and what the command line says instead.

    Parameters
    ----------
    path
        A query in RSP-QL, ``*.rq``, with or without a description of the same name beside it;
        or a description, ``*.toml``, ``*.yaml`` or ``*.yml``.
    streams, services, files
        ``NAME=PLACE``, for a query in RSP-QL.
    settings
        ``TABLE.NAME=VALUE``.

    Raises
    ------
    QueryError
        If a file can't be read, or something in it can't work, with its line.
    """
    written = overridden(_written(Path(path)), settings)
    for option, table, given in (
        ("--stream", "streams", streams),
        ("--service", "services", services),
        ("--file", "files", files),
    ):
        named = dict(_pair(each, option) for each in given)
        if named:
            said = {**written.said, table: {**written.table(table), **named}}
            places = frozenset((table, name) for name in named)
            written = replace(written, said=said, overridden=written.overridden | places)
    asks = written.table("query")
    return rspql_job(written) if "rspql" in asks else plain_job(written)


def named_files(path: Path) -> tuple[str, ...]:
    """What the description beside a query names as files of static data."""
    return tuple(_written(path).table("files")) if path.suffix in QUERIES else ()


def _written(path: Path) -> Written:
    if path.suffix in ENDINGS:
        return read(path)
    text_of(path, "the query")
    if path.suffix not in QUERIES:
        raise QueryError(
            f"the name of {path.name} does not say what it holds",
            fix="name it *.rq if it is a query in RSP-QL, *.toml or *.yaml if it describes a job",
        )
    beside = [found for end in ENDINGS if (found := path.with_suffix(end)).is_file()]
    if len(beside) > 1:
        raise QueryError(
            f"{beside[0].name} and {beside[1].name} both describe {path.name}", fix="keep one"
        )
    about = read(beside[0]) if beside else Written(path, {})
    query = {**about.table("query"), "rspql": path.name}
    return replace(about, said={**about.said, "query": query})


def _pair(given: str, option: str) -> tuple[str, str]:
    name, equals, place = given.partition(">=" if given.startswith("<") else "=")
    name += ">" if given.startswith("<") and equals else ""
    if not equals or not name or not place:
        raise QueryError(
            f"{shown(given)} is not NAME=PLACE", field=option, fix=f"write {option} :S=folder"
        )
    return name, place if option == "--service" else str(Path(place).absolute())
