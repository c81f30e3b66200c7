"""Worlds of goods with two remote values each, from two services: a stream, and its truth.

Scores are made of how often a product was sold and of both values. The services differ in what a
look-up costs, in how often their values change, and in what they are asked by.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from topwater.model import BoolArray, FloatArray, IntArray, KeyArray
from topwater.remote.known_changes import Steps
from topwater.replica import WindowView
from topwater.replica.joins.join_settings import JoinSettings
from topwater.replica.joins.joined_refresher import Ranked
from topwater.replica.utility import Aim
from topwater.scoring import Formula
from topwater.scoring.accuracy import ndcg, precision
from topwater.scoring.condition_parser import read_condition
from topwater.windows import Windows, sliding

DESIGN_SEEDS = range(10)
REPORTING_SEEDS = range(1_000, 1_010)

STEP = 60_000
PANES = 5
WINDOWS: Windows = sliding(PANES * STEP, STEP)
PRODUCTS, VENDORS, K = 250, 25, 10
NAMES = ("price", "trust")
"""The remote values: that of the first service, and that of the second."""

_USUAL_PACE = 0.06
_LOOK_UPS = 6.0
_TURN = 20


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of world.

    Attributes
    ----------
    name
        In tables.
    costs
        Of a look-up of each service.
    paces
        How often the values of each change, next to the usual.
    kind
        ``plain``: both values are of products. ``filter``: the second is a stock, and products
        without are not ranked. ``shared``: the second is of vendors, who have ten products each.
        ``turns``: like plain, but for twenty windows one service is restless and for twenty the
        other; ``paces`` are those of the restless one and of the calm one.
    """

    name: str
    costs: tuple[float, float] = (1.0, 1.0)
    paces: tuple[float, float] = (1.0, 1.0)
    kind: str = "plain"

    @property
    def budget(self) -> float:
        """What the look-ups of a window may cost: six of each service."""
        return _LOOK_UPS * sum(self.costs)

    @property
    def differs(self) -> float:
        """How many times as much one service costs, or changes, as the other."""
        ratios = (max(each) / min(each) for each in (self.costs, self.paces))
        return max(ratios)

    @property
    def ranked(self) -> Ranked:
        """What is ranked."""
        if self.kind == "filter":
            return Ranked(Formula("n * price"), read_condition("trust > 0"), WINDOWS, K)
        return Ranked(Formula("n * price * trust"), None, WINDOWS, K)

    def settings(self, aim: Aim, *, by_product: bool = False) -> JoinSettings:
        """What is looked up; ``by_product``, if vendors are not known, as trust of products."""
        shop: dict[str, Any] = {"remote": "price", "from": "shop", "cost": self.costs[0]}
        other: dict[str, Any] = {"remote": "trust", "from": "other", "cost": self.costs[1]}
        if self.kind == "shared" and not by_product:
            other["key"] = "vendor"
        return JoinSettings.of({"joins": [shop, other], "aim": aim}, self.budget)


CASES = (
    Case("equal"),
    Case("costs 1:5", costs=(1, 5)),
    Case("costs 1:20", costs=(1, 20)),
    Case("rates 5:1", paces=(1, 1 / 5)),
    Case("rates 20:1", paces=(1, 1 / 20)),
    Case("costs 1:5, rates 1:5", costs=(1, 5), paces=(1 / 5, 1)),
    Case("costs 1:5, rates 5:1", costs=(1, 5), paces=(1, 1 / 5)),
    Case("rates 5:1 by turns", paces=(1, 1 / 5), kind="turns"),
    Case("rates 20:1 by turns", paces=(1, 1 / 20), kind="turns"),
    Case("filter", kind="filter"),
    Case("filter, costs 1:5", costs=(1, 5), kind="filter"),
    Case("filter, rates 5:1", paces=(1, 1 / 5), kind="filter"),
    Case("shared", kind="shared"),
    Case("shared, costs 1:5", costs=(1, 5), kind="shared"),
    Case("shared, costs 1:20", costs=(1, 20), kind="shared"),
    Case("shared, rates 5:1", paces=(1, 1 / 5), kind="shared"),
)


class Numbers:
    """Labels of a column of whole numbers: they are their own codes."""

    def arrow_at(self, codes: IntArray) -> pa.Array:
        """The labels of these codes."""
        return pa.array(codes, pa.int64())

    def shown(self, codes: FloatArray) -> npt.NDArray[Any]:
        """What is shown of some numbers."""
        return codes


