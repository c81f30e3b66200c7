"""MinTopk+ and Topk+N, as published: one list with marks, in which scores may change."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from topwater.candidates.invariants import require
from topwater.candidates.objects import (
    UNSEEN,
    Candidates,
    Certainty,
    Memory,
    Traces,
    certainty,
    in_turn,
    sure,
)
from topwater.candidates.published.mintopk import SuperTopK
from topwater.candidates.rank_tuples import Rank, ranks
from topwater.candidates.rescoring import changed
from topwater.model import Items

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from topwater.candidates.published.mintopk import _Candidate
    from topwater.candidates.rescorable import Score
    from topwater.model import Arrivals, FloatArray, IntArray, KeyArray
    from topwater.windows import Windows


class _Marks(SuperTopK):
    """MinTopk's list, from which candidates can be taken out by key."""

    def __init__(self, windows: Windows, size: int) -> None:
        super().__init__(windows, size)
        self.at: dict[Any, _Candidate] = {}
        self.evicted: list[Any] = []

    def put(self, rank: Rank, end: int) -> bool:
        """Insert an object that lives until window ``end``; tell if it is a candidate."""
        self._insert(rank, end)
        return rank[2] in self.at

    def remove(self, key: Any) -> None:
        """Take a candidate out; the best that waits for each of its windows moves in.  O(m).

        From the newest window to the oldest: the one that moves in then always has its start in
        the window after, and all careers stay in one piece.
        """
        leaving = self.at[key]
        for window in range(leaving.end, leaving.start - 1, -1):
            self._free(window)
        self._unlink(leaving)
        self.evicted.clear()

    def _free(self, window: int) -> None:
        heir = self._heir(window)
        if heir is not None:
            heir.start = window
            self._lowest[window] = heir
            return
        self._lowest.pop(window, None)
        self._members[window] -= 1
        if not self._members[window]:
            del self._members[window]

    def _heir(self, window: int) -> _Candidate | None:
        """The best that lives in a full window and is not a member of it."""
        lowest = self._lowest.get(window)
        if lowest is None:
            return None
        heir = lowest.below
        while heir is not self._ring and heir.end < window:
            heir = heir.below
        return None if heir is self._ring else heir

    def _link(self, candidate: _Candidate) -> None:
        super()._link(candidate)
        self.at[candidate.rank[2]] = candidate

    def _unlink(self, candidate: _Candidate) -> None:
        super()._unlink(candidate)
        del self.at[candidate.rank[2]]
        self.evicted.append(candidate.rank[2])


@dataclass(slots=True)
class _Fact:
    """What is known of one object."""

    rank: Rank
    end: int
    stream: Any
    most: float
    stream_most: Any
    vague: bool


