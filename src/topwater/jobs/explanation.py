"""What a job would do: the explanation of its query, with its streams, sources and sink."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from topwater.errors import QueryError
from topwater.jobs.job import Job
from topwater.jobs.job_file import ENDINGS, text_of
from topwater.jobs.loader import named_files, read_job
from topwater.jobs.remote_side import EXAMPLE, is_example
from topwater.monitor.joint_ranking import has_joint_ranking
from topwater.monitor.shards import divided_among
from topwater.redaction import redacted_addresses, shown_address, shown_path
from topwater.show.explain import Explanation, Step, explanation

_PROGRAMS = (".py", ".ipynb", ".scala", ".java", ".jar", ".r")
"""Endings of files that are neither a job nor a query."""


def job_explanation(job: Job) -> Explanation:
    """What runs, step by step, and what is exact."""
    if job.plan is None:
        whole = explanation(job.query)
    else:
        from topwater.rspql.explanation import plan_explanation

        whole = plan_explanation(job.plan)
    streams = {name: stream_text(each.settings) for name, each in job.streams.items()}
    sources = {name: source_text(each) for name, each in job.services.items()}
    steps = [Step("stream", _named(streams)), Step("sink", (_sink_text(job),))]
    if sources:
        steps.append(Step("source", (*_named(sources), *_in_shards(job))))
    return whole.with_steps(*steps)


def _in_shards(job: Job) -> Iterator[str]:
    """Who spends the budget, where keys are divided."""
    shards = job.spark.shards
    if shards == 1 or job.query.refresh is None:
        return
    if job.query.group_by is not None and divided_among(job.query, shards) > 1:
        return
    if divided_among(job.query, shards) == 1:
        yield f"all keys are ranked in one place, with one budget: {shards} shards are not used"
    elif has_joint_ranking(job.query, shards):
        yield f"{shards} shards have one budget, spent on the best of all their keys"
    elif not job.query.refresh.budget.unlimited:
        yield f"each of {shards} shards spends its part of the budget on its own keys"


def explained_file(place: str, settings: Sequence[str], *, as_json: bool = False) -> str:
    """What the job, or the query in RSP-QL, at a place would do; ``-`` is standard input.

    A query needs no description of its streams and services to be explained.

    Raises
    ------
    QueryError
        If it is neither, or can't be read.
    """
    path = Path(place)
    if path.suffix in ENDINGS:
        job = read_job(path, settings=settings)
        return json.dumps(as_dict(job)) if as_json else str(job_explanation(job))
    _refuse_program(path)
    from topwater.rspql import parse
    from topwater.rspql.explanation import plan_explanation

    if place == "-":
        plan = parse(sys.stdin.read())
    else:
        plan = parse(text_of(path, "the query"), files=named_files(path))
    whole = plan_explanation(plan)
    if not as_json:
        return str(whole)
    query = plan.query().to_dict()
    text = redacted_addresses(plan.text)
    return json.dumps({"query": query, "rspql": text, "explanation": whole.to_dict()})


def _refuse_program(path: Path) -> None:
    if path.suffix.lower() in _PROGRAMS:
        raise QueryError(
            f"{path.name} is a program, and not a job or a query in RSP-QL",
            field="explain",
            fix=f"give a job ({', '.join(ENDINGS)}) or a query (.rq); in Python, "
            "print(topwater.explain(query))",
        )


def as_dict(job: Job) -> dict[str, Any]:
    """The same as plain values, for JSON."""
    return {
        "job": str(job.written.path),
        "query": job.query.to_dict(),
        "rspql": None if job.plan is None else redacted_addresses(job.plan.text),
        "streams": {name or "stream": stream_text(s.settings) for name, s in job.streams.items()},
        "sources": {name or "source": source_text(each) for name, each in job.services.items()},
        "sink": str(job.sink),
        "promise": job.sink.promise or None,
        "checkpoint": shown_path(job.sink.checkpoint) or None,
        "packages": list(job.packages),
        "explanation": job_explanation(job).to_dict(),
    }


def _named(texts: Mapping[str, str]) -> tuple[str, ...]:
    """One line each; the only one of a query that names none goes without."""
    return tuple(f"{name}  {text}" if name else text for name, text in texts.items())


def stream_text(settings: Any) -> str:
    """A stream in a few words."""
    if table := getattr(settings, "table", ""):
        return f"the table {table}"
    for name in ("path", "url", "servers", "source"):
        if place := getattr(settings, name, ""):
            topics = ", ".join(getattr(settings, "topics", ()))
            if getattr(settings, "servers", ""):
                topics = topics or settings.pattern
            where = shown_path(place)
            return f"{settings.kind}, {settings.format}: {where}{topics and f' {topics}'}"
    return f"{settings.kind}, {settings.format}"


def source_text(given: Any) -> str:
    """A source in a few words, without anything that may be secret."""
    if is_example(given):
        return f"{EXAMPLE}, started for the run"
    if not isinstance(given, Mapping):
        return shown_address(given)
    if given.get("kind") in ("python", "memory"):
        return str(given.get("object", "values in memory"))
    return shown_address(given.get("url", ""))


def _sink_text(job: Job) -> str:
    sink = job.sink
    kept = f"; how far it came: {shown_path(sink.checkpoint)}" if sink.checkpoint else ""
    promise = f": {sink.promise}" if sink.promise else ""
    return f"{'the terminal' if sink.kind == 'console' else sink}{promise}{kept}"
