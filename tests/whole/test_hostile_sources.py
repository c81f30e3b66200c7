"""What a sceptic found in the wrappers and the sources, each as a test."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.timing import HANGS
from topwater import remote
from topwater.model import Fetched
from topwater.remote import Guarded, Limit
from topwater.remote.memory import MemorySource
from topwater.remote.wrappers.retry import Retrying
from topwater.testing import HandClock

KEYS = np.array([1, 2])
VALUES = {1: 1.0, 2: 2.0}


class Busy:
    """Always says to come back in a day."""

    def fetch(self, keys: Any, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        why = np.full(len(keys), "limited", object)
        return Fetched(np.full(len(keys), np.nan), np.zeros(len(keys), bool), 0.0, why, 86_400.0)


def test_a_sparql_source_can_be_built_by_its_settings() -> None:
    """As from a file: there all settings have names."""
    settings: dict[str, Any] = {
        "pattern": "?user <http://example.org/p> ?followers",
        "key": "user",
        "value": "followers",
    }
    remote.sparql("http://127.0.0.1:1/sparql", **settings)
    remote.source({"url": "sparql+http://127.0.0.1:1/sparql", **settings})


def test_without_a_deadline_nobody_sleeps_for_a_day() -> None:
    """A budget of fetches, the usual one, has no deadline; the answer must still come."""
    hand = HandClock()
    Retrying(Busy(), retries=2, timer=hand).fetch(KEYS)
    assert sum(hand.slept) <= 60


def test_a_recording_that_can_not_be_written_costs_no_value(tmp_path: Path) -> None:
    source = remote.stack(MemorySource(VALUES), record=tmp_path / "absent" / "record.jsonl")
    assert source.fetch(KEYS, 5.0).values.tolist() == [1.0, 2.0]


def test_a_source_without_a_rate_does_not_wait_for_one_that_has(tmp_path: Path) -> None:
    """Two endpoints of one host have the same name, unless told otherwise."""
    name = str(tmp_path)
    slow = remote.stack(MemorySource(VALUES), rate=Limit(1, seconds=600), name=name)
    free = remote.stack(MemorySource(VALUES), name=name)
    assert slow.fetch(KEYS, 5.0).ok.all()
    assert free.fetch(KEYS, 5.0).problems() == {}


def test_a_source_without_a_rate_needs_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may have no place to write."""
    monkeypatch.setattr(tempfile, "tempdir", "/dev/null/nowhere")
    source = remote.stack(MemorySource(VALUES), name="a service")
    assert source.fetch(KEYS, 5.0).problems() == {}


def test_where_no_thread_can_be_started_keys_fail_and_nothing_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Plain:
        def fetch(self, keys: Any, deadline: float | None = None) -> Fetched:  # noqa: ARG002
            return Fetched(np.ones(len(keys)), np.ones(len(keys), bool))

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    source = Guarded(Plain())
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(5):
            assert not source.fetch(KEYS, 1.0).ok.any()
    assert source.fetch(KEYS, HANGS).ok.all()
