"""What an editor knows of a program that uses Topwater: checked by a type checker, never run.

``assert_type`` fails where a public signature says less than it could, or says Any.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_type

import topwater
from topwater import Answer, Answers, LookUp, Row, TopKMonitor, TopKQuery, remote, run, sliding
from topwater.model import Freshness, Key
from topwater.views import Chart


def uses(batches: list[dict[str, list[int]]]) -> None:
    """Everything that a first program touches."""
    source = remote.http("https://api.example/{key}", value="followers", rate=10, at_start="stop")
    assert_type(source.asked.keys, int)
    query = TopKQuery(key="user", time="at", window=sliding("1 min", "10 s"), score="n", k=3)
    assert_type(topwater.explain(query), str)
    assert_type(query.k, int)
    assert_type(run(query, batches), Iterator[Answer])
    answers = Answers(run(query, batches))
    assert_type(answers[0], Answer)
    assert_type(answers[1:], Answers)
    assert_type(answers.plot("accuracy"), Chart)
    for answer in answers:
        assert_type(answer.keys, list[Key])
        assert_type(answer.rows, tuple[Row, ...])
        assert_type(answer.freshness, Freshness | None)
        assert_type(answer.looked_up, tuple[LookUp, ...])
        assert_type(answer.plot().save("chart.svg").name, str)
    monitor = TopKMonitor.build(query)
    assert_type(monitor.close_until(10), list[Answer])
    assert_type(monitor.snapshot(), bytes)
