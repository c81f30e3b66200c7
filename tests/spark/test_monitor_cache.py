"""Monitors that stay in a worker."""

from __future__ import annotations

from topwater import TopKQuery, tumbling
from topwater.monitor import build_monitor
from topwater.monitor.journal import Journal
from topwater.spark.monitor_cache import MonitorCache
from topwater.testing import Scripted

QUERY = TopKQuery(
    key="who", time="at", window=tumbling(10), take={"n": "count"}, score="n * f", k=1, refresh="f"
)


class Closable(Scripted):
    """A source that knows whether it was closed."""

    closed = False

    def close(self) -> None:
        self.closed = True


def test_a_monitor_is_taken_once() -> None:
    cache, source = MonitorCache(), Closable({})
    journal = Journal(build_monitor(QUERY, source=source))
    cache.put(("run", 0), journal)
    assert cache.take(("run", 1)) is None
    assert cache.take(("run", 0)) is journal
    assert cache.take(("run", 0)) is None
    assert not source.closed


def test_the_one_used_longest_ago_is_closed_when_there_are_too_many() -> None:
    cache, sources = MonitorCache(most=2), [Closable({}) for _ in range(3)]
    journals = [Journal(build_monitor(QUERY, source=source)) for source in sources]
    for shard in (0, 1):
        cache.put(("run", shard), journals[shard])
    again = cache.take(("run", 0))
    assert again is not None
    cache.put(("run", 0), again)
    cache.put(("run", 2), journals[2])
    assert [source.closed for source in sources] == [False, True, False]
    assert len(cache) == 2


def test_large_ones_go_before_there_are_many() -> None:
    cache, journals = MonitorCache(size=10), []
    for shard in range(3):
        source = Closable({})
        journal = Journal(build_monitor(QUERY, source=source))
        journal.monitor.ingest({"who": [1, 2], "at": [1, 2]})
        journal.record("a nonce")
        assert journal.size > 10
        cache.put(("run", shard), journal)
        journals.append((source, journal))
        assert len(cache) == 1
    assert [source.closed for source, _ in journals] == [True, True, False]
    assert cache.take(("run", 2)) is journals[-1][1]
