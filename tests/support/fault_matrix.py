"""What must hold in every cell of the fault matrix, through a whole monitor.

::

    window     0          1          2          3        …
    service    healthy    faulty     faulty     healthy
    answer     fresh      on time    on time    fresh again, by itself
"""

from __future__ import annotations

import socket
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.support.fault_server import FaultServer
from tests.support.timing import within
from topwater.monitor import TopKMonitor
from topwater.query import TopKQuery
from topwater.remote.wrappers.circuit_breaker import Breaker
from topwater.remote.wrappers.stack import Stack, stack
from topwater.replica import Refresher
from topwater.windows import tumbling

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from topwater.model import Answer
    from topwater.protocols import Source

KEYS = [str(key) for key in range(1_000, 1_012)]
DEADLINE = 0.3
RETRIES = 2
FAULTS = {
    "refused": "refused",
    "hangs": "late",
    "slow": "late",
    "drips": "late",
    "drips-headers": "late",
    "limited": "limited",
    "limited-wait": "limited",
    "500": "server",
    "503": "server",
    "400": "client",
    "invalid-json": "garbled",
    "deep-json": "garbled",
    "wrong-type": "garbled",
    "html": "garbled",
    "empty": "garbled",
    "not-http": "garbled",
    "huge": "large",
    "packed": "large",
    "doubled": "doubled",
    "redirect": "redirect",
    "dropped": "dropped",
    "dropped-early": "dropped",
    "tls": "tls",
    "dns": "refused",
    "missing": "",
    "no-numbers": "",
    "extra": "",
}
"""What a source calls each of them; nothing where the service answered, if not as hoped."""

VARIANTS = {"drips-headers", "400", "deep-json", "html", "empty", "not-http", "packed"}
"""What differs from others only on its way to a problem's name: the loop can't tell."""

IN_LOOP = [name for name in FAULTS if name not in VARIANTS]
HOST = "followers.test"


