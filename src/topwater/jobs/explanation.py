"""What a job would do, as a person would draw it, and as plain values."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from topwater.jobs.job import ONE, Job
from topwater.jobs.job_file import ENDINGS, text_of
from topwater.jobs.loader import read_job
from topwater.jobs.remote_side import EXAMPLE, is_example
from topwater.show.explain import promise, steps


def explained(job: Job) -> str:
    """What runs, step by step; for a query in RSP-QL also what is exact, and why."""
    if job.plan is not None:
        from topwater.rspql import explain

        told = [explain(job.plan), ""]
        told += [f"stream {name}: {streamed(each.settings)}" for name, each in job.streams.items()]
        told += [f"service {name}: {asked(each)}" for name, each in job.services.items()]
        return "\n".join([*told, f"answers: {_out(job)}"])
    boxes = list(_boxes(job))
    lines = [f"the {job.query.k} best of each window"]
    for number, (title, text) in enumerate(boxes):
        lines += ["" if number == 0 else "     │", f"  {title:<8} {text}"]
    return "\n".join([*lines, "", textwrap.fill(promise(job.query), 98)])


def explained_file(place: str, settings: Sequence[str], *, as_json: bool = False) -> str:
    """What the job, or the query in RSP-QL, at a place would do; ``-`` is standard input.

    A query needs no description of its streams and services to be explained.
    """
    path = Path(place)
    if path.suffix in ENDINGS:
        job = read_job(path, settings=settings)
        return json.dumps(as_dict(job)) if as_json else explained(job)
    from topwater.rspql import explain, parse

    plan = parse(sys.stdin.read() if place == "-" else text_of(path, "the query"))
    if not as_json:
        return explain(plan)
    return json.dumps({"query": plan.query().to_dict(), "rspql": plan.text})


def as_dict(job: Job) -> dict[str, Any]:
    """The same as plain values, for JSON."""
    return {
        "job": str(job.written.path),
        "query": job.query.to_dict(),
        "rspql": None if job.plan is None else job.plan.text,
        "streams": {name or "stream": streamed(s.settings) for name, s in job.streams.items()},
        "sources": {name or "source": asked(each) for name, each in job.services.items()},
        "sink": str(job.sink),
        "checkpoint": job.sink.checkpoint or None,
        "packages": list(job.packages),
    }


def streamed(settings: Any) -> str:
    """A stream in a few words."""
    for name in ("path", "url", "servers", "source"):
        if place := getattr(settings, name, ""):
            topics = ", ".join(getattr(settings, "topics", ()))
            return f"{settings.kind}, {settings.format}: {place}{topics and f' {topics}'}"
    return f"{settings.kind}, {settings.format}"


def asked(given: Any) -> str:
    """A source in a few words, without anything that may be secret."""
    if is_example(given):
        return f"{EXAMPLE}, started for the run"
    if not isinstance(given, Mapping):
        return _bare(given)
    if given.get("kind") in ("python", "memory"):
        return str(given.get("object", "values in memory"))
    return _bare(str(given.get("url", "")))


def _bare(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    if scheme in ("http", "https"):
        rest = rest.partition("?")[0]
    # A password of a database may hold a question mark.
    return f"{scheme}{mark}{rest.rpartition('@')[2].partition('?')[0]}"


def _boxes(job: Job) -> Iterator[tuple[str, str]]:
    yield "stream", streamed(job.streams[ONE].settings)
    for title, text in steps(job.query):
        yield title, text
        if title == "remote":
            yield "source", asked(job.services[ONE])
    yield "answers", _out(job)


def _out(job: Job) -> str:
    kept = f"; how far it came: {job.sink.checkpoint}" if job.sink.checkpoint else ""
    return f"{'the terminal' if job.sink.kind == 'console' else job.sink}{kept}"
