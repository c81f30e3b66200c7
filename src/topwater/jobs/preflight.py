"""Is all there that a job needs? Asked without Spark, of the services and brokers themselves."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from typing import Any

import typer

from topwater.errors import SourceError
from topwater.jobs.display import Display
from topwater.jobs.explanation import as_dict, job_explanation
from topwater.jobs.job import ONE, Job
from topwater.jobs.remote_side import example, service_of, source_of

_PATIENCE = 5.0


def checked(job: Job, display: Display, *, as_json: bool = False) -> None:
    """Reach everything that the job reads from, and say what would run.

    Raises
    ------
    SourceError
        If a service or a broker can't be reached.
    EnvironmentProblem
        If Java is missing.
    """
    from topwater.spark.java import find_java

    java = find_java()
    reached = []
    for name, reach in _reaches(job):
        with display.waiting(f"reaching {name}"):
            reach()
        reached.append(name)
    if as_json:
        typer.echo(json.dumps({**as_dict(job), "reached": reached, "java": str(java.command)}))
        return
    typer.echo(job_explanation(job))
    typer.echo(f"\nall is there: {', '.join([*reached, f'Java at {java.command}'])}")


def _reaches(job: Job) -> Iterator[tuple[str, Any]]:
    for name, stream in job.streams.items():
        for server in _servers(stream.settings):
            yield f"{name or 'stream'} at {server[0]}:{server[1]}", lambda at=server: _reach(*at)
    for name in job.services:
        yield name or "source", lambda name=name: _ask(job, name)


def _servers(settings: Any) -> list[tuple[str, int]]:
    for attribute in ("broker", "server"):
        if (found := getattr(settings, attribute, None)) is not None:
            return [(found.host, found.port)]
    pairs = [each.strip().rpartition(":") for each in getattr(settings, "servers", "").split(",")]
    return [(host, int(port)) for host, _, port in pairs if port]


def _reach(host: str, port: int) -> None:
    try:
        with contextlib.closing(socket.create_connection((host, port), timeout=_PATIENCE)):
            pass
    except OSError as error:
        raise SourceError(
            f"nobody answers at {host}:{port} ({error.strerror or error})",
            field="stream",
            fix="check the address, and that the server runs",
        ) from None


def _ask(job: Job, name: str) -> None:
    """Ask a source whether it can be reached, as a run would at its start."""
    base = job.written.base
    with example(job.needs_example) as at:
        if job.plan is None:
            source: Any = source_of(job.services[ONE], base, at)
        else:
            from topwater.rspql.registration import source_for

            if job.plan.service is None:
                return
            source = source_for(
                job.plan.service, service_of(job.services[name], base, at), job.plan.prefixes
            )
        check = getattr(source, "check", None)
        with contextlib.closing(source) if hasattr(source, "close") else contextlib.nullcontext():
            if check is not None:
                with job.written.blamed(*(("services", name) if job.plan else ("source",))):
                    check()
