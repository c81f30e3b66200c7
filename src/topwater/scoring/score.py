"""How columns become one score per row, in the user's terms or in the lists' terms.

Every score is an :class:`~topwater.scoring.expressions.Expression` with an order, so values,
bounds and slopes come from one place. Lists rank larger scores higher; a score whose smallest
values win is negated for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from topwater.errors import QueryError
from topwater.model import FloatArray, Frozen
from topwater.scoring.expressions import (
    Bound,
    Call,
    Expression,
    Name,
    Number,
    column_of,
    parse,
    rows_of,
)
from topwater.scoring.ranges import RunningRanges
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

Order: TypeAlias = Literal["largest", "smallest"]
Columns: TypeAlias = Mapping[str, FloatArray]

BLOCK = 16_384
"""Rows scored at a time: what one operator leaves is still in the cache for the next."""


@runtime_checkable
class Score(Protocol):
    """Turns columns into one score per row.

    Contract
    --------
    S1. Row i of ``evaluate`` depends on row i only, and for ``running`` columns on the rows
        before it: never on how batches were cut.
    S2. ``bounds`` encloses every number that ``evaluate`` could give for values in the ranges.
    S3. A NaN or infinite input gives a NaN or infinite score, never a finite one.
    S4. ``rank_scores`` and ``rank_bounds`` say the same with larger always better.
    S5. Equal settings are equal, and the score can be pickled.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads."""

    @property
    def order(self) -> Order:
        """Which scores are best."""

    @property
    def running(self) -> tuple[str, ...]:
        """The columns that are normalised by the range seen so far."""

    def evaluate(self, columns: Columns, ranges: RunningRanges | None = None) -> FloatArray:
        """One score per row, in the user's own terms."""

    def rank_scores(self, columns: Columns, ranges: RunningRanges | None = None) -> FloatArray:
        """One score per row; larger ranks higher."""

    def bounds(
        self, columns: Columns, unknown: Mapping[str, tuple[Bound, Bound]]
    ) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest score of each row, in the user's own terms."""

    def rank_bounds(
        self, columns: Columns, unknown: Mapping[str, tuple[Bound, Bound]]
    ) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest score of each row; larger ranks higher."""

    def monotone(self, name: str, ranges: Mapping[str, Range] | None = None) -> int | None:
        """How :meth:`evaluate` follows a column: 1, -1, 0, or None if it can't be told."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON, and for :func:`score_from`."""


