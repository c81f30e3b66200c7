"""The ranges of columns, as they have been seen so far."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from topwater.errors import StateError
from topwater.model import FloatArray
from topwater.validation import Range, ends_of


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
                ranges.seen[name] = ends_of((low, high), f"ranges.{name}")
        except (AttributeError, TypeError, ValueError) as error:
            raise StateError(
                f"the running ranges can't be read: {error}", fix="start without this snapshot"
            ) from error
        return ranges
