"""Jobs whose query is a table: ``[query]``, ``[stream]``, ``[source]`` or ``[sources.NAME]``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeAlias

from topwater.errors import QueryError
from topwater.jobs.job import ONE, Job, job_of, sink_of
from topwater.jobs.job_file import Written
from topwater.jobs.job_streams import JobStream, stream_of
from topwater.jobs.remote_side import source_of
from topwater.monitor.source_table import SourceTable
from topwater.query import TopKQuery
from topwater.query.answer_columns import AnswerColumns
from topwater.replica.joins.join_settings import JoinSettings
from topwater.validation import millis, nearest, setting_names, shown, suggestion
from topwater.windows import Windows

Fitting: TypeAlias = tuple[frozenset[str], str]
"""The types that a column may have, and what to do if it has another."""
TABLES = ("query", "stream", "source", "sources", "sink", "spark", "live")
_WHOLE = frozenset({"bigint", "byte", "int", "integer", "long", "short", "smallint", "tinyint"})
_MOMENTS = frozenset({"date", "timestamp", "timestamp_ltz", "timestamp_ntz"})
_TEXTS = frozenset({"char", "string", "varchar"})
_KEY = (
    _WHOLE | _MOMENTS | _TEXTS | {"boolean", "dec", "decimal", "numeric"},
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
_SHOWN = (_NUMBER[0] | _TEXTS, "use text, or a number")
_BY = (_WHOLE | _TEXTS, "values are looked up by text or whole numbers: cast it to one of them")
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
    services = _services(written)
    sink = sink_of(written)
    stream = stream_of(written, ("stream",), written.table("stream"), sink)
    _check_sources(written, query, services)
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
    """Refuse what depends on the order of events, and keys that can't stand in the answers."""
    with written.blamed("query"):
        AnswerColumns.of(query)
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


def _services(written: Written) -> dict[str, Any]:
    """What is asked, by name: the settings of ``[source]``, or of each of ``[sources]``."""
    if "source" in written.said and "sources" in written.said:
        raise written.error(
            "stands beside [sources]", ("source",), "name it as well, as [sources.shop]"
        )
    services: dict[str, Any] = written.table("sources")
    if "source" in written.said:
        services[ONE] = written.table("source")
        for name, given in services[ONE].items():
            if isinstance(given, Mapping) and {"kind", "url"}.intersection(given):
                what = "is a source by a name, and [source] is the only one"
                raise written.error(what, ("source", name), f"write [sources.{name}]")
    for name, given in services.items():
        place = source_place(name)
        if not isinstance(given, Mapping):
            fix = f"write [sources.{name}] above its settings"
            raise written.error("must be a table", place, fix)
        with written.blamed(*place):
            source_of(given, written.base)
    return services


def source_place(name: str) -> tuple[str, ...]:
    """Where the settings of a source stand."""
    return ("sources", name) if name else ("source",)


def _check_sources(written: Written, query: TopKQuery, services: Mapping[str, Any]) -> None:
    """Raise unless all that the query looks up comes from somewhere, and all sources are asked."""
    if query.single is not None and not services:
        raise written.error(
            f"the remote value {query.single.remote!r} comes from nowhere",
            ("query", "refresh"),
            "write [source] with a url, or leave refresh out",
        )
    if query.refresh is None and services:
        raise written.error(
            "is never asked: the query has no remote part",
            source_place(next(iter(services))),
            'write refresh = "NAME" in [query], and use NAME in the score; or leave it out',
        )
    if query.single is not None and len(services) > 1:
        raise written.error(
            f"the remote value {query.single.remote!r} may come from {' or '.join(services)}",
            ("query", "refresh"),
            f'say from which: refresh = {{remote = …, from = "{next(iter(services))}"}}',
        )
    if query.joins is not None:
        _check_named(written, query.joins, services)
        made = {name: source_of(each, written.base) for name, each in services.items()}
        with written.blamed(*(("source",) if ONE in services else ())):
            SourceTable.of(query, made.get(ONE, made))


def _check_named(written: Written, joins: JoinSettings, services: Mapping[str, Any]) -> None:
    """Raise unless the sources that a query names are those that there are."""
    if [*services] == [ONE] and len(joins.sources) == 1:
        return  # the only one needs no name
    for name in joins.sources:
        if name not in services:
            near = nearest(name, services)
            raise written.error(
                f"the query names the source {name!r}, which is nowhere",
                ("query", "refresh"),
                f"did you mean {near}?" if near else f"write [sources.{name}] with a url",
            )
    for name in services:
        if name not in joins.sources:
            what = f"is never asked: the query names {', '.join(joins.sources)}"
            fix = 'name it in refresh, as from = "NAME"; or leave it out'
            raise written.error(what, source_place(name), fix)


def _check_columns(written: Written, query: TopKQuery, stream: JobStream) -> None:
    """What the query reads is in the stream, as far as its columns are known."""
    known = stream.columns
    if not known:
        return
    named = {"key": query.key_columns, "time": (query.time,), "group_by": query.group_columns}
    used = [(name, each) for name, columns in named.items() for each in columns if each is not None]
    for setting, column, (fitting, fix) in [
        *((setting, column, _FITTING[setting]) for setting, column in used),
        *_values_read(query),
    ]:
        if column not in known:
            fix = suggestion(column, known)
            raise written.error(f"the stream has no column {column!r}", ("query", setting), fix)
        if known[column] not in fitting:
            problem = f"the column {column!r} is of type {known[column]}"
            raise written.error(problem, ("query", setting), fix)


def _values_read(query: TopKQuery) -> Iterator[tuple[str, str, Fitting]]:
    """The setting that names a column beside keys and times, the column, and what it may hold."""
    if query.aggregation is None:
        yield from (("score", name, _NUMBER) for name in query.value_columns)
        return
    for name, each in query.aggregation.aggregates.items():
        if each.column is not None:
            fitting = _NUMBER
            if name in query.label_names:
                fitting = _BY if name in query.lookup_names else _SHOWN
            yield "take", each.column, fitting
