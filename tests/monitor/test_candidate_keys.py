"""Queries whose keys are kept in a list for changing scores, through the monitor."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from topwater.candidates.rescorable import changing
from topwater.errors import QueryError, StateError
from topwater.local import run
from topwater.monitor import TopKMonitor
from topwater.query import TopKQuery
from topwater.scoring import Formula
from topwater.testing import Scripted
from topwater.windows import counting, sliding, tumbling

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from topwater.model import Answer

Event = tuple[Any, int, float]
"""(key, time, amount)"""

PLENTY = 10**6


def query_of(**changes: Any) -> TopKQuery:
    """The amount of a key's last event plus a remote value; refresh settings by name."""
    plain: dict[str, Any] = {
        "key": "who",
        "time": "at",
        "window": sliding(10, 4),
        "take": {"amount": "last(amount)"},
        "score": "amount + remote",
        "k": 2,
        "list": "panes+n",
        "late": "drop",
    }
    named = {name: changes.pop(name) for name in [*changes] if name in plain}
    refresh = {"remote": "remote", "policy": "lru", "budget": PLENTY, "spare": 2, **changes}
    if {**plain, **named}["list"] == "mintopk+":
        refresh["spare"] = 0
    return TopKQuery(**{**plain, **named}, refresh=refresh)


def batch_of(events: Sequence[Event]) -> dict[str, Any]:
    keys = [key for key, _, _ in events]
    whole = all(isinstance(key, int) for key in keys)
    return {
        "who": np.array(keys, np.int64 if whole else object),
        "at": np.array([time for _, time, _ in events], np.int64),
        "amount": np.array([amount for _, _, amount in events], np.float64),
    }


class Stage:
    """A monitor whose source's clock stands at each close, and every event that it took."""

    def __init__(self, query: TopKQuery, script: Any) -> None:
        self.query, self.source = query, Scripted(script)
        self.monitor = TopKMonitor.build(query, source=self.source)
        self.events: list[Event] = []
        self.position = 0
        self.closed = -math.inf

    def ingest(self, events: Sequence[Event], cut: int | None = None) -> None:
        cut = len(events) if cut is None else cut
        for part in (events[:cut], events[cut:]):
            if part:
                self.monitor.ingest(batch_of(part))
        for key, time, amount in events:
            self.position += 1
            at = time if self.query.window.by == "time" else self.position
            if at > self.closed or self.query.late == "use":
                self.events.append((key, at, amount))

    def answer(self) -> Answer | None:
        """The next window's, if it is known."""
        close = self.monitor.next_close()
        if close is None:
            return None
        self.source.now = close - 1
        (answer,) = self.monitor.close_until(close)
        self.closed = close - 1
        return answer

    def restart(self) -> None:
        state = self.monitor.snapshot()
        self.monitor = TopKMonitor.build(self.query, state, source=self.source)

    def truth(self, answer: Answer, score: Callable[[float, float], float]) -> list[Any]:
        """(key, score) of the k best, from all events and by the values at the close."""
        last: dict[Any, tuple[int, float]] = {}
        for key, time, amount in self.events:
            if answer.window.start < time <= answer.window.end:
                last[key] = max(last.get(key, (time, amount)), (time, amount))
        at = answer.window.end
        found = [
            (score(amount, self.source.value(key, at=at)), time, key)
            for key, (time, amount) in last.items()
        ]
        sign = -1 if self.query.score.order == "smallest" else 1
        ranked = sorted(
            (row for row in found if math.isfinite(row[0])),
            key=lambda row: (-sign * row[0], -row[1], row[2]),
        )
        return [(key, each) for each, _, key in ranked[: self.query.k]]


def shown(answer: Answer) -> list[Any]:
    return [(row.key, row.score) for row in answer.rows]


def clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high) if value == value else value


def log(value: float) -> float:
    return math.log(value) if value > 0 else math.nan


