"""How columns become one score per row, in the user's terms or in the lists' terms.

Every score is an :class:`~topwater.scoring.expressions.Expression` with an order, so values,
bounds and slopes come from one place. Lists rank larger scores higher; a score whose smallest
values win is negated for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from topwater.errors import QueryError
from topwater.model import FloatArray
from topwater.scoring.expressions import (
    Bound,
    Expression,
    Name,
    column_of,
    row_count,
)
from topwater.scoring.ranges import RunningRanges
from topwater.validation import (
    Range,
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


class FoldedScore:
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
        scores = np.empty(row_count(columns))
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


def _running_norm(values: FloatArray, name: str, ranges: RunningRanges) -> FloatArray:
    low, high = ranges.extend(name, values)
    with np.errstate(all="ignore"):
        above, span = values - low, high - low
        # Times zero rather than zero, so that NaN stays NaN.
        return np.where(span == 0, above * 0.0, above / span)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    return list(value) if isinstance(value, tuple) else value
