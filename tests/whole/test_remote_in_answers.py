"""What a source does wrong is seen in the answer, and costs no answer its time."""

from __future__ import annotations

import logging
import pickle
import threading
from typing import Any

import numpy as np
import pytest

from tests.support.timing import within
from tests.support.troubled import Acting, Hanging
from topwater.errors import SourceError
from topwater.local import run
from topwater.model import Answer
from topwater.monitor import TopKMonitor
from topwater.query import TopKQuery
from topwater.remote import stack
from topwater.windows import tumbling


def query_of(budget: Any) -> TopKQuery:
    return TopKQuery(
        key="who",
        time="at",
        window=tumbling(10),
        take={"n": "count"},
        score="n + far",
        k=3,
        refresh={"remote": "far", "budget": budget, "policy": "lru"},
    )


def batch_of(windows: int) -> dict[str, Any]:
    """The keys 1 to 6 in each window."""
    return {
        "who": np.tile(np.arange(1, 7), windows),
        "at": np.repeat(10 * np.arange(windows), 6) + 1,
    }


def answers(monitor: TopKMonitor, windows: int) -> list[Answer]:
    monitor.ingest(batch_of(windows))
    return monitor.flush()


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_hanging_source_delays_no_answer(wrapped: bool) -> None:
    hanging = Hanging()
    source: Any = stack(hanging, per_request=2) if wrapped else hanging
    monitor = TopKMonitor.build(query_of({"deadline": "100 ms"}), source=source)
    with within(3 * 0.1):
        found = answers(monitor, 3)
    hanging.gate.set()
    assert len(found) == 3
    assert all(dict(answer.problems).keys() == {"late"} for answer in found)
    assert all(len(answer.rows) == 3 for answer in found)


def test_a_punctual_source_leaves_time_for_the_ranking() -> None:
    source = Acting(lambda keys, deadline: threading.Event().wait(deadline) or Acting().fetch(keys))
    monitor = TopKMonitor.build(query_of({"deadline": "300 ms"}), source=stack(source))
    with within(0.3):
        (answer, *_) = answers(monitor, 1)
    assert len(answer.rows) == 3


def test_problems_are_told_by_name_and_the_next_window_recovers() -> None:
    raw = Acting("server", "client", "ok")
    source = stack(raw, per_request=3, at_once=1, retries=0)
    monitor = TopKMonitor.build(query_of(6), source=source)
    first, second = answers(monitor, 2)
    assert first.problems == (("client", 3), ("server", 3))
    assert first.freshness is not None
    assert first.freshness.failed == 6
    assert second.problems == ()
    assert second.freshness is not None
    assert second.freshness.failed == 0
    assert second.exact
    assert pickle.loads(pickle.dumps(first)) == first  # noqa: S301
    assert hash(first) == hash(first)


def test_failures_do_not_overspend_the_budget() -> None:
    raw = Acting("server")
    source = stack(raw, per_request=1, retries=0, breaker=False)
    for answer in answers(TopKMonitor.build(query_of(4), source=source), 5):
        assert answer.freshness is not None
        assert answer.freshness.fetched <= 4
        assert sum(count for _, count in answer.problems) == answer.freshness.failed
    assert source.asked.keys == len(raw.calls) <= 5 * 4


def test_a_source_that_raises_is_broken_and_tells_it() -> None:
    def act(*_: Any) -> Any:
        raise ValueError("no")

    (answer,) = answers(TopKMonitor.build(query_of(2), source=Acting(act)), 1)
    assert answer.problems == (("broken", 2),)


class Unreachable(Acting):
    def check(self) -> None:
        raise SourceError("no connection", field="url", fix="start it")


def test_a_run_says_at_once_what_cannot_be_reached(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = list(run(query_of(2), [batch_of(1)], source=stack(Unreachable())))
    assert len(found) == 1
    assert "url: no connection" in caplog.text
    with pytest.raises(SourceError, match="url"):
        next(run(query_of(2), [batch_of(1)], source=stack(Unreachable(), at_start="stop")))
