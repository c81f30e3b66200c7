"""Snapshots, described without a monitor; and refused for another query."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.observed import source
from topwater import StateError, TopKMonitor, TopKQuery, sliding, tables
from topwater.monitor.grouped import GroupedMonitor
from topwater.monitor.snapshot import describe

SETTINGS: dict[str, Any] = {"key": "who", "time": "at", "window": sliding(4, 2), "k": 1}


BATCH: dict[str, Any] = {
    "who": ["a", "b", "a"],
    "at": [1, 4, 3],
    "value": [7.0, 5.0, 1.0],
    "team": ["red", "blue", None],
}


def test_each_form_of_contents_is_described() -> None:
    items = TopKMonitor.build(TopKQuery(**SETTINGS, score="value"))
    assert describe(items.snapshot()).rankings[0].next_window is None
    items.ingest(BATCH)
    kept = describe(items.snapshot()).rankings[0]
    assert (kept.holds, kept.rows, kept.keys, kept.oldest_fetch) == ("items", 2, 0, None)
    listed = TopKQuery(
        **SETTINGS,
        take={"v": "last(value)"},
        score="v + remote",
        refresh={"remote": "remote", "budget": 1, "spare": 1},
        list="panes+n",
    )
    monitor = TopKMonitor.build(listed, source=source())
    monitor.ingest(BATCH)
    monitor.close_until(5)
    kept = describe(monitor.snapshot()).rankings[0]
    assert (kept.holds, kept.keys, kept.fetched, kept.oldest_fetch) == ("candidates", 1, 1, 4)


def test_groups_are_described_one_by_one() -> None:
    monitor = GroupedMonitor.build(TopKQuery(**SETTINGS, score="value", group_by="team"))
    monitor.ingest(BATCH)
    found = describe(monitor.snapshot())
    assert [(kept.group, kept.rows) for kept in found.rankings] == [("blue", 1), ("red", 1)]
    assert (found.counts.events, found.counts.bad_key, found.newest) == (3, 1, 4)
    assert found.query.group_by == "team"
    assert json.loads(json.dumps(found.to_dict()))["rankings"][0]["group"] == "blue"


def test_what_is_no_snapshot_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StateError, match="not Topwater state"):
        describe(b"nonsense")
    with pytest.raises(StateError, match="a form that this program does not know"):
        describe(tables.pack(pa.table({"a": np.zeros(1)}), {}))
    monkeypatch.setattr(tables, "VERSION", 1)
    old = TopKMonitor.build(TopKQuery(**SETTINGS, score="value")).snapshot()
    monkeypatch.undo()
    with pytest.raises(StateError, match="the state has version 1"):
        describe(old)
