"""What changed in a replica, row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.journal_store import JournalStore
from topwater import Budget, RefreshSettings, TopKMonitor, TopKQuery, tumbling
from topwater.monitor.journal import Journal
from topwater.monitor.row_log import RowLog
from topwater.monitor.strand import BUCKETS
from topwater.tables import unpack_arrays
from topwater.testing import Scripted

QUERY = TopKQuery(
    key="who", time="at", window=tumbling(10), take={"n": "count"}, score="n * f", k=3,
    refresh={"remote": "f", "budget": 40},
)  # fmt: skip
SOURCE = {key: [(at, float(key + at // 40)) for at in range(0, 400, 20)] for key in range(200)}


def built() -> TopKMonitor:
    return TopKMonitor.build(QUERY, source=Scripted(SOURCE))


def answered(monitor: TopKMonitor, window: int, keys: int = 60) -> None:
    rng = np.random.default_rng(window)
    at = rng.integers(10 * window + 1, 10 * window + 9, keys)
    monitor.ingest({"who": rng.permutation(200)[:keys], "at": at})
    monitor.close_until(10 * window + 11)


def rows(monitor: TopKMonitor) -> str:
    """All that is remembered, by the keys' arrival; slots may differ."""
    assert monitor.refresher is not None
    table = monitor.refresher.snapshot()[0]
    return repr(table.drop_columns([name for name in ("slot",) if name in table.column_names]))


def test_news_make_another_replica_the_same() -> None:
    here, there = built(), built()
    assert here.refresher is not None
    assert there.refresher is not None
    log, other = RowLog(here.refresher), RowLog(there.refresher)
    assert log.news() is None
    for window in range(12):
        answered(here, window)
        news = log.news()
        assert news is not None
        other.begin(afresh=False)
        other.take(news.packed, None, image=False)
        other.end()
        there.restore_facts(here.facts())
        assert rows(there) == rows(here)
        assert log.news() is None
        assert other.news() is None


def whole(monitor: TopKMonitor) -> dict[int, str]:
    """Every row by its arrival, with all columns of the replica."""
    assert monitor.refresher is not None
    table = monitor.refresher.replica.snapshot().drop_columns(["key"])
    return {row["arrival"]: repr(row) for row in table.to_pylist()}


def test_news_are_what_a_comparison_of_all_rows_finds() -> None:
    """Also where keys are forgotten, and others take their rows."""
    refresh = RefreshSettings("f", budget=Budget(40), limit=70)
    monitor = TopKMonitor.build(replace(QUERY, refresh=refresh), source=Scripted(SOURCE))
    assert monitor.refresher is not None
    log, before, went = RowLog(monitor.refresher), whole(monitor), 0
    for window in range(12):
        answered(monitor, window)
        now = whole(monitor)
        news = log.news()
        assert news is not None
        packed: dict[str, Any] = unpack_arrays(news.packed)
        told = [packed.get(name, np.empty(0)) for name in ("gone", "new arrival", "changed")]
        gone, came = sorted(before.keys() - now.keys()), sorted(now.keys() - before.keys())
        changed = [at for at in sorted(before.keys() & now.keys()) if before[at] != now[at]]
        assert [each.tolist() for each in told] == [gone, came, changed]
        before, went = now, went + len(gone)
    assert went


def test_any_number_of_logs_may_watch_a_replica() -> None:
    monitor = built()
    assert monitor.refresher is not None
    first, second = RowLog(monitor.refresher), RowLog(monitor.refresher)
    for window in range(4):
        answered(monitor, window)
        first.news()
    late, known = second.news(), RowLog(monitor.refresher)
    everything = first.image(0, BUCKETS)
    assert late is not None
    assert everything is not None
    assert (
        unpack_arrays(late.packed).keys() - {"gone", "changed"}
        == unpack_arrays(everything.packed).keys()
    )
    known.know()
    assert known.news() is None


@pytest.mark.parametrize("width", [256, 64, 7])
def test_images_of_all_buckets_make_another_replica_the_same(width: int) -> None:
    here, there = built(), built()
    assert here.refresher is not None
    assert there.refresher is not None
    log, other = RowLog(here.refresher), RowLog(there.refresher)
    for window in range(8):
        answered(here, window)
        log.news()
    other.begin(afresh=True)
    for low in reversed(range(0, BUCKETS, width)):
        told = np.zeros(BUCKETS, bool)
        told[low : low + width] = True
        if (image := log.image(low, low + width)) is not None:
            other.take(image.packed, told, image=True)
    other.end()
    there.restore_facts(here.facts())
    assert rows(there) == rows(here)


def test_a_window_of_known_keys_costs_little_of_what_is_remembered() -> None:
    monitor, store = built(), JournalStore()
    journal = Journal(monitor)
    for window in range(30):
        answered(monitor, window, keys=200)
        store.write(journal.record(str(window)))
    assert monitor.refresher is not None
    log = RowLog(monitor.refresher)
    log.news()
    everything = log.image(0, BUCKETS)
    assert everything is not None
    answered(monitor, 30, keys=200)
    (chunk,) = journal.record("one more").puts.values()
    assert len(chunk) < len(everything.packed) / 2  # a fifth was asked for
