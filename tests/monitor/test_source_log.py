"""Windows for which nothing usable came are in the log; not all of them."""

from __future__ import annotations

import logging

import pytest

from topwater.model import Answer, Freshness, Window
from topwater.monitor.source_log import SourceLog


def answer(nothing_usable: bool) -> Answer:
    fresh = Freshness(3, 0, 3, 0.0, 0.0, missed=False, nothing_usable=nothing_usable)
    return Answer(Window(0, 0, 10), (), freshness=fresh, problems=(("no_value", 3),))


def test_it_is_said_at_once_and_then_ever_less_often(caplog: pytest.LogCaptureFixture) -> None:
    log = SourceLog()
    with caplog.at_level(logging.WARNING, "topwater.remote"):
        log.hear(answer(nothing_usable=False))
        assert not caplog.records
        for _ in range(1_000):
            log.hear(answer(nothing_usable=True))
    assert len(caplog.records) == 10
    assert "3 × nothing where the value should be" in caplog.text
    assert log.in_vain == 1_000
