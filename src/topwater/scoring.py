"""How columns become one score per row, in the user's terms or in the lists' terms.

Every score is an :class:`~topwater.expressions.Expression` with an order, so values, bounds and
slopes come from one place. Lists rank larger scores higher; a score whose smallest values win is
negated for them.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from topwater.errors import QueryError, StateError
from topwater.expressions import (
    Bound,
    Call,
    Expression,
    Name,
    Node,
    Number,
    column_of,
    parse,
    rows_of,
)
from topwater.model import FloatArray

Order: TypeAlias = Literal["largest", "smallest"]
Columns: TypeAlias = Mapping[str, FloatArray]
Range: TypeAlias = tuple[float, float]
V_co = TypeVar("V_co", covariant=True)

BLOCK = 16_384
"""Rows scored at a time: what one operator leaves is still in the cache for the next."""


class Constants(Mapping[str, V_co], Generic[V_co]):
    """A mapping that never changes, so that scores can be compared, hashed and shared.

    Examples
    --------
    >>> Constants({"a": 1.0}) == {"a": 1.0}, hash(Constants({"a": 1.0})) == hash(Constants(a=1.0))
    (True, True)
    """

    __slots__ = ("_entries",)

    def __init__(self, *entries: Mapping[str, V_co], **named: V_co) -> None:
        self._entries = dict(*entries, **named)

    def __getitem__(self, name: str) -> V_co:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))

    def __repr__(self) -> str:
        return repr(self._entries)


@dataclass(slots=True)
class RunningRanges:
    """The least and the greatest finite value seen of each column so far.

    The one part of a score that changes; whoever evaluates the score keeps it, and puts
    :meth:`to_dict` into its snapshot.

    Examples
    --------
    >>> ranges = RunningRanges()
    >>> low, high = ranges.extend("a", np.array([3.0, np.nan, 5.0]))
    >>> low.tolist(), high.tolist(), ranges.to_dict()
    ([3.0, 3.0, 3.0], [3.0, 3.0, 5.0], {'a': [3.0, 5.0]})
    >>> RunningRanges.from_dict({"a": [3, 5]}) == ranges
    True
    """

    seen: dict[str, Range] = field(default_factory=dict)

    def get(self, name: str) -> Range | None:
        """The range of a column; None before its first finite value.  O(1)."""
        return self.seen.get(name)

    def extend(self, name: str, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Take in new values; the range after each of them, inclusive.  O(n).

        Before the first finite value the range is empty: from infinity to minus infinity.
        """
        least, greatest = self.seen.get(name, (math.inf, -math.inf))
        # The rule once the range has settled; NaN compares as false.
        if len(values) and values.min() >= least and values.max() <= greatest:
            return np.full(len(values), least), np.full(len(values), greatest)
        finite = np.isfinite(values)
        low = np.minimum.accumulate(np.where(finite, values, math.inf))
        high = np.maximum.accumulate(np.where(finite, values, -math.inf))
        low, high = np.minimum(low, least), np.maximum(high, greatest)
        if len(values) and low[-1] <= high[-1]:
            self.seen[name] = float(low[-1]), float(high[-1])
        return low, high

    def to_dict(self) -> dict[str, list[float]]:
        """For JSON, and for :meth:`from_dict`."""
        return {name: list(seen) for name, seen in self.seen.items()}

    @classmethod
    def from_dict(cls, state: Mapping[str, Sequence[float]]) -> RunningRanges:
        """What :meth:`to_dict` gave.

        Raises
        ------
        StateError
            If it is something else.
        """
        ranges = cls()
        try:
            for name, (low, high) in state.items():
                ranges.seen[name] = _ends((low, high), f"ranges.{name}")
        except (AttributeError, TypeError, ValueError) as error:
            raise StateError(
                f"the running ranges can't be read: {error}", fix="start without this snapshot"
            ) from error
        return ranges


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
    ranges: Mapping[str, Range | Literal["running"]] = Constants()
    order: Order = "largest"
    expression: Expression = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_order(self.order)
        weights = _numbers(self.weights, "score.weights")
        ranges = _ranges(self.ranges, weights)
        terms = [Call("*", (Number(w), _scaled(n, ranges.get(n)))) for n, w in weights.items()]
        _settle(self, weights=weights, ranges=ranges, expression=Expression(_total(terms)))

    @property
    def running(self) -> tuple[str, ...]:
        """The columns that are normalised by the range seen so far."""
        return tuple(name for name in self.weights if self.ranges.get(name) == "running")


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
        point = _numbers(self.point, "score.point")
        squares = [Call("**", (_offset(name, at), Number(2.0))) for name, at in point.items()]
        _settle(self, point=point, expression=Expression(Call("sqrt", (_total(squares),))))


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
        _check_choice(self.combine, _COMBINE, "score.combine")
        point = _numbers(self.point, "score.point")
        weights = _numbers(self.weights, "score.weights")
        _check_distance_weights(point, weights)
        tree = _COMBINE[self.combine](point, weights)
        _settle(self, point=point, weights=weights, expression=Expression(tree))


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
    if isinstance(spec, Score) and not isinstance(spec, type):
        return spec
    if not isinstance(spec, Mapping):
        raise QueryError(
            f"{type(spec).__name__} is not a score",
            field="score",
            fix="give a formula, a Formula, WeightedSum, Euclidean or WeightedDistance",
        )
    kind = spec.get("kind")
    _check_choice(kind, _KINDS, "score.kind")
    score = _KINDS[str(kind)]
    settings = {name: value for name, value in spec.items() if name != "kind"}
    _check_settings(settings, score)
    made: Score = score(**settings)
    return made


