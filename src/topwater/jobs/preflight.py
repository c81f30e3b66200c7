"""Is all there that a job needs? Asked without Spark, of the services and brokers themselves."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import typer

from topwater.errors import SourceError
from topwater.jobs.display import Display
from topwater.jobs.explanation import as_dict, job_explanation
from topwater.jobs.first_keys import first_keys
from topwater.jobs.job import ONE, Job
from topwater.jobs.key_texts import key_of_text
from topwater.jobs.remote_side import example, service_of, source_of
from topwater.jobs.table_query import source_place
from topwater.model import Key
from topwater.query import TopKQuery
from topwater.remote import Look
from topwater.remote.look import NoValue, UnknownKey
from topwater.remote.look import checked as checked_source
from topwater.replica.joins.join import Join
from topwater.show.console import plain as plain_text
from topwater.validation import Address, address_of

_PATIENCE = 5.0


def checked(job: Job, display: Display, *, as_json: bool = False, key: Key | None = None) -> None:
    """Reach everything that the job reads from, look a key up, and say what would run.

    Parameters
    ----------
    job, display
        What is checked, and where it is said what goes on.
    as_json
        Whether the result is one JSON object.
    key
        What is looked up; by default the first key of the stream that has a value, if the stream
        is recorded.

    Raises
    ------
    SourceError
        If a service or a broker can't be reached, or gives no usable value.
    EnvironmentProblem
        If Java is missing.
    """
    from topwater.spark.java import find_java

    java = find_java()
    keys = _to_look_up(job, key)
    reached, looks = [], {}
    for name, reach in _reaches(job, keys):
        with display.waiting(f"reaching {name}"):
            looks[name] = reach()
        reached.append(name)
    if as_json:
        told = {name: asdict(look) for name, look in looks.items() if look is not None}
        plain = {**as_dict(job), "reached": reached, "java": str(java.command), "looked_up": told}
        typer.echo(json.dumps(plain))
        return
    typer.echo(job_explanation(job))
    typer.echo("")
    for name, look in looks.items():
        if look is not None:
            typer.echo(f"{name}: {plain_text(str(look))}")
    typer.echo(f"all is there: {', '.join([*reached, f'Java at {java.command}'])}")
    if job.services and not keys:
        typer.echo("but nothing was looked up: name a key that the service knows, with --key")


def _to_look_up(job: Job, key: Key | None) -> list[Key]:
    if not job.services:
        return []
    if key is None:
        return first_keys(job)
    if job.plan is not None:
        from topwater.rspql import full_name

        return [full_name(str(key), job.plan.prefixes)]
    columns = {name: kind for each in job.streams.values() for name, kind in each.columns.items()}
    return [key_of_text(str(key), job.query, columns)]


def _reaches(job: Job, keys: Sequence[Key]) -> Iterator[tuple[str, Any]]:
    for name, stream in job.streams.items():
        for server in _servers(stream.settings):
            yield f"{name or 'stream'} at {server}", lambda at=server: _reach(at)
    for name in job.services:
        asked = _keys_of(job, name, keys)
        yield name or "source", lambda name=name, asked=asked: _ask(job, name, asked)


def _keys_of(job: Job, name: str, keys: Sequence[Key]) -> Sequence[Key]:
    """By what a source is asked: the ranked keys, or what a column of the stream holds."""
    if job.plan is not None or job.query.joins is None:
        return keys
    asking = [each for each in job.query.joins.joins if name in (ONE, each.source)]
    if any(each.key is None for each in asking):
        return keys
    return first_keys(job, tuple(column_of(job.query, each) for each in asking[:1]))


def column_of(query: TopKQuery, join: Join) -> str:
    """The column of the stream that holds what a value is looked up by."""
    assert query.aggregation is not None  # noqa: S101  joins are of aggregates
    return query.aggregation.aggregates[join.key or ""].column or ""


def _servers(settings: Any) -> list[Address]:
    for attribute in ("broker", "server"):
        if (found := getattr(settings, attribute, None)) is not None:
            return [found]
    named = [each.strip() for each in getattr(settings, "servers", "").split(",")]
    return [address_of(f"kafka://{each}", {"kafka": 0}, "servers") for each in named if each]


def _reach(server: Address) -> None:
    try:
        place = (server.host, server.port)
        with contextlib.closing(socket.create_connection(place, timeout=_PATIENCE)):
            pass
    except OSError as error:
        raise SourceError(
            f"nothing answers at {server} ({error.strerror or error})",
            field="stream",
            fix="check the address, and that the server runs",
        ) from None


def _ask(job: Job, name: str, keys: Sequence[Key]) -> Look | None:
    """Ask a source for a key, as a run would; or if there is none, whether it can be reached."""
    base = job.written.base
    with example(job.needs_example) as at:
        if job.plan is None:
            source: Any = source_of(job.services[name], base, at)
        else:
            from topwater.rspql import full_name
            from topwater.rspql.registration import source_for

            whole = full_name(name, job.plan.prefixes)
            asked = [each for each in job.plan.services if str(each.name) == whole]
            if not asked:
                return None
            given = service_of(job.services[name], base, at)
            source = source_for(asked[0], given, job.plan.prefixes)
            # What else is looked up by, the first keys do not tell.
            keys = keys if asked[0].by is None else ()
        place = ("services", name) if job.plan else source_place(name)
        closing = contextlib.closing(source) if hasattr(source, "close") else None
        with closing or contextlib.nullcontext(), job.written.blamed(*place):
            return _look(source, keys)


def _look(source: Any, keys: Sequence[Key]) -> Look | None:
    """What the source says of the first key of which it has a value."""
    if not keys:
        return checked_source(source)
    problems: list[NoValue] = []
    for key in keys:
        try:
            return checked_source(source, key)
        except NoValue as error:
            problems.append(error)
    # A reply that can't be used tells more than a key that is unknown.
    first = next((each for each in problems if not isinstance(each, UnknownKey)), problems[0])
    told = first.problem.removeprefix(f"{first.field}: ")
    if len(keys) > 1:
        told = f"none of the first {len(keys)} keys of the stream has a usable value; {told}"
    raise NoValue(told, field=first.field, fix=first.fix)
