"""The source of a query is guarded once, and every ranking fetches through that one guard."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from topwater.errors import QueryError
from topwater.model import Fetched, KeyArray, Shard
from topwater.monitor import build_monitor
from topwater.monitor.remote_part import RemotePart
from topwater.query import TopKQuery
from topwater.remote import Guarded
from topwater.testing import HandClock, Scripted
from topwater.windows import tumbling


def query_of(**changes: Any) -> TopKQuery:
    plain: dict[str, Any] = {
        "key": "who",
        "time": "at",
        "window": tumbling("1 min"),
        "take": {"n": "count"},
        "score": "n + remote",
        "k": 2,
        "refresh": {"remote": "remote", "budget": {"deadline": "2 s"}},
    }
    return TopKQuery(**(plain | changes))


class Threaded:
    """A source that may be late, and notes which threads call it."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        self.threads.add(threading.get_ident())
        return Fetched(np.ones(len(keys)), np.ones(len(keys), bool))


def test_all_groups_share_one_guard_and_so_one_thread() -> None:
    source = Threaded()
    monitor = build_monitor(query_of(group_by="team"), source=source)
    monitor.ingest({"who": ["a", "b", "c"], "at": [1, 2, 3], "team": ["red", "blue", "green"]})
    assert len(monitor.flush()) == 3
    assert len(source.threads) == 1
    assert source.threads != {threading.get_ident()}


def test_groups_built_from_a_snapshot_share_it_too() -> None:
    source, query = Threaded(), query_of(group_by="team")
    first = build_monitor(query, source=source)
    first.ingest({"who": ["a", "b"], "at": [1, 2], "team": ["red", "blue"]})
    again = build_monitor(query, first.snapshot(), source=source)
    assert len(again.flush()) == 2
    assert len(source.threads) == 1


def test_a_source_that_is_guarded_stays_as_it_is() -> None:
    guard = Guarded(Scripted({}))
    side = RemotePart.of(query_of(), guard, HandClock())
    assert side is not None
    assert side.source is guard
    assert RemotePart.of(query_of(score="n", refresh=None), None, HandClock()) is None


def test_each_ranking_has_a_purse_of_its_own() -> None:
    query = query_of(refresh={"remote": "remote", "budget": 6})
    side = RemotePart.of(query, Scripted({}), HandClock(), Shard(1, 3))
    assert side is not None
    one, other = side.refresher(query), side.refresher(query)
    assert one.purse is not other.purse
    assert one.replica is not other.replica
    assert one.purse.allowance() == 2


@pytest.mark.parametrize("group", [None, "team"])
def test_a_remote_value_without_a_source_is_refused_at_once(group: str | None) -> None:
    with pytest.raises(QueryError, match="no source was given"):
        build_monitor(query_of(group_by=group))
    with pytest.raises(QueryError, match="the query has no remote value"):
        build_monitor(query_of(score="n", refresh=None, group_by=group), source=Scripted({}))
