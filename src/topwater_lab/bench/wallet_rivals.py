"""Who spends the budget of a world with two services: one purse, or what is done without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topwater.model import Attempts, Fetched, FloatArray, IntArray, KeyArray, Millis
from topwater.remote.known_changes import Steps
from topwater.replica.joins.entry_choice import EntryChoice
from topwater.replica.joins.join_settings import JoinSettings
from topwater.replica.joins.joined_refresher import JoinedRefresher
from topwater.replica.joins.row_worlds import RowWorlds
from topwater.replica.joins.wallet import Wallet
from topwater.replica.joins.wish import Wanted
from topwater.replica.utility import Aim
from topwater_lab.bench.wallet_worlds import STEP, WINDOWS, World


class Fare(NamedTuple):
    """How right the answers of a world were on average, and what a window's look-ups cost."""

    precision: float
    ndcg: float
    cost: float
    most: float
    said: float = float("nan")


@dataclass(frozen=True)
class TrueDesk:
    """Services that answer with the values just before a window's close."""

    remote: Mapping[str, Steps]

    def most(self, source: str) -> None:
        """A request may have any number of keys."""

    def fetch(
        self,
        asked: Sequence[tuple[str, KeyArray]],
        now: Millis,
        deadline: float | None,
        again: Mapping[str, Attempts],  # noqa: ARG002  none of them fails
    ) -> list[Fetched]:
        """What came for the keys of each service."""
        assert deadline is None  # noqa: S101  no case has one
        return [
            Fetched(self.remote[name].at(keys.astype(np.int64), now), np.ones(len(keys), bool))
            for name, keys in asked
        ]


class SplitWallet(Wallet):
    """Gives each service a fixed share of the budget, and lets it keep what it could not spend.

    Parameters
    ----------
    settings
        What look-ups cost, and what a window's may.
    share
        That of the first service; the second has the rest.
    """

    def __init__(self, settings: JoinSettings, share: float) -> None:
        super().__init__(settings, STEP, [None, None])
        cost = settings.budget.cost or 0.0
        self._costs = [join.cost for join in settings.joins]
        self._income = [share * cost, (1.0 - share) * cost]
        self._saved = [0.0, 0.0]

    def chosen(
        self,
        now: Millis,  # noqa: ARG002
        wanted: Sequence[Wanted],
        cost: float | None = None,  # noqa: ARG002
    ) -> list[IntArray]:
        """What is worth most of each service, as far as its own share reaches."""
        rows = []
        for at, each in enumerate(wanted):
            self._saved[at] += self._income[at]
            some = np.flatnonzero(each.worth > 0)[: int(self._saved[at] / self._costs[at] + 1e-9)]
            self._saved[at] -= len(some) * self._costs[at]
            rows.append(some)
        return rows


class AloneWorlds(RowWorlds):
    """Worth of entries to the one row that each serves best, as if it served no other."""

    def worth(self, aim: Aim) -> list[FloatArray]:
        """For each join, the most that knowing each of its entries brings to one row."""
        found = []
        for entries, gain in zip(self.entries, self.gains(aim), strict=True):
            worth, there = np.zeros(len(entries.slots)), entries.of_row >= 0
            np.maximum.at(worth, entries.of_row[there], gain[there])
            found.append(worth)
        return found


class AloneChoice(EntryChoice):
    """Chooses by ranked keys, and does not know that they share entries."""

    worlds = AloneWorlds


def by_worth(world: World, aim: Aim, warm_up: int) -> Fare:
    """One purse, spent where it is worth most."""
    return _refreshed(world, _refresher(world, aim), warm_up)


def by_split(world: World, aim: Aim, warm_up: int, share: float) -> Fare:
    """A fixed share of the budget for each service, each spent where it is worth most."""
    refresher = _refresher(world, aim)
    refresher.wallet = SplitWallet(refresher.settings, share)
    return _refreshed(world, refresher, warm_up)


def by_ranked_key(world: World, aim: Aim, warm_up: int) -> Fare:
    """One purse, and an entry is worth what it is to the one ranked key that it serves best."""
    refresher = _refresher(world, aim)
    refresher.choice = AloneChoice(refresher.settings, WINDOWS, world.case.ranked.k)
    return _refreshed(world, refresher, warm_up)