_KINDS: Mapping[str, type[Any]] = {
    score.kind: score for score in (Formula, WeightedSum, Euclidean, WeightedDistance)
}


def _total(terms: Sequence[Node]) -> Node:
    """A sum as a balanced tree: any number of terms stays within the depth allowed."""
    if len(terms) == 1:
        return terms[0]
    # The larger half to the left, so that three terms read a + b + c.
    half = (len(terms) + 1) // 2
    return Call("+", (_total(terms[:half]), _total(terms[half:])))


def _scaled(name: str, declared: Range | Literal["running"] | None) -> Node:
    if declared is None or isinstance(declared, str):
        return Name(name)
    return Call("norm", (Name(name), Number(declared[0]), Number(declared[1])))


def _running_norm(values: FloatArray, name: str, ranges: RunningRanges) -> FloatArray:
    low, high = ranges.extend(name, values)
    with np.errstate(all="ignore"):
        above, span = values - low, high - low
        # Times zero rather than zero, so that NaN stays NaN.
        return np.where(span == 0, above * 0.0, above / span)


def _offset(name: str, at: float) -> Node:
    return Call("-", (Name(name), Number(at)))


def _weighted_terms(point: Mapping[str, float], weights: Mapping[str, float]) -> list[Node]:
    return [
        Call("*", (Number(weights[name]), Call("abs", (_offset(name, at),))))
        for name, at in point.items()
    ]


def _largest_term(point: Mapping[str, float], weights: Mapping[str, float]) -> Node:
    return Call("max", tuple(_weighted_terms(point, weights)))


def _sum_of_terms(point: Mapping[str, float], weights: Mapping[str, float]) -> Node:
    return _total(_weighted_terms(point, weights))


def _root_of_squares(point: Mapping[str, float], weights: Mapping[str, float]) -> Node:
    squares = [
        Call("*", (Number(weights[name]), Call("**", (_offset(name, at), Number(2.0)))))
        for name, at in point.items()
    ]
    return Call("sqrt", (_total(squares),))


_COMBINE: Mapping[str, Callable[[Mapping[str, float], Mapping[str, float]], Node]] = {
    "max": _largest_term,
    "sum": _sum_of_terms,
    "euclidean": _root_of_squares,
}


def _settle(score: object, **settings: object) -> None:
    for name, value in settings.items():
        object.__setattr__(score, name, value)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _check_order(order: object) -> None:
    _check_choice(order, ("largest", "smallest"), "score.order")


def _check_choice(value: object, choices: Iterable[str], field: str) -> None:
    names = list(choices)
    if isinstance(value, str) and value in names:
        return
    close = difflib.get_close_matches(value[:40], names, n=1) if isinstance(value, str) else []
    fix = f"did you mean {close[0]!r}?" if close else f"use one of: {', '.join(names)}"
    raise QueryError(f"{value!r} is unknown", field=field, fix=fix)


def _check_settings(settings: Mapping[str, object], score: type[Any]) -> None:
    known = [f for f in fields(score) if f.init]
    for name in settings:
        _check_choice(name, [f.name for f in known], f"score.{name}")
    for needed in known:
        if needed.default is MISSING and needed.name not in settings:
            raise QueryError(
                "is missing", field=f"score.{needed.name}", fix=f"{score.kind} needs it"
            )


def _number(value: Any, field: str) -> float:
    # True is an int to Python, and no weight to anybody.
    numeric = isinstance(value, int | float | np.integer | np.floating)
    if not numeric or isinstance(value, bool):
        raise QueryError(f"must be a number, not {value!r}", field=field, fix="write a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise QueryError(f"must be finite, not {number}", field=field, fix="write a finite number")
    return number


def _numbers(given: object, field: str) -> Constants[float]:
    if not isinstance(given, Mapping) or not given:
        raise QueryError(
            f"must name a number for one column or more, not {given!r}",
            field=field,
            fix='write {"column": 1.0}',
        )
    for name in given:
        if not isinstance(name, str) or not name:
            raise QueryError(f"{name!r} is no column", field=field, fix="use names of columns")
    return Constants({name: _number(value, f"{field}.{name}") for name, value in given.items()})


def _range(given: object, field: str) -> Range:
    low, high = _ends(given, field)
    if math.isinf(high - low):
        raise QueryError(f"{low:g} to {high:g} is too wide", field=field, fix="narrow the range")
    return low, high


def _ends(given: object, field: str) -> Range:
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise QueryError(
            f"must be (lo, hi) or 'running', not {given!r}", field=field, fix="write (0, 100)"
        )
    low, high = _number(given[0], field), _number(given[1], field)
    if low > high:
        raise QueryError(f"{low:g} is above {high:g}", field=field, fix="write the lower end first")
    return low, high


def _ranges(given: object, weights: Mapping[str, float]) -> Constants[Range | Literal["running"]]:
    if not isinstance(given, Mapping):
        raise QueryError(
            f"must map columns to ranges, not {given!r}",
            field="score.ranges",
            fix='write {"column": (0, 100)}',
        )
    for name in given:
        _check_choice(name, weights, "score.ranges")
    return Constants(
        {
            name: "running" if value == "running" else _range(value, f"score.ranges.{name}")
            for name, value in given.items()
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
    for name, weight in weights.items():
        if weight < 0:
            raise QueryError(
                f"must not be negative, not {weight:g}",
                field=f"score.weights.{name}",
                fix='use 0 to leave a column out, or order="largest" to prefer what is far',
            )
