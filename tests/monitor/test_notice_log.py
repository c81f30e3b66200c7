"""Notices that wait are in the journal, through images and catching up too."""

from __future__ import annotations

import pytest

from tests.support.journal_store import JournalStore
from tests.support.pushed_scene import one_value
from topwater import TopKMonitor, remote
from topwater.monitor import strand
from topwater.monitor.journal import Head, Journal
from topwater.monitor.notice_settings import NoticeSettings
from topwater.replica import Refresher


def monitor() -> TopKMonitor:
    source = remote.memory(dict.fromkeys("abc", 1.0))
    return TopKMonitor.build(one_value(), source=source, changes=NoticeSettings())


def waits(found: TopKMonitor) -> str:
    """As text, in which a value that is none equals another."""
    desk = found.refresher.notices if isinstance(found.refresher, Refresher) else None
    table = None if desk is None else desk.waiting()
    return "" if table is None else repr(table.to_pylist())


@pytest.mark.parametrize("pieces", [64, 2])
def test_what_waits_is_what_was_written(pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strand, "_PIECES", pieces)
    journal, store, behind = Journal(monitor()), JournalStore(), None
    for turn in range(12):
        journal.monitor.ingest({"product": ["a", "b"], "at": [turn * 300 + 1, turn * 300 + 2]})
        when = [turn * 300 + 1_700, turn * 300 - 900]
        journal.monitor.learn({"key": ["a", "c"], "time": when, "price": [turn, None]})
        journal.monitor.close_until(turn * 300)
        store.write(journal.record("nonce"))
        desks = [store.rebuilt(monitor()).monitor]
        if behind is None:
            behind = store.rebuilt(monitor())
        elif turn == 5:
            # Images may have taken the place of what it missed.
            caught_up = behind.catch_up(Head.unpack(store.head), store.get)
            assert caught_up or pieces == 2
            desks += [behind.monitor] if caught_up else []
        for each in desks:
            assert isinstance(each, TopKMonitor)
            assert waits(each) == waits(journal.monitor)
            assert each.facts() == journal.monitor.facts()


def test_who_listens_from_now_on_goes_on_from_a_state_without_notices() -> None:
    query = one_value(refresh={"remote": "price", "policy": "wst"})
    deaf = Journal(TopKMonitor.build(query, source=remote.memory({"a": 1.0})))
    deaf.monitor.ingest({"product": ["a"], "at": [1]})
    store = JournalStore()
    store.write(deaf.record("nonce"))
    source = remote.memory({"a": 1.0})
    settings = NoticeSettings(complete=True)
    again = store.rebuilt(TopKMonitor.build(query, source=source, changes=settings)).monitor
    again.learn({"key": ["a"], "time": [1_500], "price": [4.0]}, until=2_000)
    (answer,) = again.flush()
    assert answer.rows[0].remote == 4.0