class SuperTopKN:
    """k + spare candidates of each window in one list with marks: Topk+N, the Super-MTK+N list.

    The first k members of a window are its K-list, its answer; the others its N-list, which
    steps in when a change lowers one of the first. Without spare it is MinTopk+.

    Takes only panes of the current window; ``Queued`` lifts that restriction.

    Parameters
    ----------
    windows
        The windows that slide over the stream.
    k
        How many objects an answer has.
    spare
        How many more members each window has.

    Notes
    -----
    With s = k + spare, m candidates and n windows that overlap: an arrival costs O(log m), and
    O(1) for each window that it enters; one that replaces a candidate, and each change, O(m n);
    ``expire`` O(s log m) for each window, ``top`` O(k) for the current window and O(m) for a
    later one, ``exact`` O(m). m is at most s n.

    A change of a kept object leaves the answer exact as long as the k-th member of the window
    ranks above every forgotten object. So ``spare`` objects may fall out of a window before it
    loses its certainty, and it regains it when arrivals fill the places. A change of a forgotten
    object leaves the answer exact if even the upper bound of its score is below the k-th.

    Zahmatkesh and Della Valle, on AcquaTop. We differ where the pseudo-code can't be meant:
    counting, discarding and purging go by K + N; a pointer moves up whenever its object leaves
    the window, not only when it leaves the list; a place that is freed is filled before the
    changed object is inserted again; the least stream part is that of all live objects, not of
    those since the last purge. And an arrival that replaces its key's object may lower it too:
    without spare the answer is then not exact, although nothing changed remotely.

    Examples
    --------
    >>> from topwater.windows import sliding
    >>> pair = sliding(width=4, step=2)
    >>> lst = SuperTopKN(pair, k=1, spare=1)
    >>> lst.add(pair.group(Items(np.array([9.0, 5.0]), np.array([1, 3]), np.array([7, 8]))))
    >>> lst.rescore(np.array([7]), lambda stream, which: np.array([4.0]))
    >>> lst.top(0).key.tolist(), lst.exact(0), lst.marks()
    ([8], True, [(8, 0, 1), (7, 0, 0)])
    """

    def __init__(self, windows: Windows, k: int, spare: int = 0) -> None:
        self.windows = windows
        self.k = k
        self.spare = spare
        self._current = 0
        self._marks = _Marks(windows, k + spare)
        self._facts: dict[Any, _Fact] = {}
        self._traces = Traces.none()
        self._forgotten_at = UNSEEN
        self._blank = sure(Items.empty())

    def add(self, arrivals: Arrivals) -> None:
        """Bring new objects of panes in the current window, one by one in order of time."""
        if not len(arrivals):
            return
        self._traces = self._traces.merge(Traces.seen(arrivals))
        arrived = in_turn(arrivals)
        self._blank = arrived.take(slice(0))
        self._forget([lost for fact in self._facts_of(arrived) for lost in self._arrive(fact)])

    def rescore(self, keys: KeyArray, score: Score, times: IntArray | None = None) -> None:
        """Remote values changed: take the objects out, and insert them again."""
        kept = self._columns(self._facts[key] for key in keys.tolist() if key in self._facts)
        again, self._traces = changed(
            kept, keys, score, times, self._traces, self.windows, self._current
        )
        for key in kept.key.tolist():
            self._marks.remove(key)
            del self._facts[key]
        self._forget([lost for fact in self._facts_of(again) for lost in self._put(fact)])

    def top(self, window: int) -> Candidates:
        """The K-list of a window, best first.  O(k), or O(m) for a later window."""
        members = self._members(window)
        return self._columns(self._facts[key] for key in islice(members, self.k))

    def exact(self, window: int) -> bool:
        """Are ranking and scores of ``top(window)`` certain?  O(m)."""
        return self._certainty(window) == "ranking"

    def exact_set(self, window: int) -> bool:
        """Is it certain which objects are in ``top(window)``?  O(m)."""
        return self._certainty(window) != "nothing"

    def expire(self, window: int) -> None:
        """Purge all windows up to ``window``.  O(s log m) for each that has candidates."""
        if window < self._current:
            return
        self._marks.expire(window)
        for key in self._marks.evicted:
            del self._facts[key]
        self._marks.evicted.clear()
        self._current = window + 1
        self._traces = self._traces.since(self.windows.panes_in(self._current)[0])

    def __iter__(self) -> Iterator[tuple[float, int, object]]:
        return iter(self._marks)

    def __len__(self) -> int:
        return len(self._marks)

    def marks(self) -> list[tuple[Any, int, int]]:
        """(key, start, end) of every candidate, best first."""
        return self._marks.marks()

    def lower_bounds(self) -> dict[int, Any]:
        """The key of the lowest member of each window that has k + spare members."""
        return self._marks.lower_bounds()

    def known(self, window: int) -> Candidates:
        """All candidates that live in a window, members or not, best first.  O(m)."""
        alive = (key for key, _, end in self.marks() if end >= window)
        return self._columns(self._facts[key] for key in alive)

    def ceiling(self, window: int) -> Rank | None:
        """No forgotten object of the window ranks better; None if there is none.  O(panes)."""
        return self._traces.ceiling(self.windows.panes_in(window)[0])

    def forgotten(self, window: int) -> tuple[FloatArray, FloatArray] | None:
        """Between which stream parts lie the window's forgotten objects?  O(panes)."""
        return self._traces.forgotten(self.windows.panes_in(window)[0])

    def snapshot(self) -> Memory:
        """Every candidate, best first, and the traces of the others."""
        return Memory(self.known(self._current), self._traces, self._forgotten_at)

    def restore(self, memory: Memory) -> None:
        """Become the list that wrote ``memory``."""
        self._traces = memory.traces
        self._forgotten_at = memory.forgotten_at
        self._blank = memory.candidates.take(slice(0))
        # Nothing is lost of what one list kept; of what several did, something may be.
        self._forget(
            [lost for fact in self._facts_of(memory.candidates) for lost in self._put(fact)]
        )

    def check(self) -> None:
        """Verify the marks and pointers, and that each candidate is known and each is right."""
        self._marks.check()
        require(not self._marks.evicted, "an evicted object was not forgotten")
        require(self._marks.at.keys() == self._facts.keys(), "a candidate is not known")
        for key, each in self._marks.at.items():
            fact = self._facts[key]
            require(each.rank[:3] == fact.rank, f"rank of {key}")
            require(each.end == fact.end, f"end of {key}")
            require(fact.most >= -fact.rank[0], f"bounds of {key}")

    def _certainty(self, window: int) -> Certainty:
        return certainty(self.known(window), self.ceiling(window), self.k)

    def _members(self, window: int) -> Iterator[Any]:
        if window == self._current:
            return (key for _, _, key in self._marks)
        return (key for key, start, end in self.marks() if start <= window <= end)

    def _arrive(self, fact: _Fact) -> list[_Fact]:
        """Take in one arrival; return what is forgotten for it."""
        key = fact.rank[2]
        old = self._facts.get(key)
        if old is not None and fact.rank[1] > old.rank[1]:
            return []
        if old is None or old.vague:
            fact.vague = -fact.rank[1] < self._forgotten_at
        if old is not None:
            self._marks.remove(key)
            del self._facts[key]
        return self._put(fact)

    def _put(self, fact: _Fact) -> list[_Fact]:
        self._facts[fact.rank[2]] = fact
        lost = [] if self._marks.put(fact.rank, fact.end) else [fact.rank[2]]
        lost += self._marks.evicted
        self._marks.evicted.clear()
        forgotten = [self._facts.pop(key) for key in lost]
        self._forgotten_at = max([self._forgotten_at, *(-each.rank[1] for each in forgotten)])
        return forgotten

    def _forget(self, facts: list[_Fact]) -> None:
        if facts:
            lost = self._columns(facts)
            self._traces = self._traces.merge(Traces.lost(self.windows.pane_of(lost.time), lost))

    def _facts_of(self, found: Candidates) -> list[_Fact]:
        end = self.windows.pane_of(found.time) // self.windows.panes_per_step
        columns = (end.tolist(), found.stream, found.most.tolist(), found.stream_most)
        rows = zip(ranks(found), *columns, found.vague.tolist(), strict=True)
        return [_Fact(*row) for row in rows]

    def _columns(self, facts: Iterable[_Fact]) -> Candidates:
        found = list(facts)
        blank = self._blank
        shape = (len(found), *blank.stream.shape[1:])
        return Candidates(
            np.array([-fact.rank[0] for fact in found], np.float64),
            np.array([-fact.rank[1] for fact in found], np.int64),
            np.array([fact.rank[2] for fact in found], blank.key.dtype),
            np.array([fact.stream for fact in found], np.float64).reshape(shape),
            np.array([fact.most for fact in found], np.float64),
            np.array([fact.stream_most for fact in found], np.float64).reshape(shape),
            np.array([fact.vague for fact in found], np.bool_),
        )