SCORES: dict[str, Callable[[float, float], float]] = {
    "amount + remote": lambda a, r: a + r,
    "amount - remote": lambda a, r: a - r,
    "amount + clip(remote, 0, 2)": lambda a, r: a + clip(r, 0, 2),
    "clip(remote, 0, 2) - amount": lambda a, r: clip(r, 0, 2) - a,
    "amount * max(remote, 0)": lambda a, r: a * max(r, 0) if r == r else r,
    "remote": lambda _, r: r,
    "clip(remote, 0, 1) - log(6 - amount)": lambda a, r: clip(r, 0, 1) - log(6 - a),
}
POLICIES = ["lru", "worth", "gnr-lru", "gnr-rnd", "asm", "at-tsm", "bsm", "rnd", "wst"]
FAST = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def scripts(keys: int = 9) -> st.SearchStrategy[Any]:
    value = st.sampled_from([0.0, 1.0, 2.0, 5.0, -3.0])
    changes = st.lists(st.tuples(st.integers(0, 50), value), max_size=5).map(sorted)
    return st.dictionaries(st.integers(0, keys - 1), changes, min_size=4, max_size=keys)


def steps() -> st.SearchStrategy[list[Any]]:
    event = st.tuples(st.integers(0, 8), st.integers(1, 40), st.integers(-3, 8).map(float))
    late = st.lists(event, min_size=1, max_size=12)
    in_order = late.map(lambda events: sorted(events, key=lambda each: each[1]))
    ingest = st.tuples(st.just("ingest"), late | in_order, st.integers(0, 12))
    return st.lists(ingest | ingest | st.just(("close",)) | st.just(("restart",)), max_size=14)


@FAST
@given(
    script=scripts(),
    what=steps(),
    window=st.sampled_from([sliding(10, 4), sliding(9, 3), tumbling(7), counting(6, 2)]),
    score=st.sampled_from(list(SCORES)),
    order=st.sampled_from(["largest", "smallest"]),
    policy=st.sampled_from(POLICIES),
    budget=st.sampled_from([1, 3, PLENTY, None]),
    spare=st.sampled_from([0, 1, 3, 20]),
    k=st.sampled_from([1, 2, 3]),
    late=st.sampled_from(["drop", "use"]),
)
def test_what_is_called_exact_is_the_truth(
    script: Any, what: Any, score: str, order: Any, spare: int, **more: Any
) -> None:
    """And the lists answer alike, one of them with restarts."""
    other = "topk+n" if spare else "mintopk+"
    named = {"score": Formula(score, order=order), "spare": spare, **more}
    stages = [Stage(query_of(list=name, **named), script) for name in ("panes+n", other)]
    for verb, *rest in [*what, *[("close",)] * 12]:
        if verb == "restart":
            stages[1].restart()
        elif verb == "ingest":
            for stage in stages:
                stage.ingest(*rest)
        else:
            found, again = (stage.answer() for stage in stages)
            assert found == again
            if found is not None and found.exact:
                assert shown(found) == stages[0].truth(found, SCORES[score])
                assert all(row.age == 0 and row.confidence == 1.0 for row in found.rows)
    assert stages[0].source.calls == stages[1].source.calls


def stream_of(seed: int, n: int = 400, keys: int = 40, until: int = 100) -> list[Event]:
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(1, until, n)).tolist()
    amounts = rng.integers(0, 100, n).astype(float).tolist()
    return list(zip(rng.integers(0, keys, n).tolist(), times, amounts, strict=True))


def script_of(seed: int, keys: int = 40) -> dict[Any, list[tuple[int, float]]]:
    rng = np.random.default_rng([seed, 1])
    return {
        key: [(0, 0.0), *((int(at), float(rng.integers(20))) for at in range(9, 120, 9))]
        for key in range(keys)
    }


def answers_of(stage: Stage) -> list[Answer]:
    found = []
    while (close := stage.monitor.next_close()) is not None and close < 100:
        answer = stage.answer()
        assert answer is not None
        found.append(answer)
    return found


@pytest.mark.parametrize(
    ("policy", "budget"),
    [
        *product(["lru", "rnd", "gnr-lru", "wsj-tsm"], [PLENTY, None]),
        *product(["worth", "at-bsm", "wbm", "asm"], [None]),
    ],
)
@pytest.mark.parametrize("name", ["panes+n", "topk+n"])
def test_with_room_and_budget_for_all_every_answer_is_the_truth(
    name: str, policy: str, budget: int | None
) -> None:
    stage = Stage(query_of(list=name, policy=policy, spare=50, budget=budget), script_of(1))
    stage.ingest(stream_of(1))
    for answer in answers_of(stage):
        assert answer.exact
        assert shown(answer) == stage.truth(answer, SCORES["amount + remote"])


