"""A day of new keys: what is kept of them stops growing when it has reached its bound."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from tests.support.journal_store import JournalStore
from topwater import TopKMonitor, TopKQuery, sliding
from topwater.model import Fetched
from topwater.monitor.journal import Journal

if TYPE_CHECKING:
    from topwater.model import KeyArray

MINUTE = 60_000


class Hashed:
    """A source that knows every key."""

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        return Fetched((keys * 2_654_435_761 % 10_007) / 10.0, np.ones(len(keys), bool))


class Hour(NamedTuple):
    """What is kept at its end: rows of the replica, its bytes, slots, those of the state, RSS."""

    hour: float
    remembered: int
    replica: int
    slots: int
    state: int
    resident: int
    forgotten: int


def churn(minutes: int, new: int, *, budget: int | None, memory: int | None = None) -> list[Hour]:
    """So many new keys a minute, each of which has events for five minutes; told by the hour."""
    refresh: dict[str, object] = {"remote": "f"}
    refresh |= {} if budget is None else {"budget": budget}
    refresh |= {} if memory is None else {"memory": memory}
    query = TopKQuery(
        key="who", time="at", window=sliding("5 min", "1 min"), take={"n": "count"},
        score="n * f", k=10, refresh=refresh,
    )  # fmt: skip
    monitor = TopKMonitor.build(query, source=Hashed())
    journal, store, rng = Journal(monitor), JournalStore(), np.random.default_rng(1)
    found, forgotten = [], 0
    for minute in range(minutes):
        keys = np.concatenate(
            [np.arange(new * minute, new * (minute + 1)),
             rng.integers(max(0, new * (minute - 4)), new * (minute + 1), 3 * new)]
        )  # fmt: skip
        at = minute * MINUTE + 1 + rng.integers(0, MINUTE - 1, len(keys))
        monitor.ingest({"who": keys, "at": at})
        answers = monitor.close_until((minute + 1) * MINUTE + 1)
        forgotten += sum(answer.counts.forgotten for answer in answers)
        store.write(journal.record(str(minute)))
        store.written.clear()
        if (minute + 1) % max(1, min(60, minutes // 24)) == 0:
            found.append(_hour(monitor, store, minute, forgotten))
    return found


def _hour(monitor: TopKMonitor, store: JournalStore, minute: int, forgotten: int) -> Hour:
    assert monitor.refresher is not None
    replica = monitor.refresher.replica
    state = len(store.head) + sum(map(len, store.chunks.values()))
    return Hour(
        (minute + 1) / 60,
        len(replica),
        replica.size,
        replica.capacity,
        state,
        _resident(),
        forgotten,
    )


def _resident() -> int:
    with open("/proc/self/statm") as told:  # noqa: PTH123
        return int(told.read().split()[1]) * resource.getpagesize()


def check_flat(hours: list[Hour], memory: int) -> None:
    """From when the bound was met on, nothing grows."""
    bound = next(at for at, hour in enumerate(hours) if hour.forgotten)
    assert bound < len(hours) // 2
    first, last = hours[bound : -len(hours) // 4], hours[-len(hours) // 4 :]
    assert max(hour.replica for hour in hours) <= memory
    for name in ("remembered", "replica", "slots", "state"):
        before = max(getattr(hour, name) for hour in first)
        assert max(getattr(hour, name) for hour in last) <= 1.1 * before, name


def test_what_is_kept_of_new_keys_is_flat_after_the_bound() -> None:
    memory = 200_000
    check_flat(churn(96, 60, budget=20, memory=memory), memory)


@pytest.mark.soak
def test_a_day_of_new_keys_with_what_is_set_by_default() -> None:
    """4.3 million keys, 50 a second; a look-up for one in ten fills the replica in five hours."""
    hours = churn(24 * 60, 3_000, budget=300)
    for hour in hours:
        print(hour)
    check_flat(hours, 64 * 2**20)
    third = len(hours) // 3
    assert hours[-1].resident <= 1.1 * max(hour.resident for hour in hours[third : 2 * third])
