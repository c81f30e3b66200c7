"""What is said of a stream of changes, and what a query must be to use one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.pushed_scene import one_value, several
from topwater import QueryError, TopKMonitor, remote, run
from topwater.monitor.notice_settings import ChangeStream, NoticeSettings, require_notices


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"form": "avro"}, "changes.form"),
        ({"key": 7}, "changes.key"),
        ({"value": 7}, "changes.value"),
        ({"time": ""}, "changes.time"),
        ({"delay": "soon"}, "changes.delay"),
        ({"delay": -1}, "changes.delay"),
        ({"complte": True}, "did you mean complete"),
    ],
)
def test_settings_that_cant_be_are_named(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(QueryError, match=problem):
        ChangeStream([], **settings)


@pytest.mark.parametrize(
    ("changes", "settings", "problem"),
    [
        ({"refresh": None, "score": "sold"}, {}, "has no remote value that could change"),
        ({"group_by": "team"}, {}, "each group has a replica of its own"),
        ({}, {"complete": ["shops"]}, "'shops' is not a source of the query"),
        ({}, {"value": {"prize": "x"}}, "did you mean price"),
    ],
)
def test_queries_that_cant_hear_of_changes_say_so(
    changes: dict[str, Any], settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(QueryError, match=problem):
        require_notices(one_value(**changes), NoticeSettings(**settings))


def test_settings_survive_a_round_trip() -> None:
    given = {"value": {"price": "p"}, "complete": "shop", "delay": "5 s"}
    settings = NoticeSettings.of({"key": ("a", "b"), **given})
    assert NoticeSettings.of(settings.to_dict()) == settings
    assert settings.complete_sources(several()) == {"shop"}


def test_a_monitor_that_was_not_told_of_changes_refuses_them() -> None:
    monitor = TopKMonitor.build(one_value(), source=remote.memory({}))
    with pytest.raises(QueryError, match="was not built to hear of changes"):
        monitor.learn([{"key": "a", "time": 1, "price": 1.0}])


def test_run_reads_changes_until_they_have_come_as_far_as_the_events() -> None:
    events = [{"product": ["a", "b"], "at": [at + 1, at + 2]} for at in range(0, 9_000, 500)]
    told = [
        {"key": [key], "time": [at], "price": [at + 1.0]}
        for at in range(0, 9_000, 250)
        for key in "ab"
    ]
    query = one_value(refresh={"remote": "price", "budget": 1})
    changes = ChangeStream(told, complete=True)
    for answer in run(query, events, source=remote.memory({}), changes=changes):
        assert answer.exact
        last = answer.window.end // 250 * 250 + 1.0
        assert {row.remote for row in answer.rows} <= {last, 8_751.0}
