"""A job: a query, its streams, its remote side, and where the answers go; all checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topwater.errors import QueryError
from topwater.jobs.files import ENDINGS, Written, meant, overridden, read, text_of
from topwater.jobs.settings import LiveSettings, SparkSettings, settings_of
from topwater.jobs.sinks import Sink
from topwater.jobs.sources import is_example, service_of, source_of
from topwater.jobs.streaming import JobStream, stream_of
from topwater.query import TopKQuery
from topwater.windows import Windows

if TYPE_CHECKING:
    from topwater.rspql import Plan

ONE = ""
"""The name of the only stream, and of the only source, of a query that names none."""

_TABLES = ("query", "stream", "source", "sink", "spark", "live")
_RSPQL_TABLES = ("query", "streams", "services", "sink", "spark", "live")
_WINDOW = re.compile(r"\s*(?:the last\s+)?(.+?)(?:\s*,?\s*every\s+(.+?))?\s*", re.IGNORECASE)
_SERVICE_FIX = r"pass --service '\1=URL', or write it under [services]"
_REFRESH = (("refresh",), ("refresh", "budget"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What ``topwater run`` runs.

    Attributes
    ----------
    written
        What the file says.
    query
        What is answered.
    plan
        Of a query in RSP-QL.
    streams, services
        By name; a query that is not in RSP-QL has one of each at most, named ``""``.
    sink, spark, live
        Where answers go, and how it runs.
    """

    written: Written
    query: TopKQuery
    plan: Plan | None
    streams: Mapping[str, JobStream]
    services: Mapping[str, Any]
    sink: Sink
    spark: SparkSettings
    live: LiveSettings

    @property
    def name(self) -> str:
        """That of its file, without the ending."""
        return self.written.path.stem

    @property
    def packages(self) -> tuple[str, ...]:
        """The Maven coordinates that the session needs, each once."""
        streams = [name for each in self.streams.values() for name in each.settings.packages]
        return tuple(dict.fromkeys([*self.spark.packages, *streams, *self.sink.packages]))

    @property
    def needs_example(self) -> bool:
        """Whether the example service is asked."""
        return any(is_example(each) for each in self.services.values())

    @property
    def wants_live(self) -> bool:
        """Whether the job itself asks for a live page."""
        return "live" in self.written.said


def read_job(
    path: Path,
    *,
    streams: Sequence[str] = (),
    services: Sequence[str] = (),
    settings: Sequence[str] = (),
) -> Job:
    """The job in a file, and what the command line says instead.

    Parameters
    ----------
    path
        A query in RSP-QL, ``*.rq``, with or without a description of the same name beside it;
        or a description, ``*.toml``, ``*.yaml`` or ``*.yml``.
    streams, services
        ``NAME=PLACE``, for a query in RSP-QL.
    settings
        ``TABLE.NAME=VALUE``.

    Raises
    ------
    QueryError
        If a file can't be read, or something in it can't work, with its line.
    """
    written = overridden(_written(path), settings)
    for option, table, given in (
        ("--stream", "streams", streams),
        ("--service", "services", services),
    ):
        named = dict(_pair(each, option) for each in given)
        if named:
            said = {**written.said, table: {**written.table(table), **named}}
            places = frozenset((table, name) for name in named)
            written = replace(written, said=said, overridden=written.overridden | places)
    asks = written.table("query")
    return _rspql_job(written) if "rspql" in asks else _plain_job(written)


def _written(path: Path) -> Written:
    if path.suffix in ENDINGS:
        return read(path)
    # Anything else is taken for a query in RSP-QL.
    text_of(path, "the query")
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
            f"{given!r} is no NAME=PLACE", field=option, fix=f"write {option} :S=folder"
        )
    return name, str(Path(place).absolute()) if option == "--stream" else place


def _plain_job(written: Written) -> Job:
    written.require_known((), written.said, _TABLES)
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
    sink = _sink(written)
    stream = stream_of(written, ("stream",), written.table("stream"), sink)
    _check_source(written, query)
    _check_columns(written, query, stream)
    return _job(written, query, None, {ONE: stream}, services, sink)