class _Folded:
    """All that a score does, given its expression, its order and its running columns."""

    __slots__ = ()
    kind: ClassVar[str]
    expression: Expression
    order: Order

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads, in order of first use."""
        return self.expression.columns

    @property
    def running(self) -> tuple[str, ...]:
        """The columns that are normalised by the range seen so far."""
        return ()

    def evaluate(self, columns: Columns, ranges: RunningRanges | None = None) -> FloatArray:
        """One score per row, in the user's own terms. ``ranges`` takes in the running columns.

        The result may share memory with a column.
        """
        if isinstance(self.expression.tree, Name) and not self.running:
            return self.expression.evaluate(columns)
        used = {name: column_of(columns, name) for name in self.columns}
        running = self._kept(ranges)
        scores = np.empty(rows_of(columns))
        for start in range(0, len(scores), BLOCK):
            rows = slice(start, start + BLOCK)
            part = {name: column[rows] for name, column in used.items()}
            scores[rows] = self._score(part, running)
        return scores

    def _kept(self, ranges: RunningRanges | None) -> RunningRanges:
        if self.running and ranges is None:
            raise QueryError(
                f"the running range of {self.running[0]!r} has to be kept between batches",
                field="score.ranges",
                fix="pass ranges=RunningRanges(), the same for all batches",
            )
        return RunningRanges() if ranges is None else ranges

    def _score(self, columns: Columns, ranges: RunningRanges) -> FloatArray:
        """NaN where an input is not finite: 1 / inf and clip(inf, 0, 1) look like good scores."""
        normal = {name: _running_norm(columns[name], name, ranges) for name in self.running}
        scores = self.expression.evaluate({**columns, **normal})
        for column in columns.values():
            finite = np.isfinite(column)
            if not finite.all():
                scores = np.where(finite, scores, np.nan)
        return scores

    def rank_scores(self, columns: Columns, ranges: RunningRanges | None = None) -> FloatArray:
        """One score per row; larger ranks higher."""
        scores = self.evaluate(columns, ranges)
        return -scores if self.order == "smallest" else scores

    def bounds(
        self, columns: Columns, unknown: Mapping[str, tuple[Bound, Bound]]
    ) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest score of each row, for ``unknown`` columns in their ranges.

        A running column counts as anything from 0 to 1, whatever was seen before.
        """
        return self.expression.bounds(columns, {**unknown, **dict.fromkeys(self.running, _UNIT)})

    def rank_bounds(
        self, columns: Columns, unknown: Mapping[str, tuple[Bound, Bound]]
    ) -> tuple[FloatArray, FloatArray]:
        """The same with larger ranking higher."""
        low, high = self.bounds(columns, unknown)
        return (-high, -low) if self.order == "smallest" else (low, high)

    def monotone(self, name: str, ranges: Mapping[str, Range] | None = None) -> int | None:
        """How :meth:`evaluate` follows a column: 1 up, -1 down, 0 not at all, None unknown."""
        known = {**(ranges or {}), **dict.fromkeys(self.running, _UNIT)}
        return self.expression.monotone(name, known)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, and for :func:`score_from`."""
        settings = [f.name for f in fields(self) if f.init]  # type: ignore[arg-type]
        return {"kind": self.kind, **{name: _plain(getattr(self, name)) for name in settings}}


_UNIT: Range = (0.0, 1.0)


@checked_call("score")
@dataclass(frozen=True, slots=True)
class Formula(_Folded):
    """Any expression over the columns; a bare column name is the simplest.

    Formulas are equal when they parse to the same tree.

    Examples
    --------
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
        _settle(self, expression=parse(self.text))


@checked_call("score")
@dataclass(frozen=True, slots=True)
class WeightedSum(_Folded):
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
        _settle(self, weights=weights, ranges=ranges, expression=Expression(total_of(terms)))

    @property
    def running(self) -> tuple[str, ...]:
        """The columns that are normalised by the range seen so far."""
        return tuple(name for name in self.weights if self.ranges.get(name) == "running")


@checked_call("score")
@dataclass(frozen=True, slots=True)
class Euclidean(_Folded):
    """The straight distance to a point: ``sqrt(sum of (x - p)²)``.

    Examples
    --------
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
        _settle(self, point=point, expression=Expression(Call("sqrt", (total_of(squares),))))


@checked_call("score")
@dataclass(frozen=True, slots=True)
class WeightedDistance(_Folded):
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
        _settle(self, point=point, weights=weights, expression=Expression(tree))


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


def _score_from_dict(spec: Mapping[str, Any]) -> Score:
    score = _KINDS[choice_of(spec.get("kind"), _KINDS, "score.kind")]
    settings = {name: value for name, value in spec.items() if name != "kind"}
    made: Score = made_from(score, settings, "score")
    return made


_KINDS: Mapping[str, type[Any]] = {
    score.kind: score for score in (Formula, WeightedSum, Euclidean, WeightedDistance)
}


def _running_norm(values: FloatArray, name: str, ranges: RunningRanges) -> FloatArray:
    low, high = ranges.extend(name, values)
    with np.errstate(all="ignore"):
        above, span = values - low, high - low
        # Times zero rather than zero, so that NaN stays NaN.
        return np.where(span == 0, above * 0.0, above / span)


def _settle(score: object, **settings: object) -> None:
    for name, value in settings.items():
        object.__setattr__(score, name, value)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _check_order(order: object) -> None:
    choice_of(order, ("largest", "smallest"), "score.order")


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
