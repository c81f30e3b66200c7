"""One wallet for all groups of a window: what they want goes into one list, and out in one call.

::

    group a ──► wishes ──┐   every entry once,    ┌──► a takes in what it wished, answers
    group b ──► wishes ──┼──► worth added up,   ──┼──► b takes in …
    group c ──► wishes ──┘   best for its cost    └──► c takes in …

With ``over="all"`` all groups of a window together may cost what the budget says, and it is spent
where it matters most. With ``over="each"`` each group may; quotas and the deadline are for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from topwater.model import Fetched, FloatArray, IntArray, KeyArray, Millis
from topwater.monitor.remote_part import JoinedPart
from topwater.replica.joins.join_settings import JoinSettings
from topwater.replica.joins.wallet import Wallet
from topwater.replica.joins.wish import Granted, Wanted, Wish
from topwater.replica.look_ups import LookingUp, alone
from topwater.replica.time_left import TimeLeft

T = TypeVar("T")


class Pooled(NamedTuple):
    """What all groups want of one join.

    Attributes
    ----------
    keys, worth
        Each entry once, and what it is worth to all groups that want it.
    where
        For each group, which of them each of its own is.
    """

    keys: KeyArray
    worth: FloatArray
    where: list[IntArray]


class GroupWallet:
    """Looks up what several groups wish for, and gives to each what it asked for.

    Parameters
    ----------
    remote
        Where values are fetched.
    settings
        What that may cost.
    step
        How far windows move.
    """

    def __init__(self, remote: JoinedPart, settings: JoinSettings, step: Millis) -> None:
        self._table = remote.source
        self._settings = settings
        most = [remote.source.most(join.source) for join in settings.joins]
        self._wallet = Wallet(settings, step, most, remote.shard.of)
        self._time = TimeLeft(remote.clock)

    def begin(self) -> int | None:
        """A window begins."""
        self._time.begin()
        self._time.start_window()
        return None

    def run(self, window: int, groups: Sequence[LookingUp[T]]) -> list[T]:  # noqa: ARG002
        """What becomes of the groups of a window that began: all wish, then all get what came."""
        results: dict[int, T] = {}
        wishes: dict[int, Wish] = {}
        for at, group in enumerate(groups):
            try:
                wishes[at] = next(group)
            except StopIteration as done:
                results[at] = done.value
        granted = self._granted([*wishes.values()]) if wishes else []
        self._time.end_fetch()
        for at, share in zip(wishes, granted, strict=True):
            results[at] = _finished(groups[at], share)
        self._time.end_window()
        return [results[at] for at in range(len(groups))]

    def facts(self) -> dict[str, Any]:
        """What a restart needs, for JSON."""
        return self._wallet.snapshot()

    def restore_facts(self, facts: Mapping[str, Any]) -> None:
        """Take over what :meth:`facts` gave."""
        self._wallet.restore(facts)

    def _granted(self, wishes: Sequence[Wish]) -> list[Granted]:
        """What each group gets of what it wished for."""
        now = wishes[0].now
        pools = [
            pooled([wish.wanted[join] for wish in wishes])
            for join in range(len(self._settings.joins))
        ]
        chosen = self._chosen(now, wishes, pools)
        asked = [
            (join.source, pool.keys[rows])
            for join, pool, rows in zip(self._settings.joins, pools, chosen, strict=True)
        ]
        counts, seconds = [len(rows) for rows in chosen], self._settings.budget.seconds
        again = self._wallet.again(now, counts, self._most(wishes))
        got = self._table.fetch(asked, now, self._time.for_fetching(seconds), again)
        self._wallet.spend(now, counts, got, again)
        left = self._wallet.left(now)
        shares = [_shares(pool, rows) for pool, rows in zip(pools, chosen, strict=True)]
        return [
            self._share([share[group] for share in shares], got, left)
            for group in range(len(wishes))
        ]

    def _chosen(
        self, now: Millis, wishes: Sequence[Wish], pools: Sequence[Pooled]
    ) -> list[IntArray]:
        """Which entries of each join are read."""
        whole = [Wanted(pool.keys, np.arange(len(pool.keys)), pool.worth) for pool in pools]
        cost = self._settings.budget.cost
        if self._wallet.unlimited or cost is None or self._settings.budget.over == "all":
            return self._wallet.chosen(now, whole)
        # Each group chooses for itself; what several have chosen is read, and paid for, once.
        picked = [np.zeros(len(pool.keys), bool) for pool in pools]
        for group, wish in enumerate(wishes):
            for pool, marks, rows in zip(
                pools, picked, self._wallet.chosen(now, wish.wanted), strict=True
            ):
                marks[pool.where[group][rows]] = True
        narrowed = [
            Wanted(each.keys[marks], each.slots[marks], each.worth[marks])
            for each, marks in zip(whole, picked, strict=True)
        ]
        found = self._wallet.chosen(now, narrowed, cost=self._most(wishes))
        return [each.slots[rows] for each, rows in zip(narrowed, found, strict=True)]

    def _most(self, wishes: Sequence[Wish]) -> float | None:
        """What all groups together may cost, if each has a budget of its own."""
        budget = self._settings.budget
        if budget.cost is None or budget.over == "all":
            return None
        return budget.cost * len(wishes)

    def _share(
        self,
        shares: Sequence[tuple[IntArray, IntArray]],
        got: Sequence[Fetched],
        left: tuple[tuple[str, float], ...],
    ) -> Granted:
        """What one group gets; and its part of the cost, by what it wished for."""
        parts = [came.at(at) for came, (_, at) in zip(got, shares, strict=True)]
        cost = sum(
            join.cost * len(rows)
            for join, (rows, _) in zip(self._settings.joins, shares, strict=True)
        )
        return Granted([rows for rows, _ in shares], parts, float(cost), left)


def pooled(wanted: Sequence[Wanted]) -> Pooled:
    """What several groups want, each key once and its worth added up.

    Examples
    --------
    >>> one, other = (Wanted(np.array(keys), np.array([0, 1]), np.array(worth))
    ...               for keys, worth in (([7, 8], [3.0, 1.0]), ([8, 9], [4.0, 2.0])))
    >>> pool = pooled([one, other])
    >>> pool.keys.tolist(), pool.worth.tolist(), [each.tolist() for each in pool.where]
    ([8, 7, 9], [5.0, 3.0, 2.0], [[1, 0], [0, 2]])
    """
    first: dict[Any, int] = {}
    where = [
        np.array([first.setdefault(key, len(first)) for key in each.keys.tolist()], np.int64)
        for each in wanted
    ]
    kinds = [each.keys.dtype for each in wanted if len(each)]
    keys = np.array([*first], kinds[0] if kinds else np.int64)
    worth = np.zeros(len(keys))
    for each, at in zip(wanted, where, strict=True):
        np.add.at(worth, at, each.worth)
    order = np.argsort(-worth, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return Pooled(keys[order], worth[order], [place[at] for at in where])


def _shares(pool: Pooled, rows: IntArray) -> list[tuple[IntArray, IntArray]]:
    """For each group, which of its own entries were read, and which of what came they are."""
    came = np.full(len(pool.keys), -1, np.int64)
    came[rows] = np.arange(len(rows))
    found = []
    for where in pool.where:
        own = np.flatnonzero(came[where] >= 0) if len(where) else np.empty(0, np.int64)
        found.append((own, came[where[own]] if len(own) else np.empty(0, np.int64)))
    return found


def _finished(ranking: LookingUp[T], granted: Granted) -> T:
    """The end of a ranking that is given what came; should it want more, it asks by itself."""
    try:
        ranking.send(granted)
    except StopIteration as done:
        found: T = done.value
        return found
    return alone(ranking)
