"""That an accuracy is out of reach is in the log: once each time, and not each time."""

from __future__ import annotations

import logging

import pytest

from topwater.model import Answer, Freshness, Window
from topwater.monitor.accuracy_log import AccuracyLog


def answer(out_of_reach: bool, group: str | None = None) -> Answer:
    fresh = Freshness(3, 0, 0, 0.5, 0.5, missed=True, out_of_reach=out_of_reach)
    return Answer(Window(0, 0, 10), (), freshness=fresh, group=group)


def test_it_is_told_when_it_begins(caplog: pytest.LogCaptureFixture) -> None:
    log = AccuracyLog()
    with caplog.at_level(logging.WARNING, "topwater.accuracy"):
        log.hear(Answer(Window(0, 0, 10), ()))
        log.hear(answer(out_of_reach=False))
        assert not caplog.records
        for _ in range(5):
            log.hear(answer(out_of_reach=True))
        assert len(caplog.records) == 1
        assert "since the window (0, 10]" in caplog.text
        assert "the accuracy asked for is out of reach: allow more" in caplog.text
        assert "about 50% right" in caplog.text
        log.hear(answer(out_of_reach=False))
        log.hear(answer(out_of_reach=True))
        assert len(caplog.records) == 2


def test_an_audit_that_contradicts_is_told(caplog: pytest.LogCaptureFixture) -> None:
    log = AccuracyLog()
    fresh = Freshness(3, 0, 0, 0.5, 0.5, missed=False, doubtful=True)
    with caplog.at_level(logging.WARNING, "topwater.accuracy"):
        for _ in range(3):
            log.hear(Answer(Window(0, 0, 10), (), freshness=fresh))
    assert "is contradicted by look-ups drawn at random" in caplog.text
    assert len(caplog.records) == 1


def test_each_group_has_its_own_times_and_few_are_told(caplog: pytest.LogCaptureFixture) -> None:
    log = AccuracyLog()
    with caplog.at_level(logging.WARNING, "topwater.accuracy"):
        for group in ("a", "b", "a", "b"):
            log.hear(answer(out_of_reach=True, group=group))
        assert log.times == 2
        for _ in range(500):
            log.hear(answer(out_of_reach=True, group="a"))
            log.hear(answer(out_of_reach=False, group="a"))
    assert log.times == 501
    assert len(caplog.records) == 9
