"""What a query keeps, and by what it is filtered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from topwater.errors import QueryError

Rule = Literal["strict", "relaxed", "probabilistic"]


@dataclass(frozen=True, slots=True)
class Composition:
    """What a query keeps, and by what it is filtered.

    Parameters
    ----------
    band, filter
        When the query, and its filter if it has one, forget.
    buffer
        For how many stamps an object is recent; the longest exact time if None.
    sigma, additional
        The error of a probabilistic band, and how many more candidates it keeps than it must.
    gamma
        By which share of its candidates a relaxed one may grow before it is pruned.
    watched
        The band is probabilistic as long as that is exact; else relaxed, behind the filter.
    """

    band: Rule
    filter: Rule | None = None
    buffer: int | None = None
    sigma: float = 1e-3
    additional: int = 10
    gamma: float = 0.2
    watched: bool = False

    def recent(self, width: int) -> int:
        """For how many stamps an object is recent, with windows of this width."""
        if self.filter is None:
            return 0
        most = (width + 1) // 2
        if self.buffer is not None and self.buffer > most:
            raise QueryError(
                f"{self.buffer} is too large to be exact with windows of {width}",
                field="buffer",
                fix=f"use at most {most}, half of the window, or leave it out",
            )
        return most if self.buffer is None else self.buffer
