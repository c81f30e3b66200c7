"""How much may be spent on a window: fetches, or a deadline from which their number follows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from topwater.errors import QueryError
from topwater.windows import millis


@dataclass(frozen=True, slots=True)
class Budget:
    """What refreshing may cost.

    Parameters
    ----------
    fetches
        So many keys per window.
    deadline
        Or: so long after a window's close its answer must be out, in milliseconds. The number
        of fetches follows from what fetches have cost so far.
    carry_over
        Keep what a window did not need for later ones, up to three windows' worth. For quotas;
        a deadline has nothing to carry over.
    accuracy
        The precision@k that answers should have; one that is estimated to miss it is marked.

    Examples
    --------
    >>> Budget.of(7)
    Budget(fetches=7, deadline=None, carry_over=False, accuracy=None)
    """

    fetches: int | None = None
    deadline: int | None = None
    carry_over: bool = False
    accuracy: float | None = None

    def __post_init__(self) -> None:
        if (self.fetches is None) == (self.deadline is None):
            raise QueryError(
                "needs either a number of fetches or a deadline",
                field="budget",
                fix='write budget=7, or budget={"deadline": "2s"}',
            )
        if self.fetches is not None and (type(self.fetches) is not int or self.fetches < 0):
            raise QueryError(
                f"must be a whole number of at least 0, not {self.fetches!r}",
                field="budget.fetches",
                fix="how many keys may be fetched for each window?",
            )
        if self.deadline is not None and self.deadline <= 0:
            raise QueryError(
                f"must be positive, not {self.deadline}",
                field="budget.deadline",
                fix="how long after its close may a window's answer come?",
            )
        if self.carry_over and self.fetches is None:
            raise QueryError(
                "time that was not used is gone",
                field="budget.carry_over",
                fix="use it with a number of fetches",
            )
        accuracy: object = self.accuracy
        if accuracy is not None and not (isinstance(accuracy, float | int) and 0 < accuracy <= 1):
            raise QueryError(
                f"must be above 0 and at most 1, not {self.accuracy!r}",
                field="budget.accuracy",
                fix="0.9 asks for nine of ten right",
            )

    @staticmethod
    def of(spec: int | Mapping[str, Any] | Budget) -> Budget:
        """A budget from a number of fetches, or from named settings."""
        if isinstance(spec, Budget):
            return spec
        if not isinstance(spec, Mapping):
            return Budget(fetches=spec)
        known = [field.name for field in fields(Budget)]
        if unknown := sorted(set(spec) - set(known)):
            raise QueryError(
                "no such setting", field=f"budget.{unknown[0]}", fix=f"use: {', '.join(known)}"
            )
        settings = dict(spec)
        if settings.get("deadline") is not None:
            settings["deadline"] = millis(settings["deadline"], field="budget.deadline")
        return Budget(**settings)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


class Purse:
    """What is left to spend. The loop asks it before, and tells it after, every election.

    With carry-over it is a bucket of three windows' fetches, refilled by one window's at each
    window. Fetches that promise less than ``threshold`` are put off; it rises while the bucket is
    less than half full, and falls while it is fuller, so on average just the budget is spent.
    """

    bucket = 3
    _start_cost = 0.02
    _start_threshold = 0.1

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.tokens = float(budget.fetches or 0)
        self.threshold = 0.0
        self.seconds_per_fetch = self._start_cost

    def allowance(self, seconds_used: float = 0.0) -> int:
        """How many keys may be fetched now."""
        if self.budget.deadline is not None:
            left = self.budget.deadline / 1_000 - seconds_used
            # One at least: a source that was slow once is found fast again only by asking.
            return max(1, int(left / self.seconds_per_fetch)) if left > 0 else 0
        return int(self.tokens)

    def spend(self, fetches: int, answered: int, seconds: float, typical_worth: float) -> None:
        """Take note of what one window cost, and prepare for the next."""
        if fetches and 0 < seconds < math.inf:
            # Those that the deadline cut off took no time: what counts is how many came.
            cost = seconds / max(1, answered)
            self.seconds_per_fetch += 0.3 * (cost - self.seconds_per_fetch)
        if self.budget.fetches is None:
            return
        if not self.budget.carry_over:
            self.tokens = float(self.budget.fetches)
            return
        per_window = self.budget.fetches
        self.tokens = min(self.bucket * per_window, self.tokens - fetches + per_window)
        if per_window and typical_worth > 0:
            lack = 1.0 - self.tokens / (self.bucket * per_window / 2)
            # What a full bucket can't take is lost, so the threshold falls faster than it rises.
            gain = 0.2 if lack > 0 else 0.5
            start = self._start_threshold * typical_worth
            self.threshold = (self.threshold or start) * (1.0 + gain * lack)

    def snapshot(self) -> dict[str, float]:
        """For JSON."""
        return {
            "tokens": self.tokens,
            "threshold": self.threshold,
            "seconds_per_fetch": self.seconds_per_fetch,
        }

    def restore(self, state: Mapping[str, float]) -> None:
        """What :meth:`snapshot` gave."""
        self.tokens = state["tokens"]
        self.threshold = state["threshold"]
        self.seconds_per_fetch = state["seconds_per_fetch"]
