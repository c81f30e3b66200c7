"""PA while scores come in random order, an exact structure while they do not: ``auto``.

PA's authors leave such a hybrid to future work. The rule, for one query with windows of n stamps:

1.  The stamps are cut into blocks of n/64, rounded up. All objects of the window are at hand.
2.  While PA works, the best object it rejected or crowded out is known per block: one comparison
    for each such object.
3.  After each step: if such a one is in the window and beats the k-th of PA's answer, or PA has
    fewer than k, then PA would be wrong. The exact structure is built from the window's objects
    and answers instead. So no answer is wrong. When the best of a block has left the window, its
    next is looked up before it is compared: only the oldest block ever needs that.
4.  Two samples of 64 scores: the last 64, and the first of each of the last 64 blocks, which span
    the window. When a block begins, each sample of 16 or more is tested. An alarm is given if
    neighbours in one of them cling together, or if the second falls, each by 4 standard
    deviations. If the order is random that is so in fewer than 1 of 40,000 tests, or in 1 of 200
    windows, as a window has 64 blocks with three tests each.
5.  At an alarm the exact structure takes over, as in 3. It costs time only, and spares PA's error.
6.  After n stamps without an alarm or an error, PA starts anew: with the best k + limit +
    additional objects of the window, and all the others as rejected.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from operator import attrgetter

from topwater.candidates.invariants import require
from topwater.candidates.published.correlation import clinging, drift
from topwater.candidates.published.criterion import limit
from topwater.candidates.published.object_trees import Ages, Seen, Structure
from topwater.candidates.published.skyband import Probabilistic

BLOCKS = 64
"""Per window; also the scores in a sample."""

LEAST = 16
"""Scores that a sample must have before it is tested."""

ALARM = 4.0
"""Standard deviations."""

_RANK = attrgetter("rank")


class Hybrid:
    """Answers by PA or by an exact structure, and is never wrong.

    Parameters
    ----------
    k
        How many objects an answer has.
    width
        How many stamps a window has.
    exact
        Makes an empty exact structure for such windows.
    objects
        How many objects to expect in a window; if there are more, that is taken into account.
    sigma, additional
        PA's error, had it not been watched, and its additional candidates.

    Attributes
    ----------
    switches
        How often one took over from the other.
    repairs
        How often PA would have been wrong.
    """

    def __init__(
        self,
        k: int,
        width: int,
        exact: Callable[[], Structure],
        *,
        objects: int,
        sigma: float = 1e-3,
        additional: int = 10,
    ) -> None:
        self.k = k
        self.width = width
        self.switches = self.repairs = 0
        self._make = exact
        self._objects, self._sigma, self._additional = objects, sigma, additional
        self._until: float = -math.inf
        self._window = Ages()
        self._length = -(-width // BLOCKS)
        self._block: float = -math.inf
        self._alarmed: float = -math.inf
        self._last: deque[float] = deque(maxlen=BLOCKS)
        self._spread: deque[float] = deque(maxlen=BLOCKS)
        self._rejected: dict[int, list[Seen]] = {}
        self._best: dict[int, Seen] = {}
        self._pa: Probabilistic | None = self._new_pa()
        self._inner: Structure = self._pa
        self._rebuilt = False

    @property
    def approximates(self) -> bool:
        """Does PA work?"""
        return self._pa is not None

    def expire(self, until: int) -> None:
        """Drop all stamps up to ``until``."""
        if until > self._until:
            self._until = until
            self._window.pop_until(until)
            self._inner.expire(until)
            for block in [each for each in self._best if (each + 1) * self._length <= until + 1]:
                del self._best[block], self._rejected[block]

    def add(self, seen: Seen) -> None:
        """Take an arrival, and look at the samples if a block begins with it."""
        if seen.stamp <= self._until:
            return
        self._window.add(seen)
        self._inner.add(seen)
        self._last.append(seen.score)
        if seen.stamp // self._length > self._block:
            self._block = seen.stamp // self._length
            self._spread.append(seen.score)
            self._decide(seen.stamp)

    def fill_top(self) -> list[Seen]:
        """Fill the top-k, repair it if PA would be wrong, and tell what entered it."""
        entered = self._inner.fill_top()
        if self._pa is not None and self._misses(self._pa):
            self.repairs += 1
            self._alarmed = self._block * self._length
            self._to_exact()
        if self._rebuilt:
            self._rebuilt = False
            return self._inner.top()
        return entered

    def top(self) -> list[Seen]:
        """The top-k, best first."""
        return self._inner.top()

    def kept(self) -> Iterator[Seen]:
        """All objects of the window."""
        return iter(self._window)

    def check(self) -> None:
        """Verify the structure that answers, and its answer against the window."""
        self._inner.check()
        require(self.top() == sorted(self._window, key=_RANK)[: self.k], "not the best")
        if self._pa is not None:
            held = {*self._pa.kept()}
            rejected = {each for block in self._rejected.values() for each in block}
            require(not held & rejected, "an object is held and rejected")
            require({*self._window} <= held | rejected, "an object is neither held nor rejected")
            for block, best in self._best.items():
                alive = [e for e in self._rejected[block] if e.stamp > self._until]
                require(all(best.rank <= e.rank for e in alive), "not the best of its block")

    def _decide(self, stamp: int) -> None:
        if len(self._window) > self._objects:
            self._objects = 2 * len(self._window)
            if self._pa is not None:
                self._pa.allow(self._limit())
        if self._alarm():
            self._alarmed = stamp
        if stamp - self._alarmed < self.width:
            if self._pa is not None:
                self._to_exact()
        elif self._pa is None:
            self._to_pa()

    def _alarm(self) -> bool:
        samples = [each for each in (self._last, self._spread) if len(each) >= LEAST]
        if any(clinging(each) > ALARM for each in samples):
            return True
        return len(self._spread) >= LEAST and drift(self._spread) < -ALARM

    def _misses(self, pa: Probabilistic) -> bool:
        """Does an object of the window that was rejected belong in the answer?"""
        for block in list(self._best):
            if self._alive(block) and pa.beats_all_but_k(self._best[block]):
                return True
        return False

    def _alive(self, block: int) -> bool:
        """Make sure that the best of a block is still in the window."""
        if self._best[block].stamp <= self._until:
            alive = [each for each in self._rejected[block] if each.stamp > self._until]
            if not alive:
                del self._best[block], self._rejected[block]
                return False
            self._rejected[block], self._best[block] = alive, min(alive, key=_RANK)
        return True

    def _reject(self, seen: Seen) -> None:
        block = seen.stamp // self._length
        self._rejected.setdefault(block, []).append(seen)
        if block not in self._best or seen.rank < self._best[block].rank:
            self._best[block] = seen

    def _limit(self) -> int:
        return limit(self.k, self._objects, self._sigma)

    def _new_pa(self) -> Probabilistic:
        return Probabilistic(self.k, self._limit(), self._additional, rejected=self._reject)

    def _to_pa(self) -> None:
        self._pa = self._new_pa()
        most = self.k + self._pa.limit + self._additional
        ranked = sorted(self._window, key=_RANK)
        for each in ranked[:most]:
            self._pa.add(each)
            self._pa.fill_top()
        for each in ranked[most:]:
            self._reject(each)
        self._take_over(self._pa)

    def _to_exact(self) -> None:
        self._pa = None
        self._rejected.clear()
        self._best.clear()
        exact = self._make()
        for each in self._window:
            exact.expire(each.stamp - self.width)
            exact.add(each)
            exact.fill_top()
        self._take_over(exact)

    def _take_over(self, structure: Structure) -> None:
        if self._until > -math.inf:
            structure.expire(int(self._until))
            structure.fill_top()
        self._inner = structure
        self._rebuilt = True
        self.switches += 1