class World:
    """A stream of a case, and the true values behind it.

    Parameters
    ----------
    case, seed, windows
        Which one, and how many windows it has.

    Attributes
    ----------
    vendor
        Of each product.
    remote
        The values of each service over time, by the names of the services.
    by_product
        The same, where the second service is asked by products.
    """

    def __init__(self, case: Case, seed: int, windows: int) -> None:
        self.case = case
        self.windows = windows
        rng = np.random.default_rng([seed, 18, zlib.crc32(case.name.encode())])
        products = np.arange(PRODUCTS)
        chance = 1.0 / (1.0 + products) ** 0.7
        self._counts = rng.multinomial(4 * PRODUCTS, chance / chance.sum(), size=windows)
        # What is busy must not follow from its number.
        self._counts = self._counts[:, rng.permutation(PRODUCTS)]
        size = 1.0 / np.sqrt(1.0 + np.arange(VENDORS))
        self.vendor = rng.choice(VENDORS, PRODUCTS, p=size / size.sum())
        entries = VENDORS if case.kind == "shared" else PRODUCTS
        shop = self._changing(rng, PRODUCTS, 0, _goods)
        other = self._changing(rng, entries, 1, _stocks if case.kind == "filter" else _goods)
        self.remote = {"shop": shop, "other": other}
        self.by_product = self.remote
        if case.kind == "shared":
            self.by_product = {"shop": shop, "other": _of_products(other, self.vendor)}

    def _changing(self, rng: np.random.Generator, entries: int, service: int, draw: Draw) -> Steps:
        """Values that are drawn anew at times of their own, some entries more often than others."""
        often = _USUAL_PACE * np.exp(rng.normal(0.0, 1.0, entries)).clip(0.05, 20.0)
        pace = np.full(self.windows, self.case.paces[service])
        if self.case.kind == "turns":
            turn = (np.arange(self.windows) // _TURN) % 2
            pace = np.where(turn == service, *self.case.paces)
        moments = rng.poisson(often[:, None] * pace)
        entry, window = np.nonzero(moments)
        entry = np.repeat(entry, moments[entry, window])
        window = np.repeat(window, moments[np.nonzero(moments)])
        times = window * STEP + rng.integers(0, STEP, len(window))
        key = np.concatenate([np.arange(entries), entry])
        times = np.concatenate([np.zeros(entries, np.int64), times])
        return Steps.of(times, key, draw(rng, key))

    def views(self) -> Iterator[WindowView]:
        """What the stream says of each window."""
        for index in range(self.windows):
            panes = self._counts[max(0, index - PANES + 1) : index + 1]
            counts = panes.sum(axis=0)
            here = np.flatnonzero(counts)
            last = index - np.argmax(panes[::-1, here] > 0, axis=0)
            values = {"n": counts[here].astype(float), "vendor": self.vendor[here].astype(float)}
            labels = {"vendor": Numbers()}
            yield WindowView(
                index, (index + 1) * STEP, here, values, last * STEP + 1, labels=labels
            )

    def entries_of(self, products: IntArray) -> tuple[IntArray, IntArray]:
        """What each service is asked by for these products."""
        return products, self.vendor[products] if self.case.kind == "shared" else products

    def scores(self, view: WindowView, price: FloatArray, trust: FloatArray) -> FloatArray:
        """What the rows of a window score with these values; NaN for what is not ranked."""
        n = view.values["n"]
        if self.case.kind == "filter":
            return np.where(trust > 0, n * price, np.nan)
        return n * price * trust

    def accuracy(self, view: WindowView, shown: IntArray) -> tuple[float, float]:
        """Precision@k and nDCG@k of showing these rows, best first."""
        both = zip(self.remote.values(), self.entries_of(view.keys), strict=True)
        price, trust = (steps.at(keys, view.end) for steps, keys in both)
        order = view.best_first(self.scores(view, price, trust))
        place = np.full(len(view), len(order))
        place[order] = np.arange(len(order))
        right = (measure(place[shown], len(order), K) for measure in (precision, ndcg))
        found, gained = (float(each) for each in right)
        return found, gained

    def present(self, service: int) -> BoolArray:
        """Which entries of a service each window has: a row a window."""
        seen = np.stack(
            [
                self._counts[max(0, at - PANES + 1) : at + 1].sum(axis=0) > 0
                for at in range(self.windows)
            ]
        )
        if service == 0 or self.case.kind != "shared":
            return seen
        return np.stack([seen[:, self.vendor == each].any(axis=1) for each in range(VENDORS)], 1)


Draw = Callable[[np.random.Generator, KeyArray], FloatArray]


def _goods(rng: np.random.Generator, key: KeyArray) -> FloatArray:
    """Each entry has a level of its own, about which its values lie."""
    level = rng.normal(0.0, 0.6, int(key.max()) + 1)
    return np.asarray(np.exp(level[key] + rng.normal(0.0, 0.7, len(key))))


def _stocks(rng: np.random.Generator, key: KeyArray) -> FloatArray:
    """Now and then nothing is left; of some products more often than of others."""
    sold_out = rng.uniform(0.1, 0.7, int(key.max()) + 1)
    return np.where(rng.random(len(key)) < sold_out[key], 0.0, rng.integers(1, 20, len(key)))


def _of_products(steps: Steps, vendor: IntArray) -> Steps:
    """What vendors have as what their products have."""
    each = [np.flatnonzero(vendor == key) for key in steps.keys.tolist()]
    often = [len(own) for own in each]
    times, values = np.repeat(steps.times, often), np.repeat(steps.values, often)
    return Steps.of(times, np.concatenate(each), values)
