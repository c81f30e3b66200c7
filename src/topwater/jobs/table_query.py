"""Jobs whose query is a table: ``[query]``, ``[stream]``, ``[source]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from topwater.errors import QueryError
from topwater.jobs.job import ONE, Job, job_of, sink_of
from topwater.jobs.job_file import Written
from topwater.jobs.job_streams import JobStream, stream_of
from topwater.jobs.remote_side import source_of
from topwater.query import TopKQuery
from topwater.validation import millis, setting_names, shown, suggestion
from topwater.windows import Windows

TABLES = ("query", "stream", "source", "sink", "spark", "live")
_WHOLE = frozenset({"bigint", "byte", "int", "integer", "long", "short", "smallint", "tinyint"})
_MOMENTS = frozenset({"date", "timestamp", "timestamp_ltz", "timestamp_ntz"})
_KEY = (
    _WHOLE | _MOMENTS | {"boolean", "char", "dec", "decimal", "numeric", "string", "varchar"},
    "use text, whole numbers, dates, timestamps, decimals or booleans",
)
_TIME = (
    _WHOLE | _MOMENTS,
    "use a timestamp, or a bigint of milliseconds since 1970",
)
_NUMBER = (
    _WHOLE | {"boolean", "dec", "decimal", "double", "float", "numeric", "real"},
    "use a number: say so in the schema of the stream",
)
_FITTING = {"key": _KEY, "group_by": _KEY, "time": _TIME}
_REFRESH = (("refresh",), ("refresh", "budget"))


def plain_job(written: Written) -> Job:
    """The job that a file describes in tables alone."""
    written.require_known((), written.said, TABLES)
    for name in ("query", "stream"):
        if name not in written.said:
            raise written.error(
                "there is no such table", (name,), f"write [{name}] and its settings"
            )
    query = query_of(written)
    _check_host(written, query)
    services: dict[str, Any] = {}
    if "source" in written.said:
        services[ONE] = written.table("source")
        with written.blamed("source"):
            source_of(services[ONE], written.base)
    sink = sink_of(written)
    stream = stream_of(written, ("stream",), written.table("stream"), sink)
    _check_source(written, query)
    _check_columns(written, query, stream)
    return job_of(written, query, None, {ONE: stream}, services, sink)


def query_of(written: Written) -> TopKQuery:
    """The table ``[query]`` as a query; its window may be text."""
    given = written.table("query")
    written.require_known(("query",), given, [*setting_names(TopKQuery), "rspql"])
    if isinstance(window := given.get("window"), Mapping):
        written.require_known(("query", "window"), window, [each.name for each in fields(Windows)])
    with written.blamed("query", inner=_REFRESH):
        return TopKQuery.from_dict(
            {**given, "window": _window(given)} if "window" in given else given
        )


def _window(given: Mapping[str, Any]) -> Any:
    window = given["window"]
    if isinstance(window, str):
        return _window_in_words(window)
    if isinstance(window, Mapping) and "step" not in window and "width" in window:
        return {**window, "step": window["width"]}
    return window


def _window_in_words(window: str) -> dict[str, int]:
    text = " ".join(window.lower().split()).removeprefix("the last ")
    width, every, step = text.partition("every ")
    width = width.rstrip().removesuffix(",")
    try:
        return {"width": millis(width), "step": millis(step if every else width)}
    except QueryError:
        raise QueryError(
            f"{shown(window)} is not a window",
            field="window",
            fix='write "9 min every 3 min", or "10 min" for windows side by side',
        ) from None


def _check_host(written: Written, query: TopKQuery) -> None:
    """Refuse what depends on the order of events, which Spark does not keep."""
    for setting, wrong, instead in (
        ("window", query.window.by == "count", "use time windows"),
        ("score", bool(query.score.running), "declare each range as [low, high]"),
    ):
        if wrong:
            raise written.error(
                "depends on the order of events, which Spark does not keep",
                ("query", setting),
                f"{instead}, or run the query with topwater.local",
            )


def _check_source(written: Written, query: TopKQuery) -> None:
    if query.joins is not None:
        raise written.error(
            "several remote values, and filters on them, are answered in process so far",
            ("query", "refresh"),
            "run the query with topwater.run(query, batches, sources={…})",
        )
    if query.single is not None and "source" not in written.said:
        raise written.error(
            f"the remote value {query.single.remote!r} comes from nowhere",
            ("query", "refresh"),
            "write [source] with a url, or leave refresh out",
        )
    if query.refresh is None and "source" in written.said:
        raise written.error(
            "is never asked: the query has no remote part",
            ("source",),
            'write refresh = "NAME" in [query], and use NAME in the score; or leave it out',
        )


def _check_columns(written: Written, query: TopKQuery, stream: JobStream) -> None:
    """What the query reads is in the stream, as far as its columns are known."""
    known = stream.columns
    if not known:
        return
    named = {"key": query.key_columns, "time": (query.time,), "group_by": query.group_columns}
    used = [(name, each) for name, columns in named.items() for each in columns if each is not None]
    where = "score" if query.take == "each" else "take"
    for setting, column in [*used, *((where, name) for name in query.value_columns)]:
        if column not in known:
            fix = suggestion(column, known)
            raise written.error(f"the stream has no column {column!r}", ("query", setting), fix)
        fitting, fix = _FITTING.get(setting, _NUMBER)
        if known[column] not in fitting:
            problem = f"the column {column!r} is of type {known[column]}"
            raise written.error(problem, ("query", setting), fix)
