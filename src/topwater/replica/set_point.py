"""How many look-ups an accuracy needs: as few as make answers as right, on average over windows.

::

    what is asked, and what answers fell short of it ──► what this one is to reach
    what it is expected to be after n look-ups       ──► the least n that reaches it

What one answer is short of what is asked, later ones make good; what it has too much, they save.
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

_STEP = 4 / 3
_LESS = 0.05
"""By so much less than it is to reach an answer is left as it is: another round trip is dear."""

_SHORT = 0.01
_LATELY, _FIRST = 20, 10
_KEPT = ("reach", "mean", "windows", "due")


@dataclass
class SetPoint:
    """Says how many look-ups of a window are wanted, and keeps account of what they brought.

    Attributes
    ----------
    target, aim
        How right answers are to be on average; by precision for ``"accuracy"``, else by nDCG.
    reach
        How right the next one is to be: more than the target where others fell short of it.
    mean, windows
        How right answers were lately, and how many that are, up to some.
    exhausted
        Whether all that was elected for the last window was wanted.
    due
        How many of the keys that are drawn at random are to be looked up.

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
        found, room = self._measured(freshness), 1.0 - self.target
        found -= excess if self.aim == "accuracy" else 0.0
        reach = self.reach + _PACE * (self.target - found)
        self.reach = min(max(reach, self.target - _ROOM * room), self.target + _ROOM * room)
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
                setattr(self, name, state[name])
