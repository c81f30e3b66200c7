"""What a job would do, as a person would draw it, and as plain values."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from topwater.jobs.files import ENDINGS, text_of
from topwater.jobs.job import ONE, Job, read_job
from topwater.jobs.sources import EXAMPLE, is_example
from topwater.query import TopKQuery
from topwater.replica import Budget
from topwater.topk.changing import changing
from topwater.windows import span


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
    return "\n".join([*lines, "", *_promises(job.query)])


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
    return f"{scheme}{mark}{rest.partition('?')[0].rpartition('@')[2]}"


def _boxes(job: Job) -> Iterator[tuple[str, str]]:
    query = job.query
    yield "stream", streamed(job.streams[ONE].settings)
    yield "window", f"the last {span(query.window.width)}, every {span(query.window.step)}"
    if not isinstance(query.take, str):
        taken = ", ".join(f"{name} = {text}" for name, text in query.take.items())
        yield "take", f"{taken}  for each {query.key} of a window"
    if query.group_by is not None:
        yield "groups", f"one ranking for each {query.group_by}"
    if query.refresh is not None:
        told = f"{query.refresh.remote} for each {query.key}, from {asked(job.services[ONE])}"
        yield "remote", told
        yield "policy", f"{query.refresh.policy}: {_spent(query.refresh.budget)}"
    yield "score", f"{_score(query)}  the {query.score.order} first"
    yield "list", _kept(query)
    yield "answers", _out(job)


def _score(query: TopKQuery) -> str:
    told = query.score.to_dict()
    return str(told.get("text", told["kind"]))


def _spent(budget: Budget) -> str:
    if budget.deadline is not None:
        return f"as many look-ups as end {span(budget.deadline)} after a window's close"
    return "no limit on look-ups" if budget.unlimited else f"{budget.fetches} look-ups a window"


def _kept(query: TopKQuery) -> str:
    panes = query.window.panes_per_window
    if query.take == "each":
        most = query.k * panes
        return f"{query.list}, at most k of each pane: {query.k} × {panes} = {most:,} items"
    if query.list in changing and query.refresh is not None:
        most = (query.k + query.refresh.spare) * query.window.overlap
        return f"{query.list}, at most {most:,} keys"
    return f"one row for each {query.key} in each of {panes} panes: it grows with the keys"


def _out(job: Job) -> str:
    kept = f"; how far it came: {job.sink.checkpoint}" if job.sink.checkpoint else ""
    return f"{'the terminal' if job.sink.kind == 'console' else job.sink}{kept}"


def _promises(query: TopKQuery) -> Iterator[str]:
    if query.refresh is None:
        yield "exact: every answer"
    elif query.refresh.budget.unlimited:
        yield "exact: every answer, as of the moment when its values were looked up"
    else:
        yield "approximate: values that were not looked up for a window may have changed since;"
        yield "every answer tells how right it probably is, and each row how old its value is"
