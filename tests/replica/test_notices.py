"""Notices wait for their windows, and it is known how far they are complete."""

from __future__ import annotations

import pyarrow as pa
import pytest

from topwater.replica.notices import (
    BEAT,
    END,
    LOST,
    STALE,
    VALUE,
    NoticeDesk,
    beat_of,
    notice_table,
)


def told(*rows: tuple[str | None, object, int, int], source: str = "shop") -> pa.Table:
    keys, times, kinds = ([row[at] for row in rows] for at in (1, 2, 3))
    sources = [row[0] or source for row in rows]
    return notice_table({"source": sources, "key": keys, "time": times, "kind": kinds})


def due(desk: NoticeDesk, now: int, source: str = "shop") -> list[object]:
    desk.due(now)
    found = desk.of(source)
    return [] if found is None else found.column("key").to_pylist()


def test_each_counts_from_its_time_on_and_a_late_one_from_the_next_window() -> None:
    desk = NoticeDesk()
    desk.add(told((None, "a", 5, VALUE), (None, "b", 15, STALE)))
    assert due(desk, 10) == ["a"]
    desk.add(told((None, "c", 7, VALUE)))
    assert dict(desk.outcomes())["late"] == 1
    assert due(desk, 20) == ["b", "c"]
    assert due(desk, 30) == []


@pytest.mark.parametrize(("delay", "silent"), [(0, True), (4, False)])
def test_silence_says_something_up_to_the_youngest_notice_less_the_delay(
    delay: int, silent: bool
) -> None:
    desk = NoticeDesk(frozenset({"shop"}), delay)
    assert not desk.silent("shop", 10)
    desk.add(told((None, None, 12, BEAT)))
    assert desk.silent("shop", 10) is silent
    assert not desk.silent("shop", 12)
    desk.add(beat_of(END))
    assert desk.silent("shop", 10**15)
    assert not desk.silent("vendors", 10)


def test_keys_of_two_kinds_wait_side_by_side() -> None:
    desk = NoticeDesk()
    desk.add(told((None, "a", 5, VALUE)))
    desk.add(told((None, 7, 5, VALUE), source="vendors"))
    desk.add(told((None, None, 5, LOST), source="vendors"))
    assert due(desk, 10) == ["a"]
    found = desk.of("vendors")
    assert found is not None
    assert found.column("key").to_pylist() == ["7", None]


def test_facts_bring_back_all_but_what_waits_unless_it_is_with_them() -> None:
    desk = NoticeDesk(frozenset({"shop"}))
    desk.add(told((None, "a", 5, VALUE), (None, "b", 15, STALE)))
    desk.due(10)
    again = NoticeDesk(frozenset({"shop"}))
    again.restore_facts(desk.with_waiting(desk.facts()))
    assert again.facts() == desk.facts()
    assert due(again, 20) == due(desk, 20) == ["b"]


def test_who_promises_more_than_before_is_believed_from_now_on() -> None:
    desk = NoticeDesk(frozenset({"shop"}))
    desk.restore_facts(None)
    assert desk.since == {"shop": None}
    other = NoticeDesk(frozenset({"shop", "vendors"}))
    other.restore_facts(NoticeDesk(frozenset({"shop"})).facts())
    assert other.since == {"vendors": None}