@pytest.mark.parametrize("name", [*changing])
def test_what_any_remote_value_can_not_lift_may_be_forgotten(name: str) -> None:
    """The remote part adds 0 to 2: most answers are proved, and few keys are kept."""
    score = "amount + clip(remote, 0, 2)"
    stage = Stage(query_of(list=name, score=score, window=tumbling(20)), script_of(2))
    stage.ingest(stream_of(2))
    answers = answers_of(stage)
    for answer in answers:
        if answer.exact or name != "mintopk+":
            assert shown(answer) == stage.truth(answer, SCORES[score])
    assert sum(answer.exact for answer in answers) > len(answers) / 2
    assert max(answer.candidates for answer in answers) <= 4


@pytest.mark.parametrize("name", [*changing])
def test_a_forgotten_key_that_could_have_risen_is_told(name: str) -> None:
    """D is forgotten as it comes; at the close it is the best, which nobody asked."""
    script = {"a": 1.0, "b": 1.0, "c": 1.0, "d": [(0, 0.0), (5, 50.0)]}
    stage = Stage(query_of(list=name, k=1, spare=0, window=tumbling(10)), script)
    stage.ingest([("a", 1, 9.0), ("b", 2, 8.0), ("c", 3, 7.0), ("d", 4, 6.0)])
    answer = stage.answer()
    assert answer is not None
    assert (answer.keys, answer.exact, answer.candidates) == (["a"], False, 1)
    assert stage.source.calls == [["a"]]
    assert stage.truth(answer, SCORES["amount + remote"]) == [("d", 56.0)]


def test_what_was_just_read_may_be_forgotten() -> None:
    """Q outlives P, and beats it as soon as it is read: P goes, and its score was certain."""
    stage = Stage(query_of(k=1, spare=0, window=sliding(20, 10)), {"p": 0.0, "q": 20.0})
    stage.ingest([("p", 3, 9.0), ("q", 12, 8.0)])
    answer = stage.answer()
    assert answer is not None
    assert (shown(answer), answer.exact, answer.candidates) == ([("q", 28.0)], True, 1)


def test_a_changed_key_outside_the_list_comes_in_with_a_bound() -> None:
    """C is in the replica, and forgotten. Then it changes: its amount counts as the least, 1."""
    script = {"a": 0.0, "b": 0.0, "c": [(0, 0.0), (11, 40.0)], "d": 0.0}
    window = sliding(20, 10, start=-10)
    stage = Stage(query_of(k=1, spare=0, window=window, policy="gnr-lru"), script)
    stage.ingest([("c", 3, 5.0)])
    first = stage.answer()
    stage.ingest([("a", 12, 9.0), ("d", 13, 1.0)])
    second = stage.answer()
    assert first is not None
    assert second is not None
    assert (shown(first), first.exact) == ([("c", 5.0)], True)
    assert (shown(second), second.exact) == ([("c", 41.0)], False)
    assert (second.rows[0].remote, second.rows[0].age, second.rows[0].confidence) == (40.0, 0, 1.0)
    assert stage.truth(second, SCORES["amount + remote"]) == [("c", 45.0)]


@pytest.mark.parametrize("policy", ["worth", "lru", "at-tsm"])
def test_keys_never_fetched_come_first_and_count_as_average_ones(policy: str) -> None:
    script = {"a": 10.0, "b": 20.0, "c": 0.0, "d": 0.0}
    stage = Stage(query_of(policy=policy, budget=2, k=4, window=tumbling(10)), script)
    stage.ingest([("a", 1, 1.0), ("b", 2, 1.0)])
    stage.answer()
    stage.ingest([(key, 12, 1.0) for key in "abcd"])
    stage.source.failing |= {"c", "d"}
    answer = stage.answer()
    assert answer is not None
    assert set(stage.source.calls[-1]) == {"c", "d"}
    unknown = {row.key: row for row in answer.rows if row.age is None}
    assert set(unknown) == {"c", "d"}
    assert all(row.remote == 15.0 and row.confidence == 0.0 for row in unknown.values())
    assert not answer.exact


