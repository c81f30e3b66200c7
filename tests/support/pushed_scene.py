"""A remote side whose every change is known, of which some are told: and its slow oracle.

The oracle keeps every event and every change, and computes each window from scratch; it shares no
code with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from topwater import Answer, TopKQuery, sliding
from topwater.model import Fetched, KeyArray
from topwater.monitor import TopKMonitor
from topwater.monitor.notice_settings import NoticeSettings

STEP = 1_000
KEYS = [f"p{each}" for each in range(9)]
VENDORS = [7, 8, 9]


@dataclass(frozen=True)
class Change:
    """What an entry of a source is from a time on: all values of a look-up."""

    source: str
    key: Any
    time: int
    values: dict[str, float]


@dataclass
class Window:
    """Events up to a close, what changed in between, and the notices that come before it."""

    events: list[tuple[str, int, int]]
    changes: list[Change]
    notices: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class World:
    """All that ever changed."""

    changes: list[Change] = field(default_factory=list)

    def at(self, source: str, key: Any, time: int) -> dict[str, float] | None:
        """What an entry is at a time; None for one that is not there."""
        own = [each for each in self.changes if (each.source, each.key) == (source, key)]
        before = [each for each in own if each.time <= time]
        return max(before, key=lambda each: each.time).values if before else None


class Live:
    """A source that says what is true at the time of the look-up."""

    punctual = True

    def __init__(self, world: World, name: str, names: tuple[str, ...]) -> None:
        self.world, self.name, self.names, self.now = world, name, names, 0

    def seek(self, at: int) -> None:
        self.now = at

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        rows = [self.world.at(self.name, key, self.now) or {} for key in keys.tolist()]
        found = {
            name: np.array([row.get(name, np.nan) for row in rows], np.float64)
            for name in self.names
        }
        return Fetched.of_columns(found)


def one_value(**changes: Any) -> TopKQuery:
    """A query with one remote value."""
    settings: dict[str, Any] = {
        "key": "product",
        "time": "at",
        "window": sliding(2 * STEP, STEP),
        "k": 2,
        "take": {"sold": "count"},
        "score": "sold * price",
        "refresh": {"remote": "price", "budget": 2},
    }
    return TopKQuery(**{**settings, **changes})


def several(**changes: Any) -> TopKQuery:
    """A query with values of two sources, one of them by another key, and a filter."""
    joins = [
        {"remote": ["price", "stock"], "from": "shop"},
        {"remote": "trust", "from": "vendors", "key": "vendor", "cost": 2},
    ]
    more = {
        "take": {"sold": "count", "vendor": "last(vendor)"},
        "score": "sold * price * trust",
        "where": "stock > 0",
        "refresh": joins,
        "budget": 4,
    }
    return one_value(**{**more, **changes})


def sources_of(query: TopKQuery, world: World) -> Any:
    if query.joins is None:
        return Live(world, "shop", ("price",))
    return {
        "shop": Live(world, "shop", ("price", "stock")),
        "vendors": Live(world, "vendors", ("trust",)),
    }


def truth(query: TopKQuery, windows: list[Window], world: World, end: int) -> list[Any]:
    """The best of a window, from scratch."""
    inside = [e for w in windows for e in w.events if end - query.window.width < e[1] <= end]
    rows: dict[str, list[tuple[str, int, int]]] = {}
    for event in sorted(inside, key=lambda each: each[1]):
        rows.setdefault(event[0], []).append(event)
    scored = []
    for key, own in rows.items():
        goods, trust = world.at("shop", key, end), world.at("vendors", own[-1][2], end)
        if goods is None or np.isnan(goods["price"]):
            continue
        score = len(own) * goods["price"]
        if query.joins is not None:
            if trust is None or not goods["stock"] > 0:
                continue
            score *= trust["trust"]
        scored.append((-score, -own[-1][1], key))
    return [key for _, _, key in sorted(scored)][: query.k]


NUMBERS = [0.5, 1.0, 2.0, 3.0, 7.0, 11.0]
ENTRIES = [*(("shop", key) for key in KEYS), *(("vendors", key) for key in VENDORS)]


def windows(rng: Random, most: int = 6) -> list[Window]:
    """Windows of events, and changes of both sources; all entries are there from the start."""
    found: list[Window] = []
    for place in range(rng.randint(2, most)):
        times = sorted(rng.sample(range(1, STEP + 1), rng.randint(1, 8)))
        events = [(rng.choice(KEYS), place * STEP + at, rng.choice(VENDORS)) for at in times]
        when = sorted(rng.sample(range(1, STEP + 1), rng.randint(0, 6)))
        changes = [_change(rng, place * STEP + at, rng.choice(ENTRIES)) for at in when]
        if not found:
            changes = [*(_change(rng, 0, entry) for entry in ENTRIES), *changes]
        found.append(Window(events, changes))
    return found


def _change(rng: Random, at: int, of: tuple[str, Any]) -> Change:
    source, key = of
    if source == "vendors":
        return Change(source, key, at, {"trust": rng.choice(NUMBERS)})
    stock = rng.choice([0.0, 1.0, 2.0])
    return Change(source, key, at, {"price": rng.choice(NUMBERS), "stock": stock})


def notice(change: Change, *, marks: bool = False) -> dict[str, Any]:
    """A change as a plain row; or only that there was one."""
    names = ("price", "stock", "trust")
    values = {name: None if marks else change.values.get(name) for name in names}
    key = str(change.key)
    return {"source": change.source, "key": key, "time": change.time, **values}


def batch(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    rows = list(rows)
    names = ("source", "key", "time", "price", "stock", "trust")
    return {name: [row[name] for row in rows] for name in names}


def play(
    query: TopKQuery,
    given: list[Window],
    *,
    complete: bool,
    delay: int = 0,
    restart: Callable[[TopKMonitor, Any], TopKMonitor] | None = None,
) -> list[tuple[Answer, list[Any]]]:
    """All answers, each with what is true."""
    world = World([change for window in given for change in window.changes])
    sources = sources_of(query, world)
    settings = NoticeSettings(complete=complete, delay=delay)
    monitor = TopKMonitor.build(query, source=sources, changes=settings)
    found = []
    for place, window in enumerate(given):
        end = (place + 1) * STEP
        product, at, vendor = zip(*window.events, strict=True)
        monitor.ingest({"product": product, "at": at, "vendor": vendor})
        own = window.notices
        if query.joins is None:
            own = [{**row, "source": "source"} for row in own if row["source"] != "vendors"]
        if own:
            monitor.learn(batch(own))
        if restart is not None:
            monitor = restart(monitor, sources)
        found += [
            (answer, truth(query, given[: place + 1], world, answer.window.end))
            for answer in monitor.close_until(end + 1)
        ]
    return found


def beat(time: int, source: str | None = None) -> dict[str, Any]:
    """A notice that only says how late it is."""
    values = dict.fromkeys(("price", "stock", "trust"))
    return {"source": source, "key": None, "time": time, **values}
