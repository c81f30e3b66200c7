"""What was asked, and what became of it."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest

from tests.support.troubled import Acting
from topwater.model import Fetched
from topwater.remote.wrappers.count import Counting, Totals
from topwater.testing import Scripted, check_source

KEYS = np.array([1, 2, 3])


def test_it_keeps_the_contract() -> None:
    check_source(lambda: Counting(Scripted({1: 1.0, 2: 2.0})), np.array([1, 2]), np.array([7]))


def test_keys_and_problems_are_counted() -> None:
    counting = Counting(Acting("ok", "late", "server", "late"))
    for _ in range(4):
        counting.fetch(KEYS)
    totals = counting.totals
    assert (totals.calls, totals.keys, totals.answered, totals.failed) == (4, 12, 3, 9)
    assert totals.problems == {"late": 6, "server": 3}


def test_a_source_that_gives_no_reasons_is_counted_too() -> None:
    source = Scripted({1: 1.0}, seconds_per_key=0.5)
    source.failing.add(1)
    counting = Counting(source)
    counting.fetch(np.array([1]))
    assert counting.totals == Totals(1, 1, 0, 0.5, {"": 1})


def test_what_raises_is_counted_and_goes_on() -> None:
    def act(*_: object) -> Fetched:
        raise OSError("gone")

    counting = Counting(Acting(act))
    with pytest.raises(OSError, match="gone"):
        counting.fetch(KEYS)
    assert (counting.totals.calls, counting.totals.problems) == (1, {"broken": 3})


def test_no_count_is_lost_between_threads() -> None:
    counting = Counting(Acting())
    users = [
        threading.Thread(target=lambda: [counting.fetch(KEYS) for _ in range(200)])
        for _ in range(8)
    ]
    for each in users:
        each.start()
    for each in users:
        each.join(30)
    assert (counting.totals.calls, counting.totals.keys) == (1_600, 4_800)


def test_a_copy_starts_at_nothing() -> None:
    counting = Counting(Acting())
    counting.fetch(KEYS)
    assert pickle.loads(pickle.dumps(counting)).totals == Totals()  # noqa: S301
