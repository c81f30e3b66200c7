"""Products of vendors, with prices, stocks and trust that change: a scene, and its slow oracle.

The oracle keeps every event, and computes each window from scratch with the true values; it shares
no code with the package.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from topwater import Answer, TopKQuery, remote, sliding
from topwater.model import Fetched, KeyArray
from topwater.monitor import Monitor, build_monitor

PRODUCTS = [f"p{each}" for each in range(12)]
VENDORS = [7, 8, 9, 2**60]
STEP = 1_000
JOINS: list[dict[str, Any]] = [
    {"remote": ["price", "stock", "maker"], "from": "shop", "key": "product"},
    {"remote": "trust", "from": "vendors", "key": "vendor", "cost": 5},
]


def query_of(**changes: Any) -> TopKQuery:
    """The query of the scene, with some settings changed."""
    settings: dict[str, Any] = {
        "key": "product",
        "time": "at",
        "window": sliding(3 * STEP, STEP),
        "k": 3,
        "take": {"sold": "count", "vendor": "last(vendor)", "title": "last(title)"},
        "score": "sold * price * trust",
        "where": "stock > 0 and trust > 0.2",
        "refresh": JOINS,
        "budget": None,
    }
    return TopKQuery(**{**settings, **changes})


@dataclass
class Event:
    product: str
    at: int
    vendor: int | None
    title: str | None
    team: str = "red"


@dataclass
class Step:
    """What happens up to a window's close: events, and changes of the remote side before it."""

    events: list[Event]
    shop: dict[str, dict[str, Any]]
    vendors: dict[int, float]


@dataclass
class Remote:
    """The remote side as it is now."""

    shop: dict[str, dict[str, Any]] = field(default_factory=dict)
    vendors: dict[int, float] = field(default_factory=dict)

    def change(self, step: Step) -> None:
        """A value never goes: what was known of a key stays where a source knows it no more."""
        self.shop |= step.shop
        self.vendors |= step.vendors

    def sources(self) -> dict[str, Any]:
        return {"shop": Shop(self.shop), "vendors": remote.memory(self.vendors)}


class Shop:
    """A source of three values, one of them text, that says so even while it is empty."""

    punctual = True
    names = ("price", "stock", "maker")
    text_names = ("maker",)

    def __init__(self, rows: dict[str, dict[str, Any]]) -> None:
        self.rows = rows

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        rows = [self.rows.get(key, {}) for key in keys.tolist()]
        columns: dict[str, Any] = {
            name: np.array([row.get(name, np.nan) for row in rows], np.float64)
            for name in ("price", "stock")
        }
        columns["maker"] = np.array([row.get("maker") for row in rows] + [None], object)[:-1]
        return Fetched.of_columns(columns)


def batch(events: list[Event]) -> dict[str, Any]:
    """Events as columns."""
    return {
        name: [getattr(each, name) for each in events]
        for name in ("product", "at", "vendor", "title", "team")
    }


@st.composite
def steps(draw: st.DrawFn, most: int = 6) -> list[Step]:
    """Some windows of events, each at a time of its own, and changes of the remote side."""
    found: list[Step] = []
    numbers = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 7.0])
    for place in range(draw(st.integers(1, most))):
        times = draw(st.lists(st.integers(1, STEP), max_size=12, unique=True))
        events = [
            Event(
                draw(st.sampled_from(PRODUCTS)),
                place * STEP + at,
                draw(st.sampled_from([*VENDORS, None])),
                draw(st.sampled_from(["ein Stuhl", "a chair", "", None])),
                draw(st.sampled_from(["red", "blue"])),
            )
            for at in sorted(times)
        ]
        goods = st.fixed_dictionaries(
            {"price": numbers, "stock": numbers}, optional={"maker": st.sampled_from(["A", "B"])}
        )
        shop = draw(
            st.dictionaries(st.sampled_from(PRODUCTS), goods, max_size=6)
            if found
            else st.fixed_dictionaries({}, optional=dict.fromkeys(PRODUCTS, goods))
        )
        some = st.sampled_from([0.1, 0.2, 0.3, 1.0])
        vendors = draw(st.dictionaries(st.sampled_from(VENDORS), some, max_size=4))
        found.append(Step(events, shop, vendors))
    return found


def true_score(row: list[Event], known: Remote) -> float | None:
    """What a product scores in truth; None if it is not ranked."""
    last = row[-1]
    goods, trust = known.shop.get(last.product, {}), known.vendors.get(last.vendor or -1)
    price, stock = goods.get("price"), goods.get("stock")
    if price is None or stock is None or trust is None or not (stock > 0 and trust > 0.2):
        return None
    return len(row) * float(price) * float(trust)


def ranked(events: list[Event], known: Remote, k: int) -> list[tuple[str, float]]:
    """The best k of a window, from scratch."""
    rows: dict[str, list[Event]] = {}
    for event in sorted(events, key=lambda each: each.at):
        rows.setdefault(event.product, []).append(event)
    found = [
        (-score, -row[-1].at, name)
        for name, row in rows.items()
        if (score := true_score(row, known)) is not None
    ]
    return [(name, -score) for score, _, name in sorted(found)][:k]


@dataclass
class Told:
    """One answer, the events of its window, and the remote side as it was then."""

    answer: Answer
    events: list[Event]
    known: Remote


def play(
    query: TopKQuery,
    given: list[Step],
    *,
    sources: Any = None,
    restart: Any = None,
) -> list[Told]:
    """All answers of a monitor, window by window; it may be ``restart`` ed before each."""
    known, told, seen = Remote(), list[Told](), list[Event]()
    of_sources = known.sources() if sources is None else sources(known)
    monitor: Monitor = build_monitor(query, source=of_sources)
    for place, step in enumerate(given):
        known.change(step)
        if step.events:
            monitor.ingest(batch(step.events))
            seen += step.events
        if restart is not None:
            monitor = restart(monitor, of_sources)
        end = (place + 1) * STEP
        for answer in monitor.close_until(end + 1):
            inside = [
                each
                for each in seen
                if answer.window.start < each.at <= answer.window.end
                and answer.group in (None, each.team)
            ]
            snapshot = Remote(dict(known.shop), dict(known.vendors))
            told.append(Told(answer, inside, snapshot))
    return told
