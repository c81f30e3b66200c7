"""Host 1: run a monitor in this process, over any iterable of batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from topwater.model import Answer, Millis
from topwater.monitor import KeyedMonitor, Monitor
from topwater.monitor.columns import Batch, as_table
from topwater.monitor.notice_settings import ChangeStream
from topwater.monitor.source_table import one_of
from topwater.protocols import Source
from topwater.query import TopKQuery
from topwater.remote.wrappers.clocks import SYSTEM_CLOCK
from topwater.replica.notices import END
from topwater.validation import checked_call

if TYPE_CHECKING:
    from pathlib import Path

    from rdflib.term import URIRef

    from topwater.rspql import Plan
    from topwater.rspql.plan.projection import WindowOutput
    from topwater.rspql.rdf.event_format import Columns, Documents
    from topwater.rspql.rdf.static_data import StaticData
    from topwater.rspql.registration import Registered

Events: TypeAlias = "Iterable[Batch] | tuple[Documents | Columns, Iterable[Batch]]"


@checked_call()
def run(
    query: TopKQuery,
    batches: Iterable[Batch],
    *,
    source: Source | None = None,
    sources: Mapping[str, Source] | None = None,
    monitor: Monitor | None = None,
    changes: ChangeStream | Iterable[Batch] | None = None,
) -> Iterator[Answer]:
    """Answers as their windows close, and at the end those of all windows that hold an event.

    Parameters
    ----------
    query
        What is asked.
    batches
        Tables or record batches of Arrow, frames of pandas or Polars, mappings of arrays, or
        lists of rows, in order of arrival.
    source
        Where remote values are fetched, if the query has a remote part. If it can't be reached,
        that is said before the first batch is read.
    sources
        The same by name, for several remote values.
    monitor
        Goes on with this monitor instead of a new one; one that hears of changes, if there are
        ``changes``.
    changes
        Batches of notices of what changed at the sources, or a :class:`ChangeStream` of them that
        says how they are written. Before windows close, batches are read until their time has come
        as far as that of the events; an empty one says that there are no more for now.

    Raises
    ------
    SourceError
        If the source can't be reached, and was told to stop then.

    Examples
    --------
    >>> from topwater.windows import tumbling
    >>> query = TopKQuery(key="who", time="at", window=tumbling(10), score="value", k=2)
    >>> events = {"who": ["a", "b", "c"], "at": [1, 2, 12], "value": [3.0, 5.0, 4.0]}
    >>> for answer in run(query, [events]):
    ...     print(answer.window.end, answer.keys)
    10 ['b', 'a']
    20 ['c']
    """
    told = None if changes is None else ChangeStream.of(changes)
    if monitor is None:
        given = one_of(source, sources)
        settings = None if told is None else told.settings
        monitor = KeyedMonitor(query, source=given, clock=SYSTEM_CLOCK, changes=settings)
    if source is not None or sources is not None:
        monitor.start()
    notices = None if told is None else iter(told.stream)
    for batch in batches:
        monitor.ingest(batch)
        if (watermark := monitor.watermark) is not None:
            if notices is not None:
                _learn(monitor, notices, watermark)
            yield from monitor.close_until(watermark)
    if notices is not None and (watermark := monitor.watermark) is not None:
        # As far as the last window that holds an event reaches.
        _learn(monitor, notices, watermark + query.lateness + query.window.width)
    yield from monitor.flush()


def _learn(monitor: Monitor, notices: Iterator[Batch], time: Millis) -> None:
    """Give a monitor the notices of what changed up to a time, as far as there are any."""
    while monitor.heard is None or monitor.heard < time:
        batch = next(notices, None)
        if batch is None:
            # There are no more notices, of whatever comes now either.
            monitor.learn(until=END)
            return
        monitor.learn(batch)
        if not as_table(batch).num_rows:
            return


@checked_call()
def rspql(
    text: str | Plan,
    *,
    streams: Mapping[str, Events],
    services: Mapping[str, Registered] | None = None,
    allow: Iterable[str] = (),
    files: Mapping[str, str | Path] | None = None,
) -> Iterator[WindowOutput]:
    r"""What a query in RSP-QL gives, window by window, in this process.

    Parameters
    ----------
    text
        The query, or its plan.
    streams
        By the names that the query has for them: batches with N-Triples in the column ``value``
        and the time in the column ``time``; or a pair of how events are written,
        :class:`~topwater.rspql.rdf.event_format.Documents` or
        :class:`~topwater.rspql.rdf.event_format.Columns`, and batches. Several streams are read
        by turns.
    services, allow, files
        As for :func:`topwater.spark.rspql`.

    Raises
    ------
    QueryError
        If the query can't be read, or a stream, a service or a file is not registered.

    Examples
    --------
    >>> query = '''
    ...     PREFIX : <http://example.org/>
    ...     SELECT ?sensor ?value
    ...     FROM NAMED WINDOW :w ON :readings [ELEMENTS 3]
    ...     WHERE { WINDOW :w { ?sensor :value ?value } } ORDER BY DESC(?value) LIMIT 1
    ... '''
    >>> number = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    >>> line = "<x:{}> <http://example.org/value> " + number + " ."
    >>> events = {"time": [1, 2, 3], "value": [line.format(*each) for each in ("a4", "b7", "c5")]}
    >>> for output in rspql(query, streams={":readings": [events]}):
    ...     print(output.rows)
    [{'sensor': 'x:b', 'value': 7.0}]
    """
    # Here, so that only those who use RSP-QL wait for its parser.
    from topwater.rspql.plan.projection import settled, window_outputs
    from topwater.rspql.rdf.window_join import with_true_times
    from topwater.rspql.registration import data_of, plan_of, source_of, streams_of

    plan, asked = plan_of(text, services, allow, files)
    source = source_of(plan, asked)
    given = streams_of(plan, streams)
    read = _window_by_window if plan.by_window else _matched
    tables = read(plan, given, data_of(plan, files))
    several = source if isinstance(source, dict) else None
    one = None if isinstance(source, dict) else source
    answers = run(plan.query(), tables, source=one, sources=several)
    if plan.by_window:
        answers = with_true_times(plan, answers)
    ranked = (settled(plan, answer) for answer in _single(plan, answers))
    return window_outputs(plan, ranked)


def _single(plan: Plan, answers: Iterator[Answer]) -> Iterator[Answer]:
    """The same answers, as long as the service has one value for each key."""
    from topwater.rspql.registration import require_single

    for answer in answers:
        problems = dict(answer.problems)
        lost = (each for each in answer.looked_up if not each.ok)
        # Of several problems it is not known which key has which.
        require_single(plan, problems, next(lost, None) if len(problems) == 1 else None)
        yield answer


def _matched(
    plan: Plan, streams: Mapping[URIRef, Events], data: StaticData | None
) -> Iterator[pa.Table]:
    """The binding tables of all streams, by turns."""
    from topwater.rspql.rdf.pattern_match import Matcher

    readings = {name: _read_as(given)[0] for name, given in streams.items()}
    matchers = {name: Matcher.of(plan, name, each, data) for name, each in readings.items()}
    for turn in _by_turns(streams):
        for name, scope, table, first in turn:
            yield matchers[name].match(table, scope, first)


def _window_by_window(
    plan: Plan, streams: Mapping[URIRef, Events], data: StaticData | None
) -> Iterator[pa.Table]:
    """The binding tables of windows that are made whole first."""
    from topwater.rspql.rdf.window_join import WindowJoin

    join = WindowJoin(plan, data)
    for turn in _by_turns(streams):
        for name, scope, table, first in turn:
            yield from join.add(name, _read_as(streams[name])[0], table, scope, first)
        yield from join.close()
    yield from join.finish()


def _read_as(given: Any) -> tuple[Documents | Columns, Iterable[Batch]]:
    """How the events of a stream are written, and the events."""
    from topwater.rspql.rdf.event_format import Columns, Documents

    if isinstance(given, tuple) and given and isinstance(given[0], Documents | Columns):
        return given
    return Documents(), given


def _by_turns(
    streams: Mapping[URIRef, Events],
) -> Iterator[list[tuple[URIRef, str, pa.Table, int]]]:
    """A batch of every stream at a time: whose it is, and how many events of that came before."""
    turns = [map(as_table, _read_as(given)[1]) for given in streams.values()]
    counts = dict.fromkeys(streams, 0)
    for tables in zip_longest(*turns):
        numbered = enumerate(zip(streams, tables, strict=True))
        there = [(n, name, table) for n, (name, table) in numbered if table is not None]
        yield [(name, f"{n}x", table, counts[name]) for n, name, table in there]
        for _, name, table in there:
            counts[name] += table.num_rows
