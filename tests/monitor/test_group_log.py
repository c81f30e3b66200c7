"""Groups cost what happens to them, however many are remembered."""

from __future__ import annotations

import pytest

from tests.support.journal_store import JournalStore
from topwater import TopKMonitor, TopKQuery, tumbling
from topwater.monitor import GroupedMonitor, group_log
from topwater.monitor.journal import Head, Journal

QUERY = TopKQuery(
    key="who", time="at", window=tumbling(1_000), take={"n": "count"}, score="n", k=2,
    group_by="where",
)  # fmt: skip


def stepped(journal: Journal, store: JournalStore, at: int, groups: range) -> None:
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
