"""The host in this process: answers as they come, from any iterable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topwater
from tests.support.oracle import Event, Oracle, told
from topwater import BatchError, Counts, TopKMonitor, TopKQuery, counting, run, sliding, tumbling


def query_of(**changes: Any) -> TopKQuery:
    plain = {"key": "who", "time": "at", "window": sliding(6, 2), "score": "value", "k": 2}
    return TopKQuery(**{**plain, **changes})


def batch(events: list[Event]) -> pa.Table:
    names, times, values = zip(*events, strict=True) if events else ((), (), ())
    return pa.table(
        {
            "who": pa.array(names, pa.int64()),
            "at": pa.array(times, pa.int64()),
            "value": pa.array(values, pa.float64()),
        }
    )


EVENTS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-1, 40), st.integers(0, 4).map(float)), max_size=12
)


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=5), st.integers(0, 9), st.sampled_from(["drop", "use"]))
def test_equal_to_the_oracle(batches: list[list[Event]], lateness: int, late: Any) -> None:
    query = query_of(lateness=lateness, late=late)
    oracle = Oracle(query)
    right = []
    for events in batches:
        oracle.ingest(events)
        if (watermark := oracle.watermark()) is not None:
            right += oracle.close_until(watermark)
    right += oracle.flush()
    assert told(run(query, map(batch, batches))) == right


@settings(max_examples=40, deadline=None)
@given(st.lists(EVENTS, min_size=1, max_size=5))
def test_count_windows_and_whole_lateness_do_not_depend_on_batches(
    batches: list[list[Event]],
) -> None:
    """Where nothing is late, one batch and many give the same answers."""
    whole = [event for events in batches for event in events]
    for query in (query_of(lateness=100), query_of(window=counting(5, 2))):
        parts = list(run(query, map(batch, batches)))
        once = list(run(query, [batch(whole)]))
        singly = list(run(query, (batch([event]) for event in whole)))
        rows = [(a.window, a.rows) for a in once]
        assert [(a.window, a.rows) for a in parts] == rows
        assert [(a.window, a.rows) for a in singly] == rows


def test_answers_come_as_soon_as_they_can() -> None:
    """An answer is there before the next batch is asked for."""
    asked = []

    def batches() -> Iterator[pa.Table]:
        for at in (1, 5, 11, 12, 25):
            asked.append(at)
            yield batch([(at, at, 1.0)])

    answers = run(query_of(window=tumbling(10)), batches())
    assert asked == []
    assert next(answers).window.end == 10
    assert asked == [1, 5, 11]
    assert next(answers).window.end == 20
    assert asked == [1, 5, 11, 12, 25]
    assert [answer.window.end for answer in answers] == [30]


def test_goes_on_with_a_monitor() -> None:
    query = query_of(window=tumbling(10))
    monitor = TopKMonitor.build(query)
    monitor.ingest(batch([(1, 1, 1.0)]))
    restored = TopKMonitor.build(query, monitor.snapshot())
    answers = list(run(query, [batch([(2, 5, 2.0)])], monitor=restored))
    assert [answer.keys for answer in answers] == [[2, 1]]
    assert answers[0].counts == Counts(events=2)


def test_nothing_at_all() -> None:
    assert list(run(query_of(), [])) == []
    assert list(run(query_of(), [batch([])])) == []


def test_a_bad_batch_stops_the_run_where_it_is() -> None:
    answers = run(query_of(window=tumbling(10)), [batch([(1, 1, 1.0), (2, 15, 1.0)]), {"x": [1]}])
    assert next(answers).keys == [1]
    with pytest.raises(BatchError, match="the key column 'who' is not there; there are: x"):
        next(answers)


def test_the_public_names_are_there() -> None:
    for name in topwater.__all__:
        if name != "spark":
            assert getattr(topwater, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'sparkle'"):
        topwater.sparkle  # noqa: B018


def test_variables_may_be_called_like_the_time_of_an_event() -> None:
    query = """
        PREFIX : <http://example.org/>
        SELECT ?event ?time ?value FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT10S]
        WHERE { WINDOW :w { ?event :at ?time . ?event :value ?value } }
        ORDER BY DESC(?value) LIMIT 1
    """
    number = '"{1}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    line = "<x:{0}> <http://example.org/at> <x:t{0}> . <x:{0}> <http://example.org/value> " + number
    lines = [f"{line.format(*each)} ." for each in ("a4", "b7", "c1")]
    events = {"time": [1_000, 2_000, 12_000], "value": lines}
    first, _ = topwater.local.rspql(query, streams={":s": [events]})
    assert first.rows == [{"event": "x:b", "time": "x:tb", "value": 7.0}]
