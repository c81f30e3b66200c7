"""Groups cost what happens to them, however many are remembered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.journal_store import JournalStore
from topwater import TopKMonitor, TopKQuery, sliding, tumbling
from topwater.monitor import GroupedMonitor, Monitor, group_log
from topwater.monitor.journal import Head, Journal
from topwater.replica import RefreshSettings
from topwater.scoring import Formula
from topwater.testing import Scripted

QUERY = TopKQuery(
    key="who", time="at", window=tumbling(1_000), take={"n": "count"}, score="n", k=2,
    group_by="where",
)  # fmt: skip


def stepped(journal: Journal[Monitor], store: JournalStore, at: int, groups: range) -> None:
    events = {"who": [1, 2] * len(groups), "at": [at] * 2 * len(groups)}
    journal.monitor.ingest(events | {"where": [each for each in groups for _ in range(2)]})
    journal.monitor.close_until(journal.monitor.watermark or 0)
    store.write(journal.record(str(at)))


def test_a_record_has_the_groups_that_something_happened_to() -> None:
    sizes = []
    for remembered in (20, 400):
        store, journal = JournalStore(), Journal(GroupedMonitor.build(QUERY))
        stepped(journal, store, 1, range(remembered))
        stepped(journal, store, 2, range(20))
        sizes.append(store.written[-1])
    assert sizes[1] < 1.5 * sizes[0]


def test_only_groups_that_something_happens_to_become_monitors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, journal = JournalStore(), Journal(GroupedMonitor.build(QUERY))
    stepped(journal, store, 1, range(100))
    again = store.rebuilt(GroupedMonitor.build(QUERY))
    built: list[bytes] = []
    restore = TopKMonitor._restore

    def noted(self: TopKMonitor, state: bytes) -> None:
        built.append(state)
        restore(self, state)

    monkeypatch.setattr(TopKMonitor, "_restore", noted)
    stepped(again, store, 2, range(7))
    assert len(built) == 7
    last = again.monitor.flush()
    assert len(last) == len(built) == 100
    assert [answer.rows[0].values for answer in last] == [(2.0,)] * 7 + [(1.0,)] * 93


def test_monitors_not_used_for_long_are_put_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_log, "_AWAKE", 5)
    store, journal = JournalStore(), Journal(GroupedMonitor.build(QUERY))
    plain = GroupedMonitor.build(QUERY)
    for at, groups in enumerate((range(12), range(3, 9), range(10, 12)), 1):
        stepped(journal, store, at, groups)
        plain.ingest(
            {"who": [1, 2] * len(groups), "at": [at] * 2 * len(groups)}
            | {"where": [each for each in groups for _ in range(2)]}
        )
        assert isinstance(journal.monitor, GroupedMonitor)
        assert len(journal.monitor._monitors) == min(12, max(5, 2 * len(groups)))
    assert journal.monitor.flush() == plain.flush()


def test_groups_that_are_gone_are_gone_after_a_restart_too() -> None:
    store, journal = JournalStore(), Journal(GroupedMonitor.build(QUERY))
    stepped(journal, store, 1, range(30))
    behind = store.rebuilt(GroupedMonitor.build(QUERY))
    stepped(journal, store, 1_500, range(30, 32))
    assert behind.catch_up(Head.unpack(store.head), store.get)
    for each in (store.rebuilt(GroupedMonitor.build(QUERY)), behind):
        assert isinstance(each.monitor, GroupedMonitor)
        assert each.monitor.book.groups == [30, 31]
    assert len(store.chunks) == 2


REMOTE = replace(
    QUERY, window=sliding(50, 10), score=Formula("n * f"),
    refresh=RefreshSettings.of({"remote": "f", "budget": 20}),
)  # fmt: skip
SOURCE = {key: [(at, float(key % 97 + at)) for at in (0, 25, 60)] for key in range(3_000)}


@pytest.mark.parametrize("query", [replace(QUERY, window=sliding(50, 10)), REMOTE])
def test_a_large_group_costs_what_changed(query: TopKQuery) -> None:
    """Three groups of 3,000 keys, a hundredth of which has an event in each batch."""
    rng = np.random.default_rng(5)

    def built() -> GroupedMonitor:
        source = None if query.refresh is None else Scripted(SOURCE)
        return GroupedMonitor.build(query, source=source)

    store, journal, plain = JournalStore(), Journal(built()), built()
    came: list[int] = []
    for at in range(1, 140):
        keys = rng.permutation(3_000)[: 3_000 if at % 50 == 1 else 30]
        groups = np.repeat(np.arange(3), len(keys))
        batch = {"who": np.tile(keys, 3), "at": np.full(len(groups), at), "where": groups}
        for monitor in (journal.monitor, plain):
            monitor.ingest(batch)
        closed = journal.monitor.close_until(at)
        assert closed == plain.close_until(at)
        store.write(journal.record(str(at)))
        came.append(24 * len(groups))
    few = [at for at in range(60, 139) if at % 50]
    written = np.median([store.written[at] for at in few])
    whole = len(plain.snapshot())
    assert written < 2 * came[few[0]] + 3 * (1_500 + 12_000 * (query.refresh is not None))
    assert written < whole / 5
    again = store.rebuilt(built())
    assert again.monitor.flush() == journal.monitor.flush() == plain.flush()
