"""The look-ups of all groups of a window go out together, under one deadline.

::

    group a ──► elects ──┐                                        ┌──► a ranks, answers
    group b ──► elects ──┼──► one list, the first of each group ──┼──► b ranks, answers
    group c ──► elects ──┘    first ──► one call of the source    └──► c ranks, answers

How many keys a group may ask for, its own purse has said before. Where there is a deadline, there
is time for so many keys of all groups together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from topwater.model import Fetched, IntArray, KeyArray, Millis
from topwater.monitor.remote_part import RemotePart
from topwater.replica.budget import Budget, Purse
from topwater.replica.look_ups import Demand, LookingUp, ask, pay
from topwater.replica.time_left import TimeLeft

T = TypeVar("T")


class GroupLookUps:
    """Looks up what several groups want, each key once, and gives to each what it asked for.

    Parameters
    ----------
    remote
        Where values are fetched.
    budget
        Of each group; its deadline is one for all groups of a window.
    """

    def __init__(self, remote: RemotePart, budget: Budget) -> None:
        self._source = remote.source
        self._deadline = budget.seconds
        # One for all groups: what a look-up costs is the source's, and the time is everybody's.
        self._purse = Purse(budget)
        self._time = TimeLeft(remote.clock)

    def begin(self) -> int | None:
        """A window begins; how many keys could be looked up by its deadline, if there is one."""
        self._time.begin()
        self._time.start_window()
        return self._in_time(self._deadline)

    def run(self, window: int, groups: Sequence[LookingUp[T]]) -> list[T]:
        """What becomes of the groups of a window that began: all elect, then all get what came.

        Some may want more once they know what came; they are asked for together again.
        """
        results: dict[int, T] = {}
        most = self._in_time(self._deadline)
        demands = _advanced(groups, dict.fromkeys(range(len(groups))), results)
        while demands:
            came = self._looked_up(window, [*demands.values()], most)
            self._time.end_fetch(sum(got.seconds for got in came))
            demands = _advanced(groups, dict(zip(demands, came, strict=True)), results)
            most = self._in_time(self._time.for_fetching(self._deadline))
        self._time.end_window()
        return [results[at] for at in range(len(groups))]

    def facts(self) -> dict[str, Any]:
        """What a restart needs, for JSON."""
        return {"seconds_per_fetch": self._purse.seconds_per_fetch}

    def restore_facts(self, facts: Mapping[str, Any]) -> None:
        """Take over what :meth:`facts` gave."""
        self._purse.seconds_per_fetch = facts["seconds_per_fetch"]

    def _in_time(self, seconds: float | None) -> int | None:
        """How many keys can be looked up in this time: one at least, or nothing is learnt."""
        return None if seconds is None else max(1, self._purse.fetches_within(seconds))

    def _looked_up(self, window: int, demands: Sequence[Demand], most: int | None) -> list[Fetched]:
        """What came for the first keys of each demand, up to a number of keys."""
        came: dict[int, Fetched] = {}
        for rows in _by_kind(demands):
            granted = grant([demands[at] for at in rows], window, most)
            got = self._fetched(granted.keys, demands[0].now)
            if self._deadline is not None:
                pay(self._purse, got)
            came |= zip(rows, granted.shares(got), strict=True)
        return [came[at] for at in range(len(demands))]

    def _fetched(self, keys: KeyArray, now: Millis) -> Fetched:
        """In one call, or as many as the source needs."""
        most = self._source.most or max(1, len(keys))
        parts = [
            ask(self._source, keys[at : at + most], now, self._time.for_fetching(self._deadline))
            for at in range(0, max(1, len(keys)), most)
        ]
        return (
            Fetched.joined(parts, sum(part.seconds for part in parts))
            if len(parts) > 1
            else parts[0]
        )


@dataclass(frozen=True, slots=True)
class Granted:
    """What is looked up of several demands.

    Attributes
    ----------
    keys
        Each of them once, in the order in which they are asked for.
    where
        For each demand, where in ``keys`` the first of its own are: those that it was granted.
    """

    keys: KeyArray
    where: Sequence[IntArray]

    def shares(self, got: Fetched) -> list[Fetched]:
        """What each demand gets of what came, and its part of the time."""
        total = max(1, sum(map(len, self.where)))
        return [replace(got.at(at), seconds=got.seconds * len(at) / total) for at in self.where]


def grant(demands: Sequence[Demand], window: int, most: int | None = None) -> Granted:
    """Bring several demands into one order, and leave out what is too much.

    The first keys of all demands come first, then the second ones: where not all can be looked up,
    all do without what is worth least to them. In what order the demands follow each other is drawn
    by the window, so that no rhythm of the stream puts the same ones last for ever.

    Parameters
    ----------
    demands
        Those of all groups of a window, with what each key is worth.
    window
        The window's number.
    most
        How many distinct keys can be looked up; None for all.

    Examples
    --------
    >>> one, other = (Demand(np.array(keys), np.ones(3), 0) for keys in ([7, 8, 9], [4, 7, 5]))
    >>> granted = grant([one, other], window=0, most=3)
    >>> granted.keys.tolist(), [at.tolist() for at in granted.where]
    ([7, 4, 8], [[0, 2], [1, 0]])
    """
    if not demands:
        return Granted(np.empty(0, np.int64), [])
    sizes = [len(demand.keys) for demand in demands]
    whose = np.repeat(np.arange(len(demands)), sizes)
    place = np.concatenate([np.arange(size) for size in sizes])
    turn = np.random.default_rng([*divmod(window, 2**32)]).permutation(len(demands))
    order = np.lexsort((turn[whose], place))
    keys = np.concatenate([demand.keys for demand in demands])[order]
    first: dict[Any, int] = {}
    where = np.array([first.setdefault(key, len(first)) for key in keys.tolist()], np.int64)
    if most is not None and len(first) > most:
        end = int(np.argmax(where == most))
        keys, where, order = keys[:end], where[:end], order[:end]
    ends = np.cumsum(np.bincount(whose[order], minlength=len(demands)))[:-1]
    by_demand = np.argsort(whose[order], kind="stable")
    distinct = keys[np.unique(where, return_index=True)[1]]
    return Granted(distinct, np.split(where[by_demand], ends))


def _by_kind(demands: Sequence[Demand]) -> list[list[int]]:
    """Demands for whole numbers and for texts: no source is asked for both at once."""
    kinds: dict[str, list[int]] = {}
    for at, demand in enumerate(demands):
        kinds.setdefault(demand.keys.dtype.kind, []).append(at)
    return [*kinds.values()]


def _advanced(
    groups: Sequence[LookingUp[T]], told: Mapping[int, Fetched | None], results: dict[int, T]
) -> dict[int, Demand]:
    """What some rankings want next, each given what came for it; the results of those that end."""
    demands: dict[int, Demand] = {}
    for at, got in told.items():
        try:
            demands[at] = groups[at].send(got)
        except StopIteration as done:
            results[at] = done.value
    return demands
