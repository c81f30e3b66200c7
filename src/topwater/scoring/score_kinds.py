"""The kinds of scores: a formula, a weighted sum, distances; and a score from its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, get_args

from topwater.errors import QueryError
from topwater.model import Frozen
from topwater.scoring.expressions import (
    Call,
    Expression,
    Number,
    parse,
)
from topwater.scoring.score import FoldedScore, Order, Score
from topwater.scoring.sums import COMBINATIONS, offset, scaled, total_of
from topwater.validation import (
    Range,
    checked_call,
    choice_of,
    made_from,
    mapping_of,
    number_of,
    numbers_of,
    range_of,
)


@checked_call("score")
@dataclass(frozen=True, slots=True)
class Formula(FoldedScore):
    """Any expression over the columns; a bare column name is the simplest.

    Formulas are equal when they parse to the same tree.

    Examples
    --------
    >>> import numpy as np
    >>> speed = Formula("distance / time", order="smallest")
    >>> speed.rank_scores({"distance": np.array([6.0, 9.0]), "time": np.array([2.0, 3.0])})
    array([-3., -3.])
    >>> Formula("a+b") == Formula("a + b")
    True
    """

    kind: ClassVar[str] = "formula"
    text: str = field(compare=False)
    order: Order = "largest"
    expression: Expression = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check_order(self.order)
        _set_fields(self, expression=parse(self.text))


@checked_call("score")
@dataclass(frozen=True, slots=True)
class WeightedSum(FoldedScore):
    """The sum of weight times column, each column brought to one scale first.

    Parameters
    ----------
    weights
        One finite weight per column; negative ones count against.
    ranges
        How to scale a column to ``(x - lo) / (hi - lo)``: ``(lo, hi)`` declares constants, and
        values outside give less than 0 or more than 1; ``"running"`` takes the least and the
        greatest value of the rows up to and including each row. Where lo = hi the result is 0.
        A column without a range is taken as it is.
    order
        Which scores are best.

    Examples
    --------
    >>> import numpy as np
    >>> score = WeightedSum({"mentions": 0.7, "growth": 0.3}, {"mentions": (0, 10)})
    >>> score.evaluate({"mentions": np.array([5.0]), "growth": np.array([1.0])})
    array([0.65])
    >>> print(score.expression)
    0.7 * norm(mentions, 0, 10) + 0.3 * growth
    """

    kind: ClassVar[str] = "weighted-sum"
    weights: Mapping[str, float]
    ranges: Mapping[str, Range | Literal["running"]] = Frozen()
    order: Order = "largest"
    expression: Expression = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_order(self.order)
        weights = numbers_of(self.weights, "score.weights")
        ranges = _ranges(self.ranges, weights)
        terms = [Call("*", (Number(w), scaled(n, ranges.get(n)))) for n, w in weights.items()]
        _set_fields(self, weights=weights, ranges=ranges, expression=Expression(total_of(terms)))

    @property
    def running(self) -> tuple[str, ...]:
        """The columns that are normalised by the range seen so far."""
        return tuple(name for name in self.weights if self.ranges.get(name) == "running")


@checked_call("score")
@dataclass(frozen=True, slots=True)
class Euclidean(FoldedScore):
    """The straight distance to a point: ``sqrt(sum of (x - p)²)``.

    Examples
    --------
    >>> import numpy as np
    >>> Euclidean({"x": 0, "y": 0}).evaluate({"x": np.array([3.0]), "y": np.array([4.0])})
    array([5.])
    """

    kind: ClassVar[str] = "euclidean"
    point: Mapping[str, float]
    order: Order = "smallest"
    expression: Expression = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_order(self.order)
        point = numbers_of(self.point, "score.point")
        squares = [Call("**", (offset(name, at), Number(2.0))) for name, at in point.items()]
        _set_fields(self, point=point, expression=Expression(Call("sqrt", (total_of(squares),))))


@checked_call("score")
@dataclass(frozen=True, slots=True)
class WeightedDistance(FoldedScore):
    """The distance to a point where some directions count more than others.

    Parameters
    ----------
    point
        One coordinate per column.
    weights
        One weight per column of the point, none negative.
    combine
        ``"max"``: the largest of ``w |x - p|``. ``"sum"``: the sum of ``w |x - p|``.
        ``"euclidean"``: ``sqrt(sum of w (x - p)²)``.
    order
        Which distances are best.

    Notes
    -----
    Pripužić, Podnar Žarko and Aberer (2015) define the weighted attribute distance by the terms
    ``c1 |x1 - p1|, c2 |x2 - p2|`` with a comma between; we read that as their maximum, which is
    the default here.

    Examples
    --------
    >>> import numpy as np
    >>> far = WeightedDistance({"x": 0, "y": 0}, {"x": 1, "y": 2})
    >>> far.evaluate({"x": np.array([3.0, 5.0]), "y": np.array([2.0, 2.0])})
    array([4., 5.])
    """

    kind: ClassVar[str] = "weighted-distance"
    point: Mapping[str, float]
    weights: Mapping[str, float]
    combine: Literal["max", "sum", "euclidean"] = "max"
    order: Order = "smallest"
    expression: Expression = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_order(self.order)
        choice_of(self.combine, COMBINATIONS, "score.combine")
        point = numbers_of(self.point, "score.point")
        weights = numbers_of(self.weights, "score.weights")
        _check_distance_weights(point, weights)
        tree = COMBINATIONS[self.combine](point, weights)
        _set_fields(self, point=point, weights=weights, expression=Expression(tree))


def score_in_words(score: Score) -> str:
    """A score as people write it.

    Examples
    --------
    >>> score_in_words(Formula("a + b")), score_in_words(WeightedSum({"a": 0.5, "b": 2}))
    ('a + b', '0.5 × a + 2 × b')
    """
    if isinstance(score, Formula):
        return score.text
    weights = getattr(score, "weights", None)
    if weights:
        return " + ".join(f"{weight:g} × {name}" for name, weight in weights.items())
    return f"{type(score).__name__} of {', '.join(score.columns)}"


def score_from(spec: str | Mapping[str, Any] | Score) -> Score:
    """A score from a formula, from what ``to_dict`` gave, or as it is.

    Examples
    --------
    >>> score_from("mentions * 2").columns
    ('mentions',)
    >>> score_from({"kind": "euclidean", "point": {"x": 1, "y": 2}})
    Euclidean(point={'x': 1.0, 'y': 2.0}, order='smallest')
    """
    if isinstance(spec, str):
        return Formula(spec)
    # First what is quick to tell: a protocol is compared name by name.
    if isinstance(spec, Formula | WeightedSum | Euclidean | WeightedDistance):
        return spec
    if isinstance(spec, Mapping):
        return _score_from_dict(spec)
    given: object = spec
    if isinstance(given, Score) and not isinstance(given, type):
        return given
    raise QueryError(
        f"{type(spec).__name__} is not a score",
        field="score",
        fix="give a formula, a Formula, WeightedSum, Euclidean or WeightedDistance",
    )


def ordered(score: Score, order: Order | None) -> Score:
    """The score with another order; as it is for None.

    Examples
    --------
    >>> ordered(Formula("price"), "smallest")
    Formula(text='price', order='smallest')
    """
    if order is None or choice_of(order, get_args(Order), "order") == score.order:
        return score
    if not isinstance(score, Formula | WeightedSum | Euclidean | WeightedDistance):
        raise QueryError(
            f"{type(score).__name__} has an order of its own, {score.order!r}",
            field="order",
            fix="leave it out, and set the order of the score",
        )
    return replace(score, order=order)


def _score_from_dict(spec: Mapping[str, Any]) -> Score:
    score = _KINDS[choice_of(spec.get("kind"), _KINDS, "score.kind")]
    settings = {name: value for name, value in spec.items() if name != "kind"}
    made: Score = made_from(score, settings, "score")
    return made


_KINDS: Mapping[str, type[Any]] = {
    score.kind: score for score in (Formula, WeightedSum, Euclidean, WeightedDistance)
}


def _set_fields(score: object, **settings: object) -> None:
    for name, value in settings.items():
        object.__setattr__(score, name, value)


def _check_order(order: object) -> None:
    choice_of(order, get_args(Order), "score.order")


def _ranges(given: object, weights: Mapping[str, float]) -> Frozen[Range | Literal["running"]]:
    for name in mapping_of(given, "score.ranges", 'write {"column": (0, 100)}'):
        choice_of(name, weights, "score.ranges")
    return Frozen(
        {
            name: "running" if value == "running" else range_of(value, f"score.ranges.{name}")
            for name, value in mapping_of(given, "score.ranges").items()
        }
    )


def _check_distance_weights(point: Mapping[str, float], weights: Mapping[str, float]) -> None:
    if point.keys() != weights.keys():
        odd = ", ".join(sorted(point.keys() ^ weights.keys()))
        raise QueryError(
            f"point and weights differ in: {odd}",
            field="score.weights",
            fix="give one weight per column of the point",
        )
    fix = 'use 0 to leave a column out, or order="largest" to prefer what is far'
    for name, weight in weights.items():
        number_of(weight, f"score.weights.{name}", least=0, fix=fix)