@dataclass
class Cell:
    """One fault for one kind of source."""

    server: FaultServer
    make: Callable[[str], Source]
    fault: str
    monkeypatch: pytest.MonkeyPatch

    def __post_init__(self) -> None:
        self.server.values = {key: 100.0 + place for place, key in enumerate(KEYS)}
        self.server.received.clear()
        self.resolved = True
        resolve = socket.getaddrinfo

        def resolver(host: Any, *rest: Any, **more: Any) -> Any:
            ours = host in (HOST, HOST.encode())
            if ours and not self.resolved:
                raise socket.gaierror(-2, "Name or service not known")
            return resolve("127.0.0.1" if ours else host, *rest, **more)

        self.monkeypatch.setattr(socket, "getaddrinfo", resolver)

    @property
    def url(self) -> str:
        return self.server.url.replace("127.0.0.1", HOST if self.fault == "dns" else "127.0.0.1")

    def begin(self) -> None:
        self.server.misbehave("" if self.fault == "dns" else self.fault)
        if self.fault == "dns":
            self.server.refuse()  # No connection is left that could be used without the name.
            self.server.listen()
            self.resolved = False

    def end(self) -> None:
        self.resolved = True
        self.server.misbehave("")

    def raw(self) -> None:
        """The source itself names the problem, by the deadline, and is well again afterwards."""
        source = self.make(self.url)
        keys = np.array(KEYS, object)
        assert source.fetch(keys, 10.0).ok.all()
        self.begin()
        deadline = DEADLINE if FAULTS[self.fault] == "late" else 10.0
        with within(deadline):
            got = source.fetch(keys, deadline)
        if FAULTS[self.fault]:
            assert got.problems() == {FAULTS[self.fault]: len(KEYS)}
        else:
            assert got.ok.all()
            right = [100.0 + place for place in range(len(KEYS))]
            found = [value for value in got.values.tolist() if value == value]
            assert set(found) <= set(right)
            assert len(found) == {"missing": 6, "no-numbers": 0, "extra": 12}[self.fault]
        self.end()
        again = source.fetch(keys, 10.0)
        assert again.ok.all()
        assert np.isfinite(again.values).all()
        _close(source)

    def loop(self) -> None:
        """Every window is answered on time, whatever the service does."""
        source = stack(self.make(self.url), retries=RETRIES, breaker=Breaker(failures=4, rest=0.1))
        source.fetch(np.array(KEYS[:1], object), 10.0)  # loads what has to be loaded once
        windows = _Windows(source, self.server)
        first = windows.answer()
        assert first.freshness is not None
        assert first.freshness.fetched == len(KEYS)
        assert first.freshness.failed == 0
        self.begin()
        for _ in range(2):
            answer = windows.answer()
            self._check_faulty(answer, source)
        self.end()
        self.server.values = {key: value + 1_000 for key, value in self.server.values.items()}
        # Until the breaker has rested, twice as long the second time; or as the service asked.
        time.sleep(1.1 if self.fault == "limited-wait" else 0.25)
        self._check_recovered(windows)
        _close(source)

    def spend(self, fetches: int) -> None:
        """What fails is paid for all the same, and nobody asks for more instead."""
        source = stack(self.make(self.url), retries=0)
        windows = _Windows(source, self.server, {"fetches": fetches})
        self.begin()
        for _ in range(3):
            answer = windows.answer()
            assert answer.freshness is not None
            assert answer.freshness.failed == answer.freshness.fetched == fetches
        received = Counter(key for each in self.server.received for key in each.keys)
        assert received.total() <= 3 * fetches
        _close(source)

    def _check_faulty(self, answer: Answer, source: Stack) -> None:
        freshness = answer.freshness
        assert freshness is not None
        if FAULTS[self.fault]:
            assert freshness.failed == freshness.fetched > 0
            why = Counter(dict(answer.problems))
            assert sum(why.values()) == freshness.failed
            # A service that asks us to wait is not asked meanwhile: our own rate is 0.
            ours = {"late", "open"} | ({"rate"} if self.fault == "limited-wait" else set())
            assert set(why) <= {FAULTS[self.fault], *ours}
            assert sum(source.asked.problems.values()) >= freshness.failed
        elif self.fault in ("missing", "no-numbers"):
            assert freshness.failed == 0
            assert freshness.bad > 0
        else:
            assert (freshness.failed, freshness.bad, answer.problems) == (0, 0, ())
        # A value that can't be had anew is still the one of before.
        assert all(row.remote == 100.0 + KEYS.index(str(row.key)) for row in answer.rows)

    def _check_recovered(self, windows: _Windows) -> None:
        answer = windows.answer()
        assert answer.freshness is not None
        assert answer.freshness.fetched > 0
        assert (answer.freshness.failed, answer.freshness.bad, answer.problems) == (0, 0, ())
        fresh = [row for row in answer.rows if row.age == 0]
        assert len(fresh) == answer.freshness.fetched
        assert all(row.remote is not None and row.remote > 1_000 for row in fresh)


class _Windows:
    """A monitor that sees every key in every window, and what holds for each of its answers."""

    def __init__(self, source: Stack, server: FaultServer, budget: Any = None) -> None:
        query = TopKQuery(
            key="who",
            time="at",
            window=tumbling(10),
            take={"n": "count"},
            score="n + remote",
            k=len(KEYS),
            refresh={
                "remote": "remote",
                "policy": "lru",
                "budget": budget or {"deadline": round(DEADLINE * 1_000)},
            },
        )
        self.monitor = TopKMonitor.build(query, source=source)
        self.server = server
        self.source = source
        self.number = 0

    def answer(self) -> Answer:
        """The next window's: on time, complete, and within the budget."""
        at = self.number * 10 + 5
        self.monitor.ingest({"who": np.array(KEYS, object), "at": np.full(len(KEYS), at)})
        refresher = self.monitor._refresher
        assert isinstance(refresher, Refresher)
        allowed = refresher.purse.allowance()
        asked, sent = self.source.asked.keys, len(self.server.received)
        with within(DEADLINE):
            answers = self.monitor.close_until(self.number * 10 + 11)
        (answer,) = answers
        assert answer.window.index == self.number, "a window is lost"
        assert sorted(map(str, answer.keys)) == KEYS, "a key is lost"
        assert answer.freshness is not None
        assert answer.freshness.fetched <= allowed, "overspent"
        assert self.source.asked.keys - asked == answer.freshness.fetched
        received = Counter(key for each in self.server.received[sent:] for key in each.keys)
        assert all(times <= 1 + RETRIES for times in received.values()), "asked too often"
        self.number += 1
        return answer


def _close(source: Any) -> None:
    source.close()
