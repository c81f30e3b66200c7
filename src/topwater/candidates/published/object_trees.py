"""One object at a time: what the published structures for top-k/w queries have in common.

An object has a *stamp*, a whole number: its position, its time or its pane. The window is what has
a stamp above ``until``; a stamp that leaves takes its objects along. At each step a structure drops
what left (``expire``), takes the arrival (``add``), and fills its top-k (``fill_top``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import count
from operator import attrgetter
from typing import Any, Protocol

from sortedcontainers import SortedKeyList

from topwater.candidates.invariants import require

_serials = count()


class Seen:
    """An object: its rank (smaller is better), its stamp, and whether it was ever a top-k object.

    Examples
    --------
    >>> better, worse = Seen(2.0, "a", stamp=1), Seen(1.0, "b", stamp=2)
    >>> better.rank < worse.rank, better.age < worse.age
    (True, True)
    """

    __slots__ = ("age", "rank", "reported", "stamp")

    def __init__(self, score: float, key: Any, stamp: int, time: int | None = None) -> None:
        serial = next(_serials)
        self.rank = (-score, -(stamp if time is None else time), key, serial)
        self.age = (stamp, serial)
        self.stamp = stamp
        self.reported = False

    @property
    def score(self) -> float:
        """Larger is better."""
        return -self.rank[0]

    @property
    def time(self) -> int:
        """Of two equal scores the younger is better."""
        return -self.rank[1]

    @property
    def key(self) -> Any:
        """Whose object it is."""
        return self.rank[2]

    def __repr__(self) -> str:
        return f"Seen({self.score}, {self.key!r}, stamp={self.stamp})"


class Structure(Protocol):
    """What answers one query while objects come and go.

    After ``fill_top``, ``top`` is the k best of what the structure knows of the window. It is exact
    unless the structure says otherwise.
    """

    @property
    def k(self) -> int:
        """How many objects an answer has."""

    def expire(self, until: int) -> None:
        """Drop all stamps up to ``until``, and take none of them any more."""

    def add(self, seen: Seen) -> None:
        """Take an arrival; it may be older than others."""

    def fill_top(self) -> list[Seen]:
        """Fill the top-k, and tell what entered it since it was last filled."""

    def top(self) -> list[Seen]:
        """The top-k, best first."""

    def kept(self) -> Iterable[Seen]:
        """All objects of the window that are held, in any order."""

    def check(self) -> None:
        """Verify the structure's own invariants; it must be settled."""


class Ages:
    """The time tree: objects by stamp, so that those which left are found at once."""

    def __init__(self) -> None:
        self._tree = SortedKeyList(key=attrgetter("age"))

    def add(self, seen: Seen) -> None:
        """O(log n)."""
        self._tree.add(seen)

    def remove(self, seen: Seen) -> None:
        """O(log n)."""
        self._tree.remove(seen)

    def pop_until(self, until: float) -> list[Seen]:
        """Take out all that have stamps up to ``until``, oldest first."""
        left = []
        while self._tree and self._tree[0].stamp <= until:
            left.append(self._tree.pop(0))
        return left

    def __iter__(self) -> Iterator[Seen]:
        return iter(self._tree)

    def __len__(self) -> int:
        return len(self._tree)


def by_rank(objects: Iterable[Seen] = ()) -> Any:
    """A tree of objects, best first."""
    return SortedKeyList(objects, key=attrgetter("rank"))


class Trees:
    """A top-k tree and a candidate tree, both best first: the base of all k-skybands.

    The top-k is filled after the arrival is in, not before as in the paper's pseudo-code, which
    reports an object that was never among the k best when the arrival takes its place at once.
    """

    def __init__(self, k: int) -> None:
        self.k = k
        self.until: float = -math.inf
        self._top = by_rank()
        self._candidates = by_rank()
        self._entered: list[Seen] = []

    def expire(self, until: int) -> None:
        """Drop all stamps up to ``until``."""
        if until > self.until:
            self.until = until
            self._drop()

    def add(self, seen: Seen) -> None:
        """Take an arrival."""
        if seen.stamp <= self.until:
            return
        if len(self._top) == self.k and seen.rank < self._top[-1].rank:
            self._enter(seen)
            self._candidates.add(self._leave())
        else:
            self._candidates.add(seen)

    def fill_top(self) -> list[Seen]:
        """Fill the top-k from the candidates, and tell what entered it."""
        while len(self._top) < self.k and self._candidates:
            head = self._candidates.pop(0)
            if head.stamp > self.until:
                self._enter(head)
        self._tidy()
        entered, self._entered = self._entered, []
        return [each for each in entered if self.beats_all_but_k(each)]

    def beats_all_but_k(self, seen: Seen) -> bool:
        """Is it among the k best, or would it be? O(1)."""
        return len(self._top) < self.k or seen.rank <= self._top[-1].rank

    def top(self) -> list[Seen]:
        """The top-k, best first."""
        return list(self._top)

    def candidates(self) -> list[Seen]:
        """The other objects held, best first."""
        return list(self._candidates)

    def kept(self) -> Iterator[Seen]:
        """All objects held that are in the window, best first."""
        yield from self._top
        yield from (each for each in self._candidates if each.stamp > self.until)

    def __len__(self) -> int:
        return len(self._top) + len(self._candidates)

    def check(self) -> None:
        """Verify that the top-k tree is full, in the window, and above all candidates."""
        require(len(self._top) <= self.k, "the top-k has too many")
        require(all(each.stamp > self.until for each in self._top), "a top-k object has left")
        require(len(self._top) == self.k or not self._candidates, "the top-k is not filled")
        if self._candidates:
            require(self._top[-1].rank < self._candidates[0].rank, "a candidate is better")

    def _drop(self) -> None:
        """Remove what left the window, as far as that must be known."""
        raise NotImplementedError

    def _tidy(self) -> None:
        """Keep the candidates few; the top-k is filled."""
        raise NotImplementedError

    def _enter(self, seen: Seen) -> None:
        self._top.add(seen)
        self._entered.append(seen)

    def _leave(self) -> Seen:
        seen: Seen = self._top.pop()
        return seen


class ResultStream:
    """The result stream of one query: each object once, when it is first among the k best.

    Parameters
    ----------
    structure
        What answers the query.
    width
        How many stamps a window has: at stamp t it is (t - width, t].

    Examples
    --------
    >>> from topwater.candidates.published.skyband import Relaxed
    >>> results = ResultStream(Relaxed(1), width=2)
    >>> [results.add(score, stamp) for stamp, score in enumerate([5.0, 3.0, 1.0, 4.0], 1)]
    [[Seen(5.0, 1, stamp=1)], [], [Seen(3.0, 2, stamp=2)], [Seen(4.0, 4, stamp=4)]]
    """

    def __init__(self, structure: Structure, width: int) -> None:
        self.structure = structure
        self.width = width

    def add(self, score: float, stamp: int, key: Any = None) -> list[Seen]:
        """One step: the window moves to ``stamp``, the object arrives; best first."""
        self.structure.expire(stamp - self.width)
        self.structure.add(Seen(score, stamp if key is None else key, stamp))
        fresh = [each for each in self.structure.fill_top() if not each.reported]
        for each in fresh:
            each.reported = True
        return sorted(fresh, key=attrgetter("rank"))
