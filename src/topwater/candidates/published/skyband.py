"""The k-skyband of a window: strict, relaxed and probabilistic.

An object dominates another if it ranks higher and leaves no sooner. The k-skyband is what fewer
than k objects dominate: nothing else can get into an answer any more.

Pripužić, Podnar Žarko and Aberer, "Time- and Space-Efficient Sliding Window Top-k Query
Processing", ACM TODS 40(1), 2015, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heapify, heapreplace

from topwater.candidates.invariants import require
from topwater.candidates.published.object_trees import Ages, Seen, Trees, by_rank
from topwater.errors import QueryError


class Relaxed(Trees):
    """RA's k-skyband: dominated objects stay until the candidates reach a limit.

    Only the top-k objects are in the time tree: an object of the k-skyband that is about to leave
    the window is one of them. What left as a candidate was dominated, and is dropped when it is
    next met.

    Parameters
    ----------
    k
        How many objects an answer has.
    gamma
        By what part the candidates may outgrow the k-skyband before they are pruned.
    first_limit
        The limit at the start; 4 k if left out.

    Notes
    -----
    ``add`` costs O(log m) for m candidates; pruning O(m log k), once in gamma m arrivals.

    Examples
    --------
    >>> band = Relaxed(1, gamma=0.5)
    >>> for stamp, score in enumerate([5.0, 7.0, 6.0, 1.0], 1):
    ...     band.add(Seen(score, stamp, stamp))
    ...     _ = band.fill_top()
    >>> [each.key for each in band.top()], [each.key for each in band.candidates()]
    ([2], [3, 1, 4])
    """

    discards = False
    """Are objects dropped that may be needed again?"""

    def __init__(self, k: int, gamma: float = 0.2, first_limit: int | None = None) -> None:
        super().__init__(k)
        if not 0 <= gamma < math.inf:
            raise QueryError(
                f"must not be negative, it is {gamma}", field="gamma", fix="leave it at 0.2"
            )
        self.gamma = gamma
        self.limit = 4 * k if first_limit is None else first_limit
        self._ages = Ages()

    def check(self) -> None:
        """Verify the trees, the time tree and the limit."""
        super().check()
        require({*self._ages} == {*self._top}, "the time tree is not the top-k")
        require(len(self._candidates) < self.limit, "the candidates were not pruned")

    def _drop(self) -> None:
        for left in self._ages.pop_until(self.until):
            self._top.remove(left)

    def _tidy(self) -> None:
        if len(self._candidates) >= self.limit:
            self._prune()
            self.limit = self._next_limit()

    def _next_limit(self) -> int:
        size = len(self._candidates)
        return max(size + 1, math.ceil((1 + self.gamma) * size))

    def _prune(self) -> None:
        """Walk from best to worst with the k youngest stamps so far: what is not younger goes."""
        dominators = [each.stamp for each in self._top]
        heapify(dominators)
        stay = []
        for each in self._candidates:
            if each.stamp > dominators[0]:
                heapreplace(dominators, each.stamp)
                stay.append(each)
        if len(stay) < len(self._candidates):
            self._candidates = by_rank(stay)

    def _enter(self, seen: Seen) -> None:
        super()._enter(seen)
        self._ages.add(seen)

    def _leave(self) -> Seen:
        seen = super()._leave()
        self._ages.remove(seen)
        return seen


class Strict(Relaxed):
    """SA's k-skyband: pruned at each arrival, so that nothing dominated is ever kept.

    ``add`` costs O(m log k) for m candidates.
    """

    def __init__(self, k: int) -> None:
        super().__init__(k, gamma=0, first_limit=1)

    def check(self) -> None:
        """Verify that nothing is dominated by k others."""
        require({*self._ages} == {*self._top}, "the time tree is not the top-k")
        Trees.check(self)
        before = len(self._candidates)
        if before:
            self._prune()
        require(len(self._candidates) == before, "a dominated object is kept")

    def _next_limit(self) -> int:
        return 1


class Probabilistic(Trees):
    """PA's k-skyband: as many candidates as a stream in random order is likely to need.

    Approximate: what is rejected on arrival, or crowded out, may be missed later. If scores fall
    as time goes on, almost all answers are wrong. As a filter it may be any subset, and there it
    costs no exactness.

    Parameters
    ----------
    k
        How many objects an answer has.
    limit
        How many candidates to keep: :func:`topwater.candidates.published.criterion.limit`.
    additional
        How many more there may be before the threshold is set.
    resets
        After objects left: does the threshold fall away when candidates run short, and sink by
        half a gap of scores else (PA); or sink by a whole gap each time (the filter)?
    rejected
        Told of each object of the window that is not kept, or no longer.

    Notes
    -----
    A rejected object costs one comparison, another O(log m) for m = k + limit + additional.
    What leaves costs O(log m) too.
    """

    def __init__(
        self,
        k: int,
        limit: int,
        additional: int = 10,
        *,
        resets: bool = True,
        rejected: Callable[[Seen], None] | None = None,
    ) -> None:
        super().__init__(k)
        self.limit = limit
        self.additional = additional
        self.threshold = -math.inf
        self._resets = resets
        self._rejected = rejected or (lambda _: None)
        self._ages = Ages()

    def add(self, seen: Seen) -> None:
        """Take an arrival, unless it scores below the threshold."""
        if seen.stamp <= self.until:
            return
        if seen.score < self.threshold:
            self._rejected(seen)
            return
        super().add(seen)
        self._ages.add(seen)

    def allow(self, limit: int) -> None:
        """Keep more candidates from now on."""
        if limit > self.limit:
            self.limit = limit
            self.threshold = -math.inf

    def check(self) -> None:
        """Verify the trees, the time tree, the number of candidates and the threshold."""
        super().check()
        require({*self._ages} == {*self.kept()}, "the time tree is not what is kept")
        require(len(self._ages) == len(self), "an object that left is kept")
        require(len(self._candidates) <= self.limit + self.additional, "too many candidates")
        if self.threshold == -math.inf:
            full = self.limit + self.additional
            require(len(self._candidates) < full, "full, and without a threshold")

    def _drop(self) -> None:
        for left in self._ages.pop_until(self.until):
            tree = self._top if self._top and self._in_top(left) else self._candidates
            tree.remove(left)
            self._lower_threshold()

    def _in_top(self, seen: Seen) -> bool:
        return bool(seen.rank <= self._top[-1].rank)

    def _lower_threshold(self) -> None:
        # The top-k is not filled yet; what will fill it no longer counts as a candidate.
        left = len(self._candidates) - (self.k - len(self._top))
        if left < (self.limit if self._resets else 2):
            self.threshold = -math.inf
        elif len(self._candidates) > 1:
            gap = self._candidates[-2].score - self._candidates[-1].score
            self.threshold -= gap / 2 if self._resets else gap

    def _tidy(self) -> None:
        full = self.limit + self.additional
        while len(self._candidates) > full:
            crowded = self._candidates.pop()
            self._ages.remove(crowded)
            self._rejected(crowded)
        if len(self._candidates) == full:
            self.threshold = self._candidates[-1].score
