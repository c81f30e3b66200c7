"""Services that fail one time in five, and write down all that was asked of them and when.

What a service was asked for is what it wants paid, whether it answered or not. The meter is the
only thing that knows: nothing of what the package says of itself is used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from topwater import Answer, TopKQuery, sliding
from topwater.model import Fetched, KeyArray
from topwater.monitor import Monitor, build_monitor
from topwater.remote.wrappers.batch import Batched
from topwater.remote.wrappers.retry import Retrying
from topwater.remote.wrappers.stack import stack

STEP = 1_000
PRODUCTS, VENDORS = 40, 8
FAULTS = 0.2
COSTS = {"shop": (1.0, 0.0), "vendors": (5.0, 2.0)}
"""Of each service: a look-up, and a request."""

PER_REQUEST = 3


@dataclass(frozen=True)
class Call:
    """One request: when, and how many keys it had."""

    at: int
    keys: int


@dataclass
class Meter:
    """A service that counts."""

    names: tuple[str, ...]
    seed: int
    now: int = 0
    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng, self._lock = Random(self.seed), threading.Lock()

    def seek(self, now: int) -> None:
        self.now = now

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        with self._lock:
            self.calls.append(Call(self.now, len(keys)))
            fault = self.rng.random() < FAULTS and self.rng.choice(["raise", "fail", "part", "few"])
            values = {
                name: np.array([self.rng.choice([0.0, 1.0, 2.0, 5.0]) for _ in keys.tolist()])
                for name in self.names
            }
            ok = np.array([not (fault == "part" and self.rng.random() < 0.5) for _ in keys])
        if fault == "raise":
            raise OSError("the service is gone")
        if fault == "fail":
            return Fetched.failed(len(keys), "server")
        if fault == "few":
            return Fetched.of_columns({name: each[:-1] for name, each in values.items()}, ok[:-1])
        return Fetched.of_columns(values, ok)


def query_of(budget: Any, per: dict[str, float], **changes: Any) -> TopKQuery:
    """Products of vendors, with limits on all look-ups and on those of the vendors."""
    vendors = {"remote": "trust", "from": "vendors", "key": "vendor", "cost": 5}
    settings: dict[str, Any] = {
        "key": "product",
        "time": "at",
        "window": sliding(3 * STEP, STEP),
        "k": 5,
        "take": {"sold": "count", "vendor": "last(vendor)"},
        "score": "sold * price * trust",
        "where": "stock > 0",
        "refresh": [
            {"remote": ["price", "stock"], "from": "shop"},
            {**vendors, "request_cost": 2, "per": per},
        ],
        "budget": budget,
    }
    return TopKQuery(**{**settings, **changes})


def play(
    query: TopKQuery,
    windows: int,
    seed: int,
    *,
    batched: bool = False,
    retries: int = 0,
    restart_every: int = 3,
) -> tuple[list[Answer], dict[str, Meter]]:
    """All answers, and the services; the monitor is put away and built anew on the way."""
    rng = Random(seed)
    meters = {
        "shop": Meter(("price", "stock"), seed + 1),
        "vendors": Meter(("trust",), seed + 2),
    }
    sources: dict[str, Any] = dict(meters)
    if batched:
        sources["vendors"] = stack(
            meters["vendors"], per_request=PER_REQUEST, at_once=1, retries=0, breaker=False
        )
    if retries:
        sources = {
            name: Batched(Retrying(meter, retries, pause=0.0), PER_REQUEST, 1)
            for name, meter in meters.items()
        }
    monitor: Monitor = build_monitor(query, source=sources)
    answers: list[Answer] = []
    for place in range(windows):
        count = rng.choice([0, 5, 30, 30])
        rows = {
            "product": [int(PRODUCTS * rng.random() ** 2) for _ in range(count)],
            "at": sorted(rng.randint(1, STEP) + place * STEP for _ in range(count)),
            "vendor": [rng.randrange(VENDORS) for _ in range(count)],
            "team": [rng.choice(["red", "blue"]) for _ in range(count)],
        }
        if count:
            monitor.ingest(rows)
        if place % restart_every == restart_every - 1:
            monitor = build_monitor(query, monitor.snapshot(), source=sources)
        answers += monitor.close_until((place + 1) * STEP)
    return answers, meters


def spent_at(meters: dict[str, Meter]) -> dict[int, float]:
    """What all services want for each window."""
    found: dict[int, float] = {}
    for name, meter in meters.items():
        look_up, request = COSTS[name]
        for call in meter.calls:
            found[call.at] = found.get(call.at, 0.0) + look_up * call.keys + request
    return found


def asked_at(meter: Meter) -> dict[int, float]:
    """How many keys a service was asked for, for each window."""
    found: dict[int, float] = {}
    for call in meter.calls:
        found[call.at] = found.get(call.at, 0.0) + call.keys
    return found


def most_in(spent: dict[int, float], length: int) -> float:
    """The most that was spent in any span of time, wherever it begins."""
    inside: Callable[[int], float] = lambda end: sum(  # noqa: E731
        amount for at, amount in spent.items() if end - length < at <= end
    )
    return max((inside(end) for end in spent), default=0.0)
