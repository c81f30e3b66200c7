"""PA over windows of time: how many objects a window has is seen only while the stream runs."""

from __future__ import annotations

from topwater.candidates.published.criterion import limit
from topwater.candidates.published.object_trees import Seen
from topwater.candidates.published.skyband import Probabilistic

GUESS = 10_000
"""Objects in a window of time, before any was seen."""

_BLOCKS = 64
"""Per window: objects are counted by block of stamps, and a block leaves as a whole."""


class Estimated(Probabilistic):
    """PA with a limit that grows when the window turns out to have more objects than thought.

    It starts with 10,000 and is set to twice the number seen whenever there are more. The estimate
    never falls: the limit grows with the logarithm only, so that too many objects are cheap.

    Parameters
    ----------
    k
        How many objects an answer has.
    width
        How many stamps a window has.
    sigma, additional
        The error allowed, and PA's additional candidates.

    Examples
    --------
    >>> pa = Estimated(2, width=1_000)
    >>> for number in range(10_001):
    ...     pa.add(Seen(0.0, number, stamp=number // 100))
    ...     _ = pa.fill_top()
    >>> pa.objects, pa.limit == limit(2, 20_002)
    (20002, True)
    """

    def __init__(self, k: int, width: int, sigma: float = 1e-3, additional: int = 10) -> None:
        super().__init__(k, limit(k, GUESS, sigma), additional)
        self.objects = GUESS
        self._sigma = sigma
        self._length = -(-width // _BLOCKS)
        self._counts: dict[int, int] = {}

    def add(self, seen: Seen) -> None:
        """Count an arrival, and take it if it is good enough."""
        if seen.stamp > self.until:
            block = seen.stamp // self._length
            self._counts[block] = self._counts.get(block, 0) + 1
            seen_now = sum(self._counts.values())
            if seen_now > self.objects:
                self.objects = 2 * seen_now
                self.allow(limit(self.k, self.objects, self._sigma))
        super().add(seen)

    def _drop(self) -> None:
        first = (self.until + 1) // self._length
        self._counts = {block: n for block, n in self._counts.items() if block >= first}
        super()._drop()
