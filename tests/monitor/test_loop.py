"""The loop against the one rule, however the stream is cut, closed and restarted."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.oracle import Event, Oracle, told
from topwater import tables
from topwater.candidates import lists
from topwater.errors import BatchError, StateError
from topwater.model import Answer, Counts
from topwater.monitor import TopKMonitor
from topwater.monitor.reduction import PartialBatch, reduce_batch
from topwater.query import TopKQuery
from topwater.scoring import Formula, WeightedSum
from topwater.windows import FARTHEST, Windows, counting, sliding, tumbling

WINDOWS = (
    Windows(9, 3, start=1),
    Windows(100, 60, start=-130),
    Windows(10, 4),
    Windows(7, 1),
    tumbling(5),
    tumbling(1),
    counting(12, 3),
    counting(5, 4),
    counting(6),
)
AGGREGATES = ("count", "sum", "mean", "min", "max", "last")
NAMES = ["", "a", "B", "é", "日本", "\U0001f40b", "a\0b", "\0"]


def query_of(**changes: Any) -> TopKQuery:
    plain = {"key": "who", "time": "at", "window": sliding(4, 2), "score": "value", "k": 2}
    return TopKQuery(**{**plain, **changes})


def batch_of(events: list[Event], kind: str = "int") -> pa.Table:
    keys, times, values = zip(*events, strict=True) if events else ((), (), ())
    return pa.table(
        {
            "who": pa.array(keys, pa.int64() if kind == "int" else pa.string()),
            "at": pa.array(times, pa.int64()),
            "value": pa.array(values, pa.float64(), from_pandas=False),
        }
    )


@dataclass(frozen=True)
class Scenario:
    """A query, and what happens to its monitor."""

    query: TopKQuery
    function: str
    keys: str
    steps: list[tuple[str, Any]]


@st.composite
def scenarios(draw: st.DrawFn, longest: int = 8) -> Scenario:
    window = draw(st.sampled_from(WINDOWS))
    function = draw(st.sampled_from(["each", "each", "each", *AGGREGATES]))
    keys = draw(st.sampled_from(["int", "str"]))
    query = query_of(
        window=window,
        k=draw(st.sampled_from([1, 2, 3, 8, 100])),
        score=Formula("value", order=draw(st.sampled_from(["largest", "smallest"]))),
        take="each" if function == "each" else {"value": _aggregate(function)},
        list=draw(st.sampled_from(list(lists) if function == "each" else [None])),
        lateness=draw(st.integers(0, 12)) if window.by == "time" else 0,
        late=draw(st.sampled_from(["drop", "use"])),
        empty_windows=draw(st.sampled_from([0, 1, 3, 1_000])),
    )
    steps = draw(st.lists(_step(window, keys), min_size=1, max_size=longest))
    return Scenario(query, function, keys, steps)


def _aggregate(function: str) -> str:
    return "count" if function == "count" else f"{function}(value)"


def _step(window: Windows, keys: str) -> st.SearchStrategy[tuple[str, Any]]:
    names = st.integers(-3, 3) | st.sampled_from([-(2**63), 2**63 - 1])
    key = st.none() | (names if keys == "int" else st.sampled_from(NAMES))
    end = window.start + 3 * window.width
    near = st.integers(window.start - 3, end)
    time = st.none() | near | near | near | st.integers(end, end + 20 * window.step)
    score = st.integers(-3, 3).map(float)
    dirty = st.sampled_from([None, math.nan, math.inf, -math.inf, -0.0, 0.0])
    event = st.tuples(key, time, score | score | score | dirty)
    burst = st.tuples(near, st.lists(st.tuples(key, score), min_size=5, max_size=40)).map(
        lambda drawn: [(name, drawn[0], value) for name, value in drawn[1]]
    )
    events = st.lists(event, max_size=25) | burst
    cuts = st.lists(st.integers(0, 40), max_size=4)
    return st.one_of(
        st.tuples(st.just("ingest"), st.tuples(events, cuts)),
        st.tuples(st.just("ingest"), st.tuples(events, cuts)),
        st.tuples(st.just("close"), st.integers(window.start - 5, end + 25 * window.step)),
        st.tuples(st.just("advance"), st.none()),
        st.tuples(st.just("restart"), st.none()),
        st.tuples(st.just("send"), events),
    )


class Pair:
    """A monitor and the oracle, side by side."""

    def __init__(self, scenario: Scenario) -> None:
        self.query, self.keys = scenario.query, scenario.keys
        self.oracle = Oracle(scenario.query, scenario.function)
        self.monitor = TopKMonitor.build(scenario.query)
        self.answers: list[Answer] = []

    def run(self, steps: list[tuple[str, Any]]) -> None:
        for verb, what in steps:
            getattr(self, verb)(what)
            assert self.monitor.next_close() == self.oracle.next_close()
            assert self.monitor.watermark == self.oracle.watermark()
            assert self.monitor.counts == self.oracle.counts

    def finish(self) -> None:
        self.same(self.monitor.flush(), self.oracle.flush())
        assert self.monitor.flush() == []

    def ingest(self, what: tuple[list[Event], list[int]]) -> None:
        events, cuts = what
        self.oracle.ingest(events)
        ends = sorted(min(cut, len(events)) for cut in cuts)
        for first, last in zip([0, *ends], [*ends, len(events)], strict=True):
            self.monitor.ingest(batch_of(events[first:last], self.keys))

    def send(self, events: list[Event]) -> None:
        """As Spark does it: reduced elsewhere, without floors, and sent as bytes."""
        self.oracle.ingest(events)
        position = (self.monitor.watermark or 1) - 1  # count windows, which alone use it
        part = reduce_batch(self.query, batch_of(events, self.keys), position=position)
        self.monitor.admit(PartialBatch.unpack(part.pack()))

    def close(self, watermark: int) -> None:
        self.same(self.monitor.close_until(watermark), self.oracle.close_until(watermark))

    def advance(self, _: None) -> None:
        watermark = self.monitor.watermark
        if watermark is not None:
            self.close(watermark)

    def restart(self, _: None) -> None:
        self.monitor = TopKMonitor.build(self.query, self.monitor.snapshot())

    def same(self, found: list[Answer], right: list[Answer]) -> None:
        assert told(found) == right
        self.answers += found


def check_scenario(scenario: Scenario) -> None:
    pair = Pair(scenario)
    pair.run(scenario.steps)
    pair.finish()
    indices = [answer.window.index for answer in pair.answers]
    counts = sum((answer.counts for answer in pair.answers), pair.monitor.counts)
    assert indices == sorted(set(indices))
    if indices:
        missing = indices[-1] - indices[0] + 1 - len(indices)
        assert 0 <= missing <= counts.skipped_windows
    assert counts.events == pair.oracle.used + counts.bad + counts.before_start + counts.late


class TestAgainstTheOracle:
    @settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
    @given(scenarios())
    def test_answers_and_counts(self, scenario: Scenario) -> None:
        check_scenario(scenario)

    @pytest.mark.soak
    @settings(max_examples=4_000, deadline=None, suppress_health_check=list(HealthCheck))
    @given(scenarios(longest=30))
    def test_answers_and_counts_for_long(self, scenario: Scenario) -> None:
        check_scenario(scenario)

    @pytest.mark.parametrize("name", list(lists))
    @pytest.mark.parametrize("window", [sliding(400, 100), counting(700, 300), tumbling(50)])
    def test_larger_streams(self, name: str, window: Windows) -> None:
        rng = np.random.default_rng(7)
        query = query_of(window=window, k=5, list=name)
        scenario = Scenario(query, "each", "int", [])
        pair = Pair(scenario)
        for first in range(0, 2_000, 100):
            times = rng.integers(first, first + 150, 200).tolist()
            values = rng.integers(0, 60, 200).astype(float).tolist()
            events = list(zip(rng.integers(0, 50, 200).tolist(), times, values, strict=True))
            pair.run([("ingest", (events, [50])), ("advance", None), ("restart", None)])
        pair.finish()
        assert len(pair.answers) > 5

    @pytest.mark.parametrize("name", ["panes", "mintopk", "pretopk"])
    @pytest.mark.parametrize("window", [sliding(9, 3), sliding(100, 60), tumbling(5)])
    def test_candidates_do_not_depend_on_cuts_and_restarts(
        self, name: str, window: Windows
    ) -> None:
        rng = np.random.default_rng(window.width)
        query = query_of(window=window, k=3, list=name, late="use")
        times = np.sort(rng.integers(1, 8 * window.width, 90)) + rng.integers(0, window.width, 90)
        values = rng.integers(0, 20, 90).astype(float)
        batch = batch_of(list(zip(range(90), times.tolist(), values.tolist(), strict=True)))
        runs = []
        for size in (30, 10, 1):
            monitor, answers = TopKMonitor.build(query), []
            for first in range(0, 90, size):
                monitor.ingest(batch.slice(first, size))
                monitor = TopKMonitor.build(query, monitor.snapshot()) if size == 10 else monitor
                if (first + size) % 30 == 0:
                    answers += monitor.close_until(int(times[: first + size].max()) - 5)
            runs.append(answers + monitor.flush())
        assert runs[0] == runs[1] == runs[2]

    def test_many_panes_with_ties_at_the_border(self) -> None:
        """More than k items of one score and time: the keys decide, in every cut."""
        events: list[Event] = [(key, 1 + key % 2, 1.0) for key in range(50, 0, -1)]
        for cut in range(0, 50, 7):
            scenario = Scenario(
                query_of(k=3), "each", "int", [("ingest", (events, [cut])), ("close", 99)]
            )
            pair = Pair(scenario)
            pair.run(scenario.steps)
            assert pair.answers[0].keys == [1, 3, 5]


class TestTime:
    def test_the_first_window_is_the_first_that_holds_an_event(self) -> None:
        """Width 4, step 2: 11 is first in the window (8, 12]."""
        monitor = TopKMonitor.build(query_of())
        assert monitor.next_close() is None
        assert monitor.close_until(10**6) == []
        monitor.ingest(batch_of([(1, 11, 1.0)]))
        assert monitor.next_close() == 13
        assert monitor.close_until(12) == []
        assert [a.window.end for a in monitor.close_until(13)] == [12]
        assert monitor.next_close() == 15

    def test_an_event_at_the_end_is_in_the_window(self) -> None:
        """::

        time  0  1  2  3  4  5  6
        W0    (───────────]
        W1          (───────────]
        """
        monitor = TopKMonitor.build(query_of(k=9))
        monitor.ingest(batch_of([(4, 4, 1.0), (5, 5, 1.0), (2, 2, 1.0), (3, 3, 1.0)]))
        assert [(a.window.index, a.keys) for a in monitor.close_until(7)] == [
            (0, [4, 3, 2]),
            (1, [5, 4, 3]),
        ]

    def test_late_events_are_dropped_or_used_and_counted(self) -> None:
        for late, expected in (("drop", [6]), ("use", [3, 6])):
            monitor = TopKMonitor.build(query_of(late=late))
            monitor.ingest(batch_of([(4, 4, 1.0), (6, 6, 1.0)]))
            assert len(monitor.close_until(5)) == 1
            monitor.ingest(batch_of([(1, 1, 9.0), (3, 3, 9.0)]))
            (answer,) = monitor.close_until(7)
            assert answer.keys == [*expected, 4][:2]
            assert answer.counts == Counts(events=2, late=2)

    def test_a_far_future_event_gives_a_bounded_number_of_answers(self) -> None:
        for take in ("each", {"value": "sum(value)"}):
            query = query_of(empty_windows=10, take=take)
            monitor = TopKMonitor.build(query)
            monitor.ingest(batch_of([(1, 1, 1.0), (2, FARTHEST - 1, 1.0), (3, 5, 1.0)]))
            watermark = monitor.watermark
            assert watermark is not None
            answers = monitor.close_until(watermark) + monitor.flush()
            assert len(answers) <= 20
            assert answers[-1].keys == [2]
            skipped = sum(a.counts.skipped_windows for a in answers)
            assert skipped == answers[-1].window.index + 1 - len(answers)

    @pytest.mark.parametrize("name", list(lists))
    def test_many_gaps_do_not_hang(self, name: str) -> None:
        """Isolated events, and after each of them a silence: one answer and one empty window."""
        n = 1_500
        events: list[Event] = [(i, 1 + i * 10**6, 1.0) for i in range(n)]
        monitor = TopKMonitor.build(query_of(window=tumbling(1), empty_windows=1, list=name))
        monitor.ingest(batch_of(events))
        assert len(monitor.flush()) == 2 * n - 1

    @pytest.mark.parametrize("take", ["each", {"value": "sum(value)"}])
    @pytest.mark.parametrize("watermark", [2**63 - 1, 2**63, 10**30, np.int64(10**12)])
    def test_any_watermark(self, take: Any, watermark: Any) -> None:
        query = query_of(empty_windows=5, take=take)
        monitor = TopKMonitor.build(query)
        monitor.ingest(batch_of([(1, 1, 1.0)]))
        assert len(monitor.close_until(watermark)) == 6
        assert monitor.close_until(watermark) == []
        again = TopKMonitor.build(query, monitor.snapshot())
        again.ingest(batch_of([(2, 9, 1.0)]))
        assert again.counts.late == 1

    def test_a_watermark_is_a_whole_number(self) -> None:
        with pytest.raises(TypeError):
            TopKMonitor.build(query_of()).close_until(1.5)  # type: ignore[arg-type]

    def test_empty_windows_are_answered_and_then_counted(self) -> None:
        monitor = TopKMonitor.build(query_of(window=tumbling(1), empty_windows=2))
        monitor.ingest(batch_of([(1, 1, 1.0), (2, 7, 1.0)]))
        answers = monitor.close_until(6)
        assert [a.window.end for a in answers] == [1, 2, 3]
        assert monitor.counts == Counts(skipped_windows=2)
        answers = monitor.flush()
        assert [(a.window.end, a.counts.skipped_windows) for a in answers] == [(7, 3)]

    def test_counts_are_there_even_if_no_window_ever_closes(self) -> None:
        monitor = TopKMonitor.build(query_of())
        monitor.ingest(batch_of([(None, 1, 1.0), (1, None, 1.0), (1, 0, 1.0), (1, 1, None)]))
        assert monitor.flush() == []
        assert monitor.counts == Counts(
            events=4, bad_key=1, bad_time=1, before_start=1, bad_score=1
        )


class TestKeysAndScores:
    def test_mixed_keys_are_refused_and_leave_no_trace(self) -> None:
        for take in ("each", {"value": "sum(value)"}):
            score = "value" if take != "each" else WeightedSum({"value": 1}, {"value": "running"})
            query = query_of(take=take, score=score)
            monitor = TopKMonitor.build(query)
            monitor.ingest(batch_of([(1, 1, 1.0)]))
            before = monitor.snapshot()
            for _ in range(2):
                with pytest.raises(BatchError, match="'who' holds strings, and held integers"):
                    monitor.ingest(batch_of([("a", 2, 99.0)], "str"))
                assert monitor.snapshot() == before
                monitor = TopKMonitor.build(query, before)
            monitor.ingest(batch_of([], "str"))
            monitor.ingest(batch_of([(None, 3, 1.0)], "str"))
            monitor.ingest({"who": [None], "at": [3], "value": [1.0]})
            assert monitor.flush()[0].keys == [1]

    def test_mixed_keys_are_refused_after_all_were_forgotten(self) -> None:
        query = query_of()
        monitor = TopKMonitor.build(query)
        monitor.ingest(batch_of([("a", 1, 1.0)], "str"))
        monitor.close_until(100)
        monitor = TopKMonitor.build(query, monitor.snapshot())
        with pytest.raises(BatchError, match="holds integers, and held strings before"):
            monitor.ingest(batch_of([(1, 200, 1.0)]))

    @pytest.mark.parametrize("name", list(lists))
    def test_extreme_keys(self, name: str) -> None:
        keys = [2**63 - 1, -(2**63), 0, -1]
        query = query_of(k=4, list=name)
        monitor = TopKMonitor.build(query)
        monitor.ingest(batch_of([(key, 1, 1.0) for key in keys]))
        assert TopKMonitor.build(query, monitor.snapshot()).flush()[0].keys == sorted(keys)

    def test_a_megabyte_of_key_and_every_script(self) -> None:
        keys = ["k" * 2**20, "k" * 2**20 + "!", *NAMES]
        query = query_of(k=20)
        monitor = TopKMonitor.build(query)
        monitor.ingest(batch_of([(key, 1, 1.0) for key in keys], "str"))
        assert TopKMonitor.build(query, monitor.snapshot()).flush()[0].keys == sorted(keys)

    def test_minus_zero_ties_with_zero(self) -> None:
        for order in ("largest", "smallest"):
            query = query_of(k=2, score=Formula("value", order=order))
            for scores in ((0.0, -0.0, -0.0), (-0.0, 0.0, 0.0)):
                monitor = TopKMonitor.build(query)
                rows: list[Event] = [
                    (key, 1, score) for key, score in zip((3, 2, 1), scores, strict=True)
                ]
                monitor.ingest(batch_of(rows))
                assert monitor.flush()[0].keys == [1, 2]

    @pytest.mark.parametrize("name", list(lists))
    def test_extreme_scores(self, name: str) -> None:
        values = [1.7e308, -1.7e308, 5e-324, -5e-324, 1.0]
        query = query_of(k=2, list=name)
        for first in range(len(values)):
            turned = values[first:] + values[:first]
            monitor = TopKMonitor.build(query)
            for repeat in range(3):
                monitor.ingest(batch_of([(i, 1, v) for i, v in enumerate(turned, 5 * repeat)]))
            assert monitor.flush()[0].scores == [1.7e308, 1.7e308]

    @pytest.mark.parametrize("name", list(lists))
    def test_a_k_beyond_all_memory(self, name: str) -> None:
        query = query_of(k=10**15, list=name)
        monitor = TopKMonitor.build(query)
        monitor.ingest(batch_of([(key, 1, 1.0) for key in range(100)]))
        assert monitor.flush()[0].keys == list(range(100))

    def test_an_aggregate_that_overflows_is_counted_and_not_ranked(self) -> None:
        monitor = TopKMonitor.build(query_of(take={"value": "sum(value)"}))
        monitor.ingest(batch_of([(1, 1, 1.7e308), (1, 2, 1.7e308), (2, 1, 3.0)]))
        answer = monitor.flush()[0]
        assert answer.keys == [2]
        assert answer.counts == Counts(events=3, bad_score=1)

    def test_a_key_whose_events_were_all_dominated_comes_back(self) -> None:
        """The counter-example of one score per key: a falls when the window slides."""
        query = query_of(k=1, take={"n": "count"}, score="n")
        monitor = TopKMonitor.build(query)
        monitor.ingest(batch_of([(1, 1, 0.0), (1, 2, 0.0), (1, 2, 0.0), (2, 3, 0.0), (2, 4, 0.0)]))
        assert [a.keys for a in monitor.flush()] == [[1], [2]]


class TestRestart:
    def test_running_ranges_survive(self) -> None:
        query = query_of(k=9, score=WeightedSum({"value": 1.0}, {"value": "running"}))
        whole, cut = TopKMonitor.build(query), TopKMonitor.build(query)
        for value in (5.0, -3.0, 4.0, 100.0, 8.0, 0.0):
            whole.ingest(batch_of([(1, 1, value)]))
            cut.ingest(batch_of([(1, 1, value)]))
            cut = TopKMonitor.build(query, cut.snapshot())
        assert cut.flush() == whole.flush()

    def test_the_widest_running_range_survives(self) -> None:
        query = query_of(score=WeightedSum({"value": 1.0}, {"value": "running"}))
        monitor = TopKMonitor.build(query)
        monitor.ingest(batch_of([(1, 1, -1.7e308), (2, 1, 1.7e308), (3, 1, 0.0)]))
        again = TopKMonitor.build(query, monitor.snapshot())
        assert again.counts == monitor.counts
        assert again.flush() == monitor.flush()

    def test_another_query(self) -> None:
        state = TopKMonitor.build(query_of()).snapshot()
        changes: tuple[dict[str, Any], ...] = (
            {"key": "whom"},
            {"window": sliding(4, 1)},
        )
        for changed in changes:
            with pytest.raises(StateError, match="another query"):
                TopKMonitor.build(query_of(**changed), state)

    def test_an_equal_query_in_other_words(self) -> None:
        monitor = TopKMonitor.build(query_of(score="value+1"))
        monitor.ingest(batch_of([(1, 1, 1.0)]))
        again = TopKMonitor.build(query_of(score=Formula("(value + 1)")), monitor.snapshot())
        assert again.flush()[0].scores == [2.0]

    def test_damaged(self) -> None:
        query = query_of(take={"value": "sum(value)"})
        monitor = TopKMonitor.build(query)
        monitor.ingest(batch_of([("a", 1, 1.0), ("b", 2, 2.0)], "str"))
        state = monitor.snapshot()
        rng = np.random.default_rng(3)
        damaged = [b"", b"x", state[:-1], state[:100], state + b"x", b"\0" * 300]
        damaged += [
            state[:at] + bytes([state[at] ^ 1 << at % 8]) + state[at + 1 :]
            for at in rng.integers(0, len(state), 200).tolist()
        ]
        for bytes_ in damaged:
            with pytest.raises(StateError, match="damaged"):
                TopKMonitor.build(query, bytes_)

    def test_another_version(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tables, "VERSION", 99)
        state = TopKMonitor.build(query_of()).snapshot()
        monkeypatch.undo()
        with pytest.raises(StateError, match="has version 99, this program reads 3"):
            TopKMonitor.build(query_of(), state)

    def test_a_portion_is_no_state(self) -> None:
        part = reduce_batch(query_of(), batch_of([(1, 1, 1.0)]))
        with pytest.raises(StateError):
            TopKMonitor.build(query_of(), part.pack())

    @pytest.mark.parametrize("name", ["panes", "mintopk", "pretopk"])
    def test_the_snapshot_is_as_small_as_what_is_kept(self, name: str) -> None:
        """100,000 events, two windows of three panes: kilobytes, and no code in them."""
        rng = np.random.default_rng(5)
        query = query_of(window=sliding(30, 10), k=10, list=name)
        monitor = TopKMonitor.build(query)
        for start in range(0, 100_000, 10_000):
            times = np.sort(rng.integers(1, 11, 10_000)) + start // 1_000
            batch = {"who": np.arange(10_000), "at": times, "value": rng.random(10_000)}
            monitor.ingest(batch)
        state = monitor.snapshot()
        assert len(state) < 6_000
        assert b"numpy" not in state
        assert b"topwater.model" not in state

    def test_an_empty_monitor(self) -> None:
        for take in ("each", {"value": "sum(value)"}):
            query = query_of(take=take)
            monitor = TopKMonitor.build(query, TopKMonitor.build(query).snapshot())
            assert monitor.next_close() is None
            assert monitor.flush() == []
            monitor.ingest(batch_of([("a", 1, 1.0)], "str"))
            assert monitor.flush()[0].keys == ["a"]


def test_a_batch_that_is_refused_leaves_no_trace() -> None:
    query = query_of(score=WeightedSum({"value": 1.0, "x": 1.0}, {"value": "running"}))
    monitor = TopKMonitor.build(query)
    good = {"who": [1, 2], "at": [1, 2], "value": [1.0, 2.0], "x": [0.0, 0.0]}
    monitor.ingest(good)
    before = monitor.snapshot()
    for column in good:
        with pytest.raises(BatchError, match=f"'{column}' is not there"):
            monitor.ingest({name: cells for name, cells in good.items() if name != column})
    for column in good:
        with pytest.raises(BatchError, match=f"'{column}' is of type"):
            monitor.ingest({**good, column: [[1], [2]]})
    assert monitor.snapshot() == before


def test_arrays_may_be_used_again_after_ingest() -> None:
    batch = {"who": np.array([1, 2]), "at": np.array([1, 2]), "value": np.array([1.0, 2.0])}
    for name in lists:
        monitor = TopKMonitor.build(query_of(list=name))
        monitor.ingest({column: cells.copy() for column, cells in batch.items()})
        right = monitor.flush()
        monitor = TopKMonitor.build(query_of(list=name))
        used = {column: cells.copy() for column, cells in batch.items()}
        monitor.ingest(used)
        for cells in used.values():
            cells[:] = 99
        assert monitor.flush() == right


def test_replaced_queries_build_monitors() -> None:
    query = query_of()
    for k in (1, 2, 3):
        monitor = TopKMonitor.build(replace(query, k=k))
        monitor.ingest(batch_of([(i, 1, float(i)) for i in range(5)]))
        assert len(monitor.flush()[0].rows) == k
