"""How many look-ups an accuracy needs: as few as make answers as right, on average over windows.

::

    what is asked, and what answers fell short of it ──► what this one is to reach
    what it is expected to be after n look-ups       ──► the least n that reaches it

What one answer is short of what is asked, later ones make good; what it has too much, they save.
Where an audit tells that answers say too much, or too little, so much more or less is asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from topwater.model import Freshness
from topwater.replica.appraisal import Appraised
from topwater.replica.budget import Budget
from topwater.replica.election import EXPLORED
from topwater.replica.outcomes import Curve
from topwater.replica.utility import Aim

ROUNDS = 2
"""So often the source is asked for one window, at the most."""

_PACE = 0.1
"""What part of what an answer is short of is asked of the next one."""

_ROOM = 0.5
"""What an answer is to reach is raised by at most so much of what the target leaves to 1."""

_LEFT = 0.2
"""It is never more than all but so much of that: more than this can hardly be reached."""

_STEP = 4 / 3
_LESS = 0.05
"""By so much less than it is to reach an answer is left as it is: another round trip is dear."""

_OLD = 0.1
"""So many of the look-ups more are of those values that were read longest ago."""

_ALONE = 600
"""At least as many as it takes to read each key once in so many windows, times what the target
leaves to 1; but no more than one a window."""

_SHORT = 0.01
_LATELY, _FIRST = 20, 10
_KEPT = ("reach", "mean", "windows", "due", "lift", "old")


@dataclass
class SetPoint:
    """Says how many look-ups of a window are wanted, and keeps account of what they brought.

    Attributes
    ----------
    target, aim
        How right answers are to be on average; by precision for ``"accuracy"``, else by nDCG.
    reach
        How right the next one is to say it is: more than the target where others fell short of it,
        or where an audit tells that they say too much.
    mean, windows
        How right answers were lately, and how many that are, up to some.
    exhausted
        Whether all that was elected for the last window was wanted.
    due
        How many of the keys that are drawn at random are to be looked up.
    lift
        What others fell short of.
    old
        How many of the values that were read longest ago are to be looked up.

    Examples
    --------
    >>> point = SetPoint(0.9, "accuracy")
    >>> point.wanted(lambda count: 0.6 + 0.1 * count, most=50)
    3
    """

    target: float
    aim: Aim
    reach: float = math.nan
    mean: float = math.nan
    windows: int = 0
    exhausted: bool = False
    due: float = 0.0
    lift: float = 0.0
    old: float = 0.0

    def __post_init__(self) -> None:
        self.reach = self.mean = self.target

    @staticmethod
    def of(budget: Budget, aim: Aim) -> SetPoint | None:
        """That of a budget, if it has one."""
        return None if budget.set_point is None else SetPoint(budget.set_point, aim)

    def of_elected(self, elected: Appraised, curve: Curve, drawn: int = 0) -> Appraised:
        """As many of those elected as are wanted.

        ``drawn`` is how many of the first were drawn at random: of these only their share is taken,
        in place of the last of the others. The curve is of the others.
        """
        most = len(elected.rows) - drawn
        count = self.wanted(curve, most)
        self.exhausted = count == most
        self.due = self.due + EXPLORED * count if drawn else 0.0
        taken = min(drawn, count, int(self.due))
        self.due -= taken
        rows = np.concatenate([np.arange(taken), np.arange(drawn, drawn + count - taken)])
        return Appraised(elected.rows[rows], elected.worth[rows])

    def again(self, look_ups: int, keys: int) -> int:
        """How many of the values that were read longest ago are wanted beside so many look-ups.

        With few look-ups, keys that are believed to be calm are left alone, and nothing would ever
        tell that they are not: answers would say that they are right, and ask for fewer yet.
        """
        self.old += max(_OLD * look_ups, min(1.0, keys / (_ALONE * (1.0 - self.target))))
        count = int(self.old)
        self.old -= count
        return count

    def wanted(self, expected: Curve, most: int) -> int:
        """How many of at most so many look-ups are wanted.  O(log most) looks at the curve."""
        count, found = 0, expected(0)
        while found < self.reach and count < most:
            further = min(most, max(count + 1, int(count * _STEP)))
            before, found = found, expected(further)
            if found >= self.reach:
                # Between the two it rises evenly, as far as anybody knows.
                share = (self.reach - before) / (found - before)
                return count + math.ceil(share * (further - count))
            count = further
        return count

    def reached(self, freshness: Freshness) -> bool:
        """Whether an answer is right enough as it is."""
        return self._measured(freshness) >= self.reach - _LESS

    def note(self, freshness: Freshness, excess: float = 0.0) -> bool:
        """Take note of how right an answer is; whether the target is out of reach.

        ``excess`` is by how much answers say too much of their precision.
        """
        excess = excess if self.aim == "accuracy" else 0.0
        found, room = self._measured(freshness) - excess, 1.0 - self.target
        lift = self.lift + _PACE * (self.target - found)
        self.lift = min(max(lift, -_ROOM * room), _ROOM * room)
        self.reach = min(max(self.target + self.lift + excess, 0.0), 1.0 - _LEFT * room)
        self.windows = min(self.windows + 1, _LATELY)
        self.mean += (found - self.mean) / self.windows
        short = max(self.mean, found) < self.target - _SHORT
        # At first nothing is known of any key.
        return self.exhausted and short and self.windows >= _FIRST

    def _measured(self, freshness: Freshness) -> float:
        return freshness.precision if self.aim == "accuracy" else freshness.ndcg

    def snapshot(self) -> dict[str, Any]:
        """For JSON."""
        return {name: getattr(self, name) for name in ("target", "aim", *_KEPT)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """What :meth:`snapshot` gave, if it was for the same target."""
        if (state["target"], state["aim"]) == (self.target, self.aim):
            for name in _KEPT:
                setattr(self, name, state.get(name, getattr(self, name)))