def by_copies(world: World, aim: Aim, warm_up: int) -> Fare:
    """One purse, and each ranked key has a copy of what others have, too."""
    return _refreshed(world, _refresher(world, aim, by_product=True), warm_up)


def _refresher(world: World, aim: Aim, *, by_product: bool = False) -> JoinedRefresher:
    settings = world.case.settings(aim, by_product=by_product)
    desk = TrueDesk(world.by_product if by_product else world.remote)
    return JoinedRefresher(settings, world.case.ranked, desk)


def _refreshed(world: World, refresher: JoinedRefresher, warm_up: int) -> Fare:
    rows = []
    for view in world.views():
        ranking = refresher.refresh(view)
        said = ranking.freshness.precision
        rows.append([*world.accuracy(view, ranking.rows), ranking.spent or 0.0, said])
    kept = np.array(rows)[warm_up:]
    right, gained, cost, said = kept.mean(axis=0).tolist()
    return Fare(right, gained, cost, float(kept[:, 2].max()), said)


class Cache:
    """What a cache of one service reads, whatever the ranking is.

    At the start all entries are there, of any age that they may have.

    Parameters
    ----------
    world, service
        Whose entries.
    seed
        For the ages at the start.
    """

    def __init__(self, world: World, service: int, seed: int) -> None:
        self._present = world.present(service)
        ages = np.random.default_rng([seed, service]).random(self._present.shape[1])
        self._age = np.asarray(ages, np.float64)
        self._windows = world.windows

    def read_at(self, ttl: int) -> Iterator[tuple[IntArray, int]]:
        """When each entry was read last, in windows, and how many were read; window by window.

        ``ttl`` is how many windows an entry lives.
        """
        at = -1 - (self._age * ttl).astype(np.int64)
        for window, present in enumerate(self._present):
            expired = np.flatnonzero(present & (window - at >= ttl))
            at[expired] = window
            yield at.copy(), len(expired)

    def reads(self, ttl: int, warm_up: int) -> float:
        """How many entries are read in a window, on average."""
        counts = [count for _, count in self.read_at(ttl)]
        return float(np.mean(counts[warm_up:]))


def by_ttl(world: World, warm_up: int, ttls: tuple[int, int]) -> Fare:
    """A cache in front of each service, whose entries live for so many windows."""
    caches = [Cache(world, service, 0).read_at(ttl) for service, ttl in enumerate(ttls)]
    rows = []
    for view, *read in zip(world.views(), *caches, strict=True):
        cost = sum(each * count for each, (_, count) in zip(world.case.costs, read, strict=True))
        values = []
        for service, keys in enumerate(world.entries_of(view.keys)):
            steps, (at, _) = [*world.remote.values()][service], read[service]
            values.append(_read(steps, keys, at))
        shown = view.best_first(world.scores(view, *values), world.case.ranked.k)
        rows.append([*world.accuracy(view, shown), cost])
    kept = np.array(rows)[warm_up:]
    right, gained, cost = kept.mean(axis=0).tolist()
    return Fare(right, gained, cost, float(kept[:, 2].max()))


def _read(steps: Steps, keys: IntArray, at: IntArray) -> FloatArray:
    """The value of each entry when its window, counted from 0, closed."""
    ends = (at[keys] + 1) * STEP
    found = np.empty(len(keys))
    for end in np.unique(ends).tolist():
        here = ends == end
        found[here] = steps.at(keys[here], end)
    return found


def ttls_within(world: World, warm_up: int, most: int = 400) -> list[tuple[int, int]]:
    """Pairs of TTLs that cost as much as the budget, or as little less as can be."""
    first, second = (Cache(world, service, 0) for service in (0, 1))
    grid = sorted({round(each) for each in np.geomspace(1, most, 60)})
    other = {ttl: world.case.costs[1] * second.reads(ttl, warm_up) for ttl in grid}
    found: dict[int, int] = {}
    for ttl in grid:
        left = world.case.budget - world.case.costs[0] * first.reads(ttl, warm_up)
        fitting = [each for each in grid if other[each] <= left]
        if fitting and (not found or min(fitting) not in found.values()):
            found[ttl] = min(fitting)
    return [*found.items()]
