"""What makes a state a query's own, and what may change while it lives.

============  ====================================================================================
identity      key, time, window, ``take``, groups, names of remote values, and whether a list
              keeps a few keys only: what a state holds depends on it; of several remote values
              all settings
tuning        all the rest: k, score, policy, budget, lateness, lists, limits …: it may change at
              a restart, and what was remembered stays
============  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from topwater.errors import AFRESH, StateError
from topwater.query.topk_query import TopKQuery

IDENTITY = ("key", "time", "window", "take", "group_by")
"""The settings that decide what is counted, whatever the others are."""


class Difference(NamedTuple):
    """A setting that two queries have differently.

    Attributes
    ----------
    name
        Of the setting, with dots: ``refresh.budget.fetches``.
    before, now
        What it was, and what it is.
    """

    name: str
    before: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.name}: {self.before} → {self.now}"


def foreign(before: TopKQuery, now: TopKQuery) -> Difference | None:
    """The first setting for which a state of one query can't serve the other; None if it can."""
    if before.forgets_keys != now.forgets_keys:
        return Difference("list", before.list, now.list)
    then, here = _identity(before), _identity(now)
    names = (name for name in here if then.get(name) != here[name])
    return next((Difference(name, then.get(name), here[name]) for name in names), None)


def tuned(before: TopKQuery, now: TopKQuery) -> list[Difference]:
    """The settings that differ, where the queries are the same but for these.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from topwater.windows import tumbling
    >>> query = TopKQuery(key="who", time="at", window=tumbling(10), score="value", k=1)
    >>> [str(each) for each in tuned(query, replace(query, k=3, lateness=5))]
    ['k: 1 → 3', 'lateness: 0 → 5']
    """
    return [*_differences(before.to_dict(), now.to_dict())]


def require_same_identity(before: TopKQuery, now: TopKQuery, where: str = "the state") -> None:
    """Raise unless a state of one query can serve the other."""
    found = foreign(before, now)
    if found is not None:
        raise StateError(
            f"{where} belongs to another query: its {found.name} is {found.before!r}, "
            f"and here it is {found.now!r}",
            fix=f"use the query that wrote it, or {AFRESH}",
        )


def require_same_settings(before: TopKQuery, now: TopKQuery) -> None:
    """Raise unless two queries are the same, where a state can't be changed for the other."""
    require_same_identity(before, now)
    found = tuned(before, now)
    if found:
        raise StateError(
            f"the state was written with other settings: {found[0]}",
            fix="start the query by topwater.spark.start(), which takes the state over",
        )


def keeps_enough(before: TopKQuery, now: TopKQuery) -> bool:
    """Whether what one query keeps of its open windows is all that the other needs of them.

    Aggregates are kept of every key. Of single events only the k best by their scores are.
    """
    if now.list is None:
        return True
    same = (before.score, before.list, before.where) == (now.score, now.list, now.where)
    return same and before.k >= now.k and _spare(before) >= _spare(now)


def _identity(query: TopKQuery) -> dict[str, Any]:
    plain = query.to_dict()
    found = {name: plain[name] for name in IDENTITY}
    if query.joins is not None:
        return {**found, "refresh": plain["refresh"]}
    return {**found, "refresh.remote": None if query.single is None else query.single.remote}


def _spare(query: TopKQuery) -> int:
    return 0 if query.single is None else query.single.spare


def _differences(before: Any, now: Any, name: str = "") -> Iterator[Difference]:
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        if before != now:
            yield Difference(name, before, now)
        return
    for each in [*now, *(each for each in before if each not in now)]:
        yield from _differences(
            before.get(each), now.get(each), f"{name}.{each}" if name else str(each)
        )
