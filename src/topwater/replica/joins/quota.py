"""How much may be spent in a span of time: a day's quota, a minute's rate."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from topwater.errors import QueryError
from topwater.model import Frozen, Millis
from topwater.validation import mapping_of, millis, number_of, span, whole_of

NO_LIMITS: Frozen[float] = Frozen()
"""Amounts by spans of time where there are none."""

_PARTS = 1_000
"""How many parts a span is divided into: what was spent in one of them is remembered together."""


class Quota:
    """What is left of an amount for each span of time, by event time.

    In no span, wherever it begins, more than the amount is spent: what was spent counts for as
    long as the span is. So that the first hour does not take the whole day's, an even share of the
    amount becomes free as time passes; what is not spent stays, up to the whole.

    Parameters
    ----------
    amount, length
        How much, for each span of so many milliseconds.
    step
        How much time passes from window to window: so much of the amount is free at once.

    Examples
    --------
    >>> quota = Quota(100.0, 60_000, step=6_000)
    >>> quota.left(0), quota.left(30_000)
    (10.0, 60.0)
    >>> quota.spend(30_000, 50.0)
    >>> quota.left(30_000), quota.left(60_000), quota.left(90_000), quota.left(900_000)
    (10.0, 50.0, 100.0, 100.0)
    """

    def __init__(self, amount: float, length: Millis, step: Millis) -> None:
        self.amount = amount
        self.length = length
        self._share = amount * min(1.0, step / length)
        self._free = 0.0
        self._at: Millis | None = None
        # When the last of a part was spent, and how much in it.
        self._spent: deque[tuple[Millis, float]] = deque()

    def left(self, now: Millis) -> float:
        """How much may be spent at a time, which must not be earlier than any before."""
        return max(0.0, min(self._freed(now), self.amount - self._lately(now)))

    def spend(self, now: Millis, amount: float) -> None:
        """Take note of what was spent."""
        if amount <= 0:
            return
        self._free = self._freed(now) - amount
        self._at = now if self._at is None else max(self._at, now)
        self._spent = deque(each for each in self._spent if each[0] > now - self.length)
        if self._spent and now - self._spent[-1][0] < self.length / _PARTS:
            # Remembered for longer than it has to be, and never for less.
            amount += self._spent.pop()[1]
        self._spent.append((max(now, self._at), amount))

    def _freed(self, now: Millis) -> float:
        """What has become free by a time, and was not spent."""
        if self._at is None:
            self._at, self._free = now, min(self._share, self.amount)
        passed = max(0, now - self._at)
        return min(self.amount, self._free + self.amount * passed / self.length)

    def _lately(self, now: Millis) -> float:
        return sum(amount for at, amount in self._spent if at > now - self.length)

    def snapshot(self) -> dict[str, Any]:
        """For JSON."""
        return {"free": self._free, "at": self._at, "spent": [[*each] for each in self._spent]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """What :meth:`snapshot` gave."""
        self._free, self._at = state["free"], state["at"]
        self._spent = deque((at, amount) for at, amount in state["spent"])


def limits_of(given: Any, field: str, least: float) -> Frozen[float]:
    """Amounts by spans of time, as people write them; the spans as they are written in states.

    Parameters
    ----------
    given
        As ``{"1 day": 50_000}``.
    field
        The setting that they stand in.
    least
        What one look-up takes: no amount may be smaller.

    Examples
    --------
    >>> limits_of({"60 s": 600, "1 day": 50_000}, "budget.per", 1.0)
    {'1 min': 600.0, '1 d': 50000.0}
    """
    found: dict[str, float] = {}
    for written, amount in mapping_of(given, field, 'write {"1 day": 50_000}').items():
        fix = 'write a span of time and an amount, as {"1 day": 50_000}'
        length = whole_of(millis(written, field=field), field, 1, fix=fix)
        if span(length) in found:
            raise QueryError(f"{span(length)} stands there twice", field=field, fix="name it once")
        found[span(length)] = number_of(amount, f"{field}.{written}", above=0, fix=fix)
        require_room(found[span(length)], least, f"{field}.{written}")
    return Frozen(found)


def require_room(amount: float, least: float, field: str) -> None:
    """Raise if an amount is smaller than one look-up."""
    if amount < least:
        raise QueryError(
            f"{amount:g} is less than one look-up, which takes {least:g}",
            field=field,
            fix=f"allow {least:g} or more, or leave it out",
        )


def quotas_of(per: Mapping[str, float], step: Millis, share: int = 1) -> dict[str, Quota]:
    """The quotas of such limits, or of one of several shards that share them evenly."""
    return {each: Quota(amount / share, millis(each), step) for each, amount in per.items()}
