"""The production list for changing scores: whole batches in, one compiled loop over the arrivals.

It keeps what Topk+N keeps, the union of the best k + spare objects of every open window, but as
columns: an object is kept while fewer than k + spare better ones live as long as it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from topwater.candidates.invariants import require
from topwater.candidates.objects import (
    UNSEEN,
    Candidates,
    Certainty,
    Memory,
    Traces,
    certainty,
    in_turn,
    places,
    stack,
    sure,
)
from topwater.candidates.rank_tuples import Rank, rows
from topwater.candidates.rescoring import changed
from topwater.model import Items

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topwater.candidates.rescorable import Score
    from topwater.model import Arrivals, BoolArray, FloatArray, IntArray, KeyArray
    from topwater.windows import Windows

_NONE = np.empty(0, np.int64)


class Spare:
    """The best k of every window, from k + spare candidates of each, as columns.

    Members, answers and certainty equal those of
    :class:`~topwater.candidates.published.topk_n.SuperTopKN`, where the guarantees are told.

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
    ``add`` looks up each key once and compares one score; an arrival that enters, or that
    replaces a candidate, costs O(m) for m candidates, in compiled code. ``rescore`` is O(m²) at
    worst, ``top``, ``exact`` and ``expire`` O(m).

    Examples
    --------
    >>> from topwater.windows import sliding
    >>> pair = sliding(width=4, step=2)
    >>> lst = Spare(pair, k=1, spare=1)
    >>> lst.add(pair.group(Items(np.array([9.0, 5.0]), np.array([1, 3]), np.array([7, 8]))))
    >>> lst.rescore(np.array([7]), lambda stream, which: np.array([4.0]))
    >>> lst.top(0).key.tolist(), lst.exact(0), len(lst)
    ([8], True, 2)
    """

    def __init__(self, windows: Windows, k: int, spare: int = 0) -> None:
        self.windows = windows
        self.k = k
        self.spare = spare
        self._current = 0
        self._kept = sure(Items.empty())
        self._beaten = _NONE
        self._traces = Traces.none()
        self._forgotten_at = UNSEEN

    def add(self, arrivals: Arrivals) -> None:
        """Bring new objects of panes in the current window, in order of time."""
        if not len(arrivals):
            return
        self._traces = self._traces.merge(Traces.seen(arrivals))
        arrived = in_turn(arrivals)
        pool = stack([self._kept, arrived])
        vague = pool.vague.copy()
        chosen = self._choose(pool, self._beaten, vague)
        self._kept = _with_vague(pool, vague).take(chosen)

    def rescore(self, keys: KeyArray, score: Score, times: IntArray | None = None) -> None:
        """Remote values changed: choose anew among the objects that are known."""
        at = places(self._kept.key, keys)
        again, self._traces = changed(
            self._kept.take(at[at >= 0]),
            keys,
            score,
            times,
            self._traces,
            self.windows,
            self._current,
        )
        rest = np.ones(len(self._kept), np.bool_)
        rest[at[at >= 0]] = False
        self._choose_anew(stack([self._kept.take(rest), again]))

    def top(self, window: int) -> Candidates:
        """The best k of a window, best first.  O(m)."""
        return self.known(window).take(slice(self.k))

    def exact(self, window: int) -> bool:
        """Are ranking and scores of ``top(window)`` certain?  O(m)."""
        return self._certainty(window) == "ranking"

    def exact_set(self, window: int) -> bool:
        """Is it certain which objects are in ``top(window)``?  O(m)."""
        return self._certainty(window) != "nothing"

    def expire(self, window: int) -> None:
        """Forget what is in no window after ``window``.  O(m)."""
        if window < self._current:
            return
        self._current = window + 1
        first = self.windows.panes_in(self._current)[0]
        alive = self._panes(self._kept) >= first
        self._kept, self._beaten = self._kept.take(alive), self._beaten[alive]
        self._traces = self._traces.since(first)

    def __iter__(self) -> Iterator[tuple[float, int, object]]:
        return rows(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def known(self, window: int) -> Candidates:
        """All candidates that live in a window, best first.  O(m)."""
        return self._kept.take(self._panes(self._kept) >= self.windows.panes_in(window)[0])

    def ceiling(self, window: int) -> Rank | None:
        """No forgotten object of the window ranks better; None if there is none.  O(panes)."""
        return self._traces.ceiling(self.windows.panes_in(window)[0])

    def forgotten(self, window: int) -> tuple[FloatArray, FloatArray] | None:
        """Between which stream parts lie the window's forgotten objects?  O(panes)."""
        return self._traces.forgotten(self.windows.panes_in(window)[0])

    def snapshot(self) -> Memory:
        """Every candidate, best first, and the traces of the others."""
        return Memory(self._kept, self._traces, self._forgotten_at)

    def restore(self, memory: Memory) -> None:
        """Become the list that wrote ``memory``."""
        self._traces = memory.traces
        self._forgotten_at = memory.forgotten_at
        self._choose_anew(memory.candidates)

    def check(self) -> None:
        """Candidates are ranked, distinct, alive, and beaten exactly as often as counted."""
        kept, end = self._kept, self._ends(self._kept)
        better = np.triu(np.ones((len(kept), len(kept)), bool), 1)
        beaten = (better & (end[:, None] >= end[None, :])).sum(axis=0)
        require(np.array_equal(kept.ranked().key, kept.key), "candidates are not best first")
        require(len(np.unique(kept.key)) == len(kept), "a key has two objects")
        require(np.all(end >= self._current), "an expired object is kept")
        require(np.array_equal(beaten, self._beaten), "a count of better ones is wrong")
        require(np.all(beaten < self.k + self.spare), "an object that is not a member is kept")
        require(np.all(kept.most >= kept.score), "a bound lies below its score")

    def _certainty(self, window: int) -> Certainty:
        return certainty(self.known(window), self.ceiling(window), self.k)

    def _choose_anew(self, pool: Candidates) -> None:
        """Nothing arrives, so no item becomes vague."""
        self._kept = pool.take(self._choose(pool, _NONE, np.zeros(len(pool), np.bool_)))

    def _choose(self, pool: Candidates, beaten: IntArray, vague: BoolArray) -> IntArray:
        """The rows of the pool that are candidates; what is forgotten leaves a trace."""
        from topwater.candidates.panes_n_kernels import LOST, Pool, take_in  # late: it loads Numba

        size = self.k + self.spare
        end = self._ends(pool)
        room = min(len(pool), size * self.windows.overlap) + 1
        tied, in_order = True, _has_ties(self._kept)
        while tied:
            code, codes = _codes(pool.key, in_order)
            rows = Pool(pool.score, pool.time, code, end, vague)
            order, self._beaten, fate, forgotten_at, tied = take_in(
                rows, beaten, codes, size, room, self._forgotten_at, in_order
            )
            in_order = True
        self._forgotten_at = int(forgotten_at)
        lost = np.flatnonzero(fate == LOST)
        if len(lost):
            gone = pool.take(lost)
            self._traces = self._traces.merge(Traces.lost(self._panes(gone), gone))
        return order

    def _panes(self, found: Candidates) -> IntArray:
        return self.windows.pane_of(found.time)

    def _ends(self, found: Candidates) -> IntArray:
        return self._panes(found) // self.windows.panes_per_step


def _with_vague(pool: Candidates, vague: BoolArray) -> Candidates:
    return Candidates(
        pool.score, pool.time, pool.key, pool.stream, pool.most, pool.stream_most, vague
    )


def _has_ties(found: Candidates) -> bool:
    same = (found.score[1:] == found.score[:-1]) & (found.time[1:] == found.time[:-1])
    return bool(same.any())


def _codes(keys: KeyArray, in_order: bool) -> tuple[IntArray, int]:
    """A number for each key, and how many there are; ascending as the keys if need be."""
    if in_order:
        names, codes = np.unique(keys, return_inverse=True)
        return codes.astype(np.int64), len(names)
    found = pa.array(keys).dictionary_encode()
    return found.indices.to_numpy().astype(np.int64), len(found.dictionary)
