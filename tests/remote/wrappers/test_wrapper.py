"""What all wrappers share: they pass on what they don't care about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.troubled import Acting
from topwater.model import Fetched
from topwater.remote.wrappers.wrapper import Around, failed

KEYS = np.array([7, 8])


class Told(Acting):
    """A source that has everything a source may have."""

    punctual = True
    at_start = "stop"
    most = 3

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Any] = []

    def __repr__(self) -> str:
        return "Told()"

    def seek(self, now: int) -> None:
        self.told.append(now)

    def check(self) -> None:
        self.told.append("check")

    def close(self) -> None:
        self.told.append("close")


def test_everything_is_passed_on() -> None:
    inner = Told()
    around = Around(Around(inner))
    assert around.fetch(KEYS, 2.5).values.tolist() == [70, 80]
    assert (inner.calls, inner.deadlines) == ([[7, 8]], [2.5])
    around.seek(60_000)
    around.check()
    around.close()
    assert inner.told == [60_000, "check", "close"]
    assert (around.punctual, around.most, around.at_start) == (True, 3, "stop")
    assert around.per_request == 3
    assert repr(around) == "Around(Around(Told()))"


def test_a_source_that_only_fetches_is_enough() -> None:
    around = Around(Acting())
    around.seek(60_000)
    around.check()
    around.close()
    assert (around.punctual, around.most, around.at_start) == (False, None, "warn")
    assert around.per_request is None


def test_errors_go_through() -> None:
    def fail(*_: Any) -> Fetched:
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        Around(Acting(fail)).fetch(KEYS)


def test_all_keys_fail_for_one_reason() -> None:
    got = failed(KEYS, "late", 0.5)
    assert np.isnan(got.values).all()
    assert got.ok.tolist() == [False, False]
    assert got.reasons().tolist() == ["late", "late"]
    assert got.seconds == 0.5


def test_reasons_are_there_even_where_none_is_told() -> None:
    assert Fetched(np.zeros(2), np.ones(2, bool)).reasons().tolist() == ["", ""]
