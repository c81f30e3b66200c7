"""Answers for the tests of the live page: made up, but of every kind."""

from __future__ import annotations

from typing import Any

from topwater.model import Answer, Counts, Freshness, Row, Window

MINUTE = 60_000
START = 1_767_225_600_000  # 2026-01-01 00:00 UTC


def answer(number: int, *keys: str | int, group: str | None = None) -> Answer:
    """The answer of a minute, without a remote part; the first key is the best."""
    closes = START + (number + 1) * MINUTE
    rows = [Row(rank, key, 100.0 / rank, closes - 1) for rank, key in enumerate(keys, 1)]
    window = Window(number, closes - MINUTE, closes)
    return Answer(window, tuple(rows), True, 9, Counts(events=5), None, group)


def remote_record(number: int, *keys: str, failed: int = 0) -> dict[str, Any]:
    """The record of a minute with a remote part: the first key was just looked up."""
    closes = START + (number + 1) * MINUTE
    rows = tuple(
        Row(rank, key, 90.0 / rank, closes - 1, (9.0,), 40.0 + rank, *_freshness(rank))
        for rank, key in enumerate(keys, 1)
    )
    made = Answer(
        Window(number, closes - MINUTE, closes),
        rows,
        exact=False,
        candidates=12,
        counts=Counts(events=1_234, late=3, bad_score=2),
        freshness=Freshness(2, failed, 0, 0.8, 0.93, missed=False),
        problems=(("timeout", failed),) if failed else (),
    ).to_dict()
    looked_up = [{"key": keys[0], "before": 38.0, "after": 41.0, "ok": True}]
    if failed:
        looked_up.append({"key": "gone", "before": 7.0, "after": None, "ok": False})
    return made | {"looked_up": looked_up}


def _freshness(rank: int) -> tuple[int | None, float]:
    """Just now, a while ago, long ago, never."""
    return ((0, 1.0), (30_000, 0.93), (300_000, 0.7), (None, 0.2))[min(rank, 4) - 1]
