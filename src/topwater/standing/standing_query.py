"""One standing query: whose k best, of which window, by which score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np

from topwater.errors import QueryError
from topwater.model import FloatArray, Key
from topwater.scoring import Euclidean, Score, WeightedDistance, WeightedSum, score_from
from topwater.standing.costs import ABSOLUTE, EUCLIDEAN, LARGEST, LINEAR, SQUARES
from topwater.validation import checked_call, suggestion, whole_of
from topwater.windows import FARTHEST, millis


@checked_call()
@dataclass(frozen=True, slots=True)
class StandingQuery:
    """The k best objects of a window that slides with every object.

    Parameters
    ----------
    name
        By which the query is changed, cancelled and found in the results.
    k
        How many objects.
    window
        A whole number: of so many objects, the last ones. A duration (``"10 min"``, ``"PT9M"``, a
        ``timedelta``): of the objects of that time.
    score
        ``Euclidean``, ``WeightedDistance``, ``WeightedSum``, a formula, or any other score.

    Examples
    --------
    >>> near = StandingQuery("cafe", k=3, window=1000, score=Euclidean({"x": 0.2, "y": 0.7}))
    >>> near.timed, near.width
    (False, 1000)
    >>> StandingQuery("cafe", 3, "10 min", "speed").width
    600000
    """

    name: Key
    k: int
    window: int | str | timedelta
    score: Score

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", score_from(self.score))
        name: object = self.name
        if not isinstance(name, int | str) or isinstance(name, bool):
            raise QueryError(
                f"{self.name!r} is not a name", field="name", fix="use a text or a whole number"
            )
        whole_of(self.k, "k", 1, 2**31 - 1, "say how many objects you want")
        if not (0 < self.width < FARTHEST):
            raise QueryError(
                f"must be positive, not {self.window!r}",
                field="window",
                fix='give a number of objects (1000) or a duration ("10 min")',
            )
        if self.score.running:
            raise QueryError(
                f"the range of {self.score.running[0]!r} changes as the stream runs, and with it "
                "the scores of what is already there",
                field="score.ranges",
                fix="declare the range as (low, high)",
            )

    @property
    def timed(self) -> bool:
        """Is the window a span of time?"""
        return not _whole(self.window)

    @property
    def width(self) -> int:
        """The window in milliseconds, or in objects."""
        return millis(self.window, field="window")

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        window = self.width if not self.timed else f"{self.width} ms"
        return {"name": self.name, "k": self.k, "window": window, "score": self.score.to_dict()}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> StandingQuery:
        """What :meth:`to_dict` gave."""
        return cls(given["name"], given["k"], given["window"], score_from(given["score"]))


@dataclass(frozen=True, slots=True)
class Costing:
    """How the compiled loops compute a score: by columns, or (``given``) not at all.

    ``score = offset + sign · cost``, or with the root of the cost.
    """

    kind: int
    point: FloatArray
    weight: FloatArray
    given: bool = False
    root: bool = False
    sign: float = 1.0
    offset: float = 0.0

    def scores(self, costs: FloatArray) -> FloatArray:
        """The scores that these costs stand for."""
        return self.offset + self.sign * (np.sqrt(costs) if self.root else costs)


def costing(score: Score, columns: Sequence[str]) -> Costing:
    """How to compute a score from columns in this order.

    Examples
    --------
    >>> found = costing(Euclidean({"y": 1.0, "x": 2.0}), ["x", "y"])
    >>> found.point.tolist(), found.root
    ([2.0, 1.0], True)
    """
    missing = [name for name in score.columns if name not in columns]
    if missing:
        raise QueryError(
            f"{missing[0]!r} is not a column of the objects",
            field="score",
            fix=suggestion(missing[0], columns),
        )
    if isinstance(score, WeightedSum):
        return _sum(score, columns)
    if isinstance(score, Euclidean | WeightedDistance) and score.order == "smallest":
        return _distance(score, columns)
    sign = 1.0 if score.order == "smallest" else -1.0
    return Costing(LINEAR, np.zeros(1), np.ones(1), given=True, sign=sign)


def _distance(score: Euclidean | WeightedDistance, columns: Sequence[str]) -> Costing:
    point = np.array([score.point.get(name, 0.0) for name in columns])
    if isinstance(score, Euclidean):
        weight = np.array([float(name in score.point) for name in columns])
        return Costing(EUCLIDEAN if weight.all() else SQUARES, point, weight, root=True)
    weight = np.array([score.weights.get(name, 0.0) for name in columns])
    kinds = {"max": LARGEST, "sum": ABSOLUTE, "euclidean": SQUARES}
    return Costing(kinds[score.combine], point, weight, root=score.combine == "euclidean")


def _sum(score: WeightedSum, columns: Sequence[str]) -> Costing:
    sign = 1.0 if score.order == "smallest" else -1.0
    weight, offset = np.zeros(len(columns)), 0.0
    for at, name in enumerate(columns):
        share, span = score.weights.get(name, 0.0), score.ranges.get(name)
        if isinstance(span, tuple):
            low, high = span
            share = share / (high - low) if high != low else 0.0
            offset -= share * low
        weight[at] = sign * share
    return Costing(LINEAR, np.zeros(len(columns)), weight, sign=sign, offset=offset)


def _whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