def query_of(written: Written) -> TopKQuery:
    """The table ``[query]`` as a query; its window may be text."""
    given = written.table("query")
    names = [each.name for each in fields(TopKQuery)]
    written.require_known(("query",), given, [*names, "rspql"])
    if isinstance(window := given.get("window"), Mapping):
        written.require_known(("query", "window"), window, [each.name for each in fields(Windows)])
    with written.blamed("query", inner=_REFRESH):
        return TopKQuery.from_dict(
            {**given, "window": _window(given)} if "window" in given else given
        )


def _window(given: Mapping[str, Any]) -> Any:
    window = given["window"]
    if isinstance(window, str) and (found := _WINDOW.fullmatch(window)):
        return {"width": found[1], "step": found[2] or found[1]}
    if isinstance(window, Mapping) and "step" not in window and "width" in window:
        return {**window, "step": window["width"]}
    return window


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
    if query.refresh is not None and "source" not in written.said:
        raise written.error(
            f"the remote value {query.refresh.remote!r} comes from nowhere",
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
    named = {"key": query.key, "time": query.time, "group_by": query.group_by}
    used = [(name, column) for name, column in named.items() if column is not None]
    where = "score" if query.take == "each" else "take"
    for setting, column in [*used, *((where, name) for name in query.value_columns)]:
        if column not in known:
            raise written.error(
                f"the stream has no column {column!r}", ("query", setting), meant(column, known)
            )


def _rspql_job(written: Written) -> Job:
    from topwater.rspql import full_name, parse

    written.require_known((), written.said, _RSPQL_TABLES)
    asks = written.table("query")
    written.require_known(("query",), asks, ["rspql"])
    path = written.base / str(asks["rspql"])
    services = written.table("services")
    try:
        plan = parse(text_of(path, "the query"), services=services)
    except QueryError as error:
        fix = re.sub(r"pass services=\{'?(.+?)'?: …\}", _SERVICE_FIX, error.fix)
        raise QueryError(f"{path}, {error.problem}", fix=fix) from None
    _require_time(plan, path)
    for name, given in services.items():
        with written.blamed("services", name):
            _check_service(plan, name, given, written.base)
    sink = _sink(written)
    tables = {
        name: {"path": t} if isinstance(t, str) else t
        for name, t in written.table("streams").items()
    }
    streams = {
        name: stream_of(written, ("streams", name), given, sink, rdf=True)
        for name, given in tables.items()
    }
    known = {full_name(name, plan.prefixes) for name in streams}
    for window in plan.windows:
        if str(window.stream) not in known:
            raise written.error(
                f"the stream <{window.stream}> is nowhere",
                ("streams",),
                f"pass --stream '<{window.stream}>=FOLDER', or write it under [streams]",
            )
    return _job(written, plan.query(), plan, streams, services, sink)


def _require_time(plan: Plan, path: Path) -> None:
    if plan.windows[0].by == "count":
        raise QueryError(
            f"{path}: windows by count depend on the order of events, which Spark does not keep",
            fix="write [RANGE PT9M STEP PT3M], or run it in Python: topwater.local.rspql",
        )


def _check_service(plan: Plan, name: str, given: Any, base: Path) -> None:
    """Build what will be asked, to see that it can be."""
    from topwater.rspql import full_name
    from topwater.rspql.asking import source_for

    made = service_of(given, base)
    if plan.service is not None and full_name(name, plan.prefixes) == str(plan.service.name):
        source_for(plan.service, made, plan.prefixes)


def _sink(written: Written) -> Sink:
    with written.blamed("sink"):
        return Sink.of(written.table("sink"), written.base)


def _job(
    written: Written,
    query: TopKQuery,
    plan: Plan | None,
    streams: Mapping[str, JobStream],
    services: Mapping[str, Any],
    sink: Sink,
) -> Job:
    spark = settings_of(SparkSettings, written, "spark")
    if plan is not None and spark.late_rows:
        raise written.error(
            "a query in RSP-QL has no late rows", ("spark", "late_rows"), "leave it out"
        )
    return Job(
        written=written,
        query=query,
        plan=plan,
        streams=streams,
        services=services,
        sink=sink,
        spark=spark,
        live=settings_of(LiveSettings, written, "live"),
    )