@pytest.mark.parametrize("name", ["panes+n", "topk+n"])
def test_how_batches_are_cut_does_not_matter(name: str) -> None:
    """Also when events of many windows come at once, before the first is answered.

    Each key comes once in a pane, of 2 here: a batch is reduced to the last of them.
    """
    query = query_of(list=name, k=3, spare=1, budget=3, policy="worth")
    events = list({(event[0], (event[1] - 1) // 2): event for event in stream_of(3)}.values())
    events.sort(key=lambda event: event[1])
    whole, parts = (Stage(query, script_of(3)) for _ in range(2))
    whole.ingest(events)
    found = []
    for time in range(1, 101):
        parts.ingest([event for event in events if event[1] == time])
        while (close := parts.monitor.next_close()) is not None and close <= time:
            found.append(parts.answer())
            parts.restart()
    assert found
    assert [replaced(each) for each in found] == [
        replaced(whole.answer()) for _ in range(len(found))
    ]


def replaced(answer: Answer | None) -> Any:
    """All but the counts: they tell what came since the last answer."""
    assert answer is not None
    return answer.window, answer.rows, answer.exact, answer.candidates, answer.freshness


@pytest.mark.parametrize("order", ["largest", "smallest"])
@pytest.mark.parametrize("name", ["panes+n", "topk+n"])
def test_of_several_events_at_one_time_the_greatest_counts(name: str, order: Any) -> None:
    """Whichever comes first, in one batch or in two."""
    for first, second, cut in ((5.0, 3.0, 1), (3.0, 5.0, 1), (5.0, 3.0, 2), (3.0, 5.0, 2)):
        score = Formula("amount + remote", order=order)
        stage = Stage(query_of(list=name, score=score, window=tumbling(10)), {"a": 1.0})
        stage.ingest([("a", 2, first), ("a", 2, second)], cut)
        answer = stage.answer()
        assert answer is not None
        assert (answer.rows[0].values, answer.exact) == ((5.0,), True)


@pytest.mark.parametrize("name", ["panes+n", "topk+n"])
def test_an_event_that_may_have_been_overtaken_by_a_forgotten_one_is_not_trusted(
    name: str,
) -> None:
    """Small amounts win. X has 9 at 2, which is forgotten; then comes a smaller one, also at 2."""
    score = Formula("amount + clip(remote, 0, 1)", order="smallest")
    query = query_of(list=name, score=score, window=tumbling(10), k=1, spare=0)
    stage = Stage(query, {"a": 0.0, "x": 0.0})
    stage.ingest([("a", 1, 5.0), ("x", 2, 9.0)])
    stage.ingest([("x", 2, 1.0)])
    answer = stage.answer()
    assert answer is not None
    assert (answer.keys, answer.exact) == (["x"], False)
    assert stage.truth(answer, SCORES["amount + remote"]) == [("a", 5.0)]
    stage.ingest([("a", 11, 5.0)])
    stage.restart()
    later = stage.answer()
    assert later is not None
    assert (later.keys, later.exact) == (["a"], True)


@pytest.mark.parametrize("name", ["panes+n", "topk+n"])
def test_an_older_event_after_a_forgotten_one_is_not_trusted(name: str) -> None:
    """X has 1 at 9, which is forgotten; the 9 that it had at 8 comes late, and is not its last."""
    score = "amount + clip(remote, 0, 2)"
    query = query_of(list=name, score=score, window=tumbling(10), k=1, spare=0)
    stage = Stage(query, {"a": 0.0, "x": 0.0})
    stage.ingest([("a", 5, 5.0), ("x", 9, 1.0)])
    stage.ingest([("x", 8, 9.0)])
    answer = stage.answer()
    assert answer is not None
    assert (answer.keys, answer.exact) == (["x"], False)
    assert stage.truth(answer, SCORES[score]) == [("a", 5.0)]


def test_a_key_without_a_remote_value_is_no_result() -> None:
    events = [("a", 1, 5.0), ("b", 2, 9.0), ("c", 3, 7.0)]
    for default, right in ((None, ["c", "a"]), (1.0, ["b", "c", "a"])):
        stage = Stage(query_of(k=3, default=default, window=tumbling(10)), {"a": 1.0, "c": 1.0})
        stage.ingest(events)
        answer = stage.answer()
        assert answer is not None
        assert (answer.keys, answer.exact) == (right, True)


@pytest.mark.parametrize("kind", ["int", "str"])
@pytest.mark.parametrize("name", [*changing])
def test_a_restart_changes_nothing(name: str, kind: str) -> None:
    """Also before the first event, and with empty windows between."""
    events: list[Event] = [
        (key if kind == "int" else f"k{key:02}", time, amount)
        for key, time, amount in stream_of(4, n=120)
        if time < 40 or time > 70
    ]
    script = {
        key if kind == "int" else f"k{key:02}": values for key, values in script_of(4).items()
    }
    query = query_of(list=name, k=2, spare=1, policy="worth", budget=2, limit=25)
    twins = [Stage(query, script) for _ in range(2)]
    for first in range(0, len(events), 7):
        twins[1].restart()
        for stage in twins:
            stage.ingest(events[first : first + 7])
        while (close := twins[0].monitor.next_close()) and close <= events[first][1]:
            twins[1].restart()
            assert twins[0].answer() == twins[1].answer()
    assert twins[0].source.calls == twins[1].source.calls
    assert twins[0].monitor.snapshot() == twins[1].monitor.snapshot()


def test_a_state_of_other_windows_is_refused_and_of_another_list_is_not() -> None:
    stage = Stage(query_of(), {1: 1.0})
    stage.ingest([(1, 1, 1.0)])
    state = stage.monitor.snapshot()
    with pytest.raises(StateError, match="another query"):
        TopKMonitor.build(query_of(window=tumbling(7)), state, source=stage.source)
    other = TopKMonitor.build(query_of(list="topk+n"), state, source=stage.source)
    assert [answer.exact for answer in other.flush()][:1] == [False]


def test_long_gaps_are_skipped_and_run_answers_all() -> None:
    source = Scripted({1: 5.0, 2: 6.0})
    query = query_of(window=tumbling(10))
    batches = [batch_of([(1, 1, 1.0), (2, 2, 2.0)]), batch_of([(1, 50_000, 3.0)])]
    answers = list(run(query, batches, source=source))
    assert [answer.keys for answer in answers[:2]] == [[2, 1], []]
    assert answers[-1].keys == [1]
    assert sum(answer.counts.skipped_windows for answer in answers) == 5_000 - 2 - 1_000
    assert all(answer.exact for answer in answers)


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"take": {"amount": "count"}}, "take", "may fall as the window slides"),
    ({"take": {"amount": "max(amount)"}}, "take", "may fall as the window slides"),
    ({"take": {"amount": "last(a)", "n": "sum(b)"}}, "take", "'n', a sum, may fall"),
    ({"take": {"amount": "last(a)", "b": "last(b)"}}, "take", "there are 2 values"),
    ({"score": "amount * remote"}, "score", "rises or falls with 'amount'"),
    ({"score": "abs(amount) + remote"}, "score", "rises or falls with 'amount'"),
    ({"take": "each", "score": "amount"}, "list", "one object per key"),
]


@pytest.mark.parametrize(("changes", "field", "message"), BAD)
def test_queries_that_a_list_can_not_answer_say_so(
    changes: dict[str, Any], field: str, message: str
) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        query_of(**changes)
    assert caught.value.field == field
    assert caught.value.fix


def test_a_list_without_spare_and_a_query_without_a_remote_part() -> None:
    plain = query_of().to_dict()
    refresh = plain.pop("refresh")
    with pytest.raises(QueryError, match="keeps none to spare"):
        TopKQuery.from_dict({**plain, "list": "mintopk+", "refresh": refresh})
    with pytest.raises(QueryError, match="and there is none"):
        TopKQuery.from_dict({**plain, "score": "amount"})


def test_such_a_query_survives_json() -> None:
    for name in changing:
        query = query_of(list=name)
        assert TopKQuery.from_json(query.to_json()) == query
