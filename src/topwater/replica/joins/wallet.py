"""The wallet: one purse for all sources, with their costs, their quotas and one deadline.

::

    worth of each entry ─┐
    cost of its source  ─┼──► most worth per cost first, as far as it all reaches
    quotas, deadline    ─┘    window by window; what is not spent of a quota stays
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from topwater.model import Attempts, Fetched, FloatArray, IntArray, Millis, Repeated
from topwater.replica.budget import Budget, Purse
from topwater.replica.joins.join_settings import JoinSettings
from topwater.replica.joins.quota import Quota, quotas_of
from topwater.replica.joins.wish import Wanted
from topwater.replica.look_ups import pay

_TRIFLE = 1e-6
"""A look-up worth less leaves a quota alone: what is not spent is kept."""

_ROUNDED = 1e-9


class Wallet:
    """Says which entries may be read, and takes note of what that cost.

    What was asked for is paid for, whether it came or not, and so is every further attempt: no
    quota is ever overspent.

    Parameters
    ----------
    settings
        What may be spent, and what each source costs.
    step
        How far windows move, in milliseconds.
    most
        For each join, how many keys a request may have; None for any number.
    share
        How many such wallets share the quotas evenly.

    Examples
    --------
    >>> settings = JoinSettings.of([{"remote": "a", "from": "x"},
    ...                             {"remote": "b", "from": "y", "cost": 5}], budget=12)
    >>> wallet = Wallet(settings, 1_000, [None, None])
    >>> wanted = [Wanted(np.arange(9), np.arange(9), np.array(worth)) for worth in
    ...           ([3.0] * 4 + [0.1] * 5, [9.0] * 2 + [0.0] * 7)]
    >>> [rows.tolist() for rows in wallet.chosen(0, wanted)]
    [[0, 1, 2, 3, 4, 5, 6], [0]]
    """

    def __init__(
        self, settings: JoinSettings, step: Millis, most: Sequence[int | None], share: int = 1
    ) -> None:
        self._budget = settings.budget
        self._joins = settings.joins
        self._most = most
        self._whole = quotas_of(settings.budget.per, step, share)
        self._own = [quotas_of(join.per, step, share) for join in settings.joins]
        # What a look-up takes is known of each source by itself: they are asked at the same time.
        timed = Budget(deadline=settings.budget.deadline) if settings.budget.deadline else None
        self._times = [Purse(timed) if timed else None for _ in settings.joins]

    @property
    def has_quotas(self) -> bool:
        """Whether what is not spent is of use later."""
        return bool(self._whole) or any(self._own)

    @property
    def unlimited(self) -> bool:
        """Whether every entry may be read."""
        return self._budget.unlimited and not any(self._own)

    def available(self, now: Millis, cost: float | None = None) -> float:
        """What a window may cost; or, with ``cost``, what of that the quotas allow."""
        most = self._budget.cost if cost is None else cost
        return min(
            [
                math.inf if most is None else most,
                *(quota.left(now) for quota in self._whole.values()),
            ]
        )

    def most_of(self, join: int, now: Millis) -> int:
        """How many look-ups of a join there may be."""
        timed = self._times[join]
        most = [quota.left(now) for quota in self._own[join].values()]
        most += [] if timed is None else [float(timed.allowance())]
        found = min(most, default=math.inf)
        return sys.maxsize if math.isinf(found) else int(found + _ROUNDED)

    def chosen(
        self, now: Millis, wanted: Sequence[Wanted], cost: float | None = None
    ) -> list[IntArray]:
        """Which entries of each join are read: those that are worth most for what they cost.

        ``cost`` is what they may cost, where that is not what a window may.
        """
        if self.unlimited and cost is None:
            return [np.arange(len(each)) for each in wanted]
        left = self.available(now, cost)
        room = [min(len(each), self.most_of(at, now)) for at, each in enumerate(wanted)]
        taken: list[list[int]] = [[] for _ in wanted]
        for at, row in self._by_price(wanted, room):
            price = self._price(at, len(taken[at]))
            if len(taken[at]) < room[at] and price <= left + _ROUNDED:
                left -= price
                taken[at].append(row)
            if left < self._least:
                break
        return [np.array(rows, np.int64) for rows in taken]

    @property
    def _least(self) -> float:
        return min(join.cost for join in self._joins) - _ROUNDED

    def _price(self, join: int, before: int) -> float:
        """What one more look-up costs, after a number of them."""
        most = self._most[join]
        opens = before == 0 if most is None else before % most == 0
        return self._joins[join].cost + (self._joins[join].request_cost if opens else 0.0)

    def _by_price(self, wanted: Sequence[Wanted], room: Sequence[int]) -> list[tuple[int, int]]:
        """Entries of all joins, the most worth for their cost first."""
        ratios: list[FloatArray] = []
        for join, each, most, places in zip(self._joins, wanted, self._most, room, strict=True):
            shared = max(1, min(most or sys.maxsize, places))
            worth = np.where(each.worth < (_TRIFLE if self.has_quotas else 0.0), 0.0, each.worth)
            ratios.append(worth / (join.cost + join.request_cost / shared))
        ratio = np.concatenate([np.empty(0), *ratios])
        whose = np.repeat(np.arange(len(wanted)), [len(each) for each in wanted])
        row = np.concatenate([np.empty(0, np.int64), *(np.arange(len(each)) for each in wanted)])
        good = np.flatnonzero(ratio > 0)
        order = good[np.lexsort((row[good], -ratio[good]))]
        return list(zip(whose[order].tolist(), row[order].tolist(), strict=True))

    def again(
        self, now: Millis, asked: Sequence[int], cost: float | None = None
    ) -> dict[str, Attempts]:
        """What each source may be asked again, after so many look-ups of each join.

        What is left is divided evenly among the sources that are asked, as they are asked at the
        same time, and who came first must not matter.
        """
        left = self.available(now, cost)
        left -= sum(self.cost(at, count) for at, count in enumerate(asked))
        busy = dict.fromkeys(
            join.source for join, count in zip(self._joins, asked, strict=True) if count
        )
        found = {}
        for source in busy:
            mine = [at for at, join in enumerate(self._joins) if join.source == source]
            room = [quota.left(now) - asked[at] for at in mine for quota in self._own[at].values()]
            found[source] = Attempts(
                min(room, default=math.inf),
                max(0.0, left) / len(busy),
                price=max(self._joins[at].cost for at in mine),
                request_price=max(self._joins[at].request_cost for at in mine),
            )
        return found

    def spend(
        self,
        now: Millis,
        asked: Sequence[int],
        got: Sequence[Fetched],
        again: Mapping[str, Attempts] | None = None,
    ) -> float:
        """Take note of what a window's look-ups cost, and how long they took; the cost."""
        repeated = {source: each.close() for source, each in (again or {}).items()}
        spent = sum(each.cost for each in repeated.values())
        for at, (count, came) in enumerate(zip(asked, got, strict=True)):
            spent += self.cost(at, count)
            # Where several joins ask one source, each pays: whose keys they were is not known.
            more = repeated.get(self._joins[at].source, Repeated()).look_ups
            for quota in self._own[at].values():
                quota.spend(now, float(count + more))
            timed = self._times[at]
            if timed is not None and count:
                pay(timed, came)
        for quota in self._whole.values():
            quota.spend(now, spent)
        return spent

    def cost(self, join: int, count: int) -> float:
        """What a number of look-ups of a join costs."""
        return self._joins[join].costs(count, self._most[join])

    def left(self, now: Millis) -> tuple[tuple[str, float], ...]:
        """What is left of each quota."""
        return tuple((name, quota.left(now)) for name, quota in self._quotas().items())

    def snapshot(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "quotas": {name: quota.snapshot() for name, quota in self._quotas().items()},
            "seconds": [None if each is None else each.seconds_per_fetch for each in self._times],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """What :meth:`snapshot` gave; of quotas, those that there still are."""
        for name, quota in self._quotas().items():
            if name in state["quotas"]:
                quota.restore(state["quotas"][name])
        for timed, seconds in zip(self._times, state["seconds"], strict=True):
            if timed is not None and seconds is not None:
                timed.seconds_per_fetch = seconds

    def _quotas(self) -> dict[str, Quota]:
        """All of them by name: those of all look-ups, then those of each source."""
        named = dict(self._whole)
        for join, own in zip(self._joins, self._own, strict=True):
            named |= {f"{join.label}: {each}": quota for each, quota in own.items()}
        return named
