"""A k-skyband behind a buffer: an object that would soon be dominated does not get in at all.

Böhm, Ooi, Plant and Yan's idea (ICDE 2007), extended by Pripužić, Podnar Žarko and Aberer, ACM
TODS 40(1), 2015, section 5, to any filter: strict, relaxed or probabilistic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from topwater.candidates.invariants import require
from topwater.candidates.published.object_trees import Ages, Seen, Trees
from topwater.errors import QueryError


def largest_buffer(width: int) -> int:
    """The most stamps that a buffer may have for windows of ``width`` stamps.

    Examples
    --------
    >>> largest_buffer(6), largest_buffer(7), largest_buffer(1)
    (3, 4, 1)
    """
    return (width + 1) // 2


class Filtered:
    """A k-skyband over the window, with a filter over its most recent stamps.

    An object gets into the k-skyband when it arrives, unless k objects of the filter beat it: they
    stay in the window for as long as it is in the buffer. Else it has a second chance when it
    leaves the buffer, unless k objects of the filter beat it then: they are younger. Objects that
    the filter itself rejected wait in the buffer like the others, so any filter is exact.

    Parameters
    ----------
    skyband
        Exact: strict or relaxed.
    filter
        Over the buffer: strict, relaxed or probabilistic.
    width
        How many stamps a window has.
    buffer
        How many stamps the buffer has; at most (width + 1) / 2, the default.

    Examples
    --------
    >>> from topwater.candidates.published.skyband import Probabilistic, Relaxed
    >>> rapf = Filtered(Relaxed(3), Probabilistic(3, limit=20, additional=0), width=100)
    >>> rapf.buffer
    50
    >>> Filtered(Relaxed(3), Relaxed(3), width=6, buffer=4)
    Traceback (most recent call last):
    ...
    topwater.errors.QueryError: buffer: 4 is too large for a window of 6: answers would be wrong
      fix: use at most 3, or leave it out
    """

    def __init__(
        self,
        skyband: Trees,
        filter: Trees,  # noqa: A002  the word of the field
        width: int,
        buffer: int | None = None,
    ) -> None:
        most = largest_buffer(width)
        self.k = skyband.k
        self.width = width
        self.buffer = most if buffer is None else buffer
        if self.buffer > most:
            raise QueryError(
                f"{buffer} is too large for a window of {width}: answers would be wrong",
                field="buffer",
                fix=f"use at most {most}, or leave it out",
            )
        if self.buffer < 1:
            raise QueryError(
                f"must be at least 1, not {buffer}",
                field="buffer",
                fix=f"use 1 to {most}, or leave it out",
            )
        if filter.k != self.k:
            raise QueryError(
                f"the filter's is {filter.k}, and the k-skyband's {self.k}",
                field="k",
                fix="use one k for both",
            )
        self.skyband = skyband
        self.filter = filter
        self._recent = Ages()
        self._waiting: set[Seen] = set()

    def expire(self, until: int) -> None:
        """Drop all stamps up to ``until``; what leaves the buffer has its second chance."""
        self.skyband.expire(until)
        # The newest window with such stamps gone ends ``width`` later.
        leaves = until + self.width - self.buffer
        self.filter.expire(leaves)
        self.filter.fill_top()
        for left in self._recent.pop_until(leaves):
            if left in self._waiting:
                self._waiting.remove(left)
                self._attempt(left)

    def add(self, seen: Seen) -> None:
        """Take an arrival."""
        if seen.stamp <= self.filter.until:
            # It is older than the buffer: this is its only chance, and it needs no other.
            self._attempt(seen)
            return
        self.filter.add(seen)
        self.filter.fill_top()
        self._recent.add(seen)
        if not self._attempt(seen):
            self._waiting.add(seen)

    def fill_top(self) -> list[Seen]:
        """Fill the k-skyband's top-k, and tell what entered it."""
        return self.skyband.fill_top()

    @property
    def threshold(self) -> float:
        """The k-th score of the filter: what scores less need not be offered on arrival."""
        top = self.filter.top()
        return top[-1].score if len(top) == self.k else -math.inf

    def top(self) -> list[Seen]:
        """The top-k, best first."""
        return self.skyband.top()

    def recent(self) -> list[Seen]:
        """What is in the buffer, oldest first."""
        return list(self._recent)

    def kept(self) -> Iterator[Seen]:
        """The k-skyband, and the objects that wait for their second chance."""
        yield from self.skyband.kept()
        yield from self._waiting

    def check(self) -> None:
        """Verify both skybands, and the buffer."""
        self.skyband.check()
        self.filter.check()
        recent = {*self._recent}
        require(recent >= {*self.filter.kept()}, "the filter has more than the buffer")
        require(recent >= self._waiting, "an object waits outside of the buffer")
        require(all(each.stamp > self.filter.until for each in recent), "one should have left")
        require(not self._waiting & {*self.skyband.kept()}, "an object is here twice")

    def _attempt(self, seen: Seen) -> bool:
        inside = self.filter.beats_all_but_k(seen)
        if inside:
            self.skyband.add(seen)
        return inside
