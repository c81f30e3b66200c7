"""Lists for scores that change after arrival, by name; and what they promise.

======================  ==========================================================================
``panes+n``             columnar: whole batches in, one compiled loop (default)
``topk+n``              the Super-MTK+N list, as published: k + spare members per window
``mintopk+``            the same without spare, as published
======================  ==========================================================================

A score here is F(stream, remote). The stream's part is fixed when the object arrives, the remote
part changes. What such a list can still promise depends on where a changed object was in the
window, and where it goes (K: among the best k, N: among the next ``spare``):

===================  ============================================================================
K or N → K or N      the answer stays exact
K or N → outside     exact, as long as the spare ones last: each such change uses one up
outside → K          only a lower bound of the score is known: if it belongs to K too, the items
                     are right, perhaps not their order; otherwise one is missing
outside → N          the answer stays right, but from the lower bound alone that can't be known
outside → outside    the same
===================  ============================================================================

The lists do not go by this table. They compute what is certain, from the bounds of each score
and from the best rank that a forgotten object can have
(:func:`topwater.candidates.objects.certainty`): often more than the table grants, never too much.

Table and published algorithms: Zahmatkesh and Della Valle, on AcquaTop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias, runtime_checkable

from topwater.candidates.objects import UNSCORED, UNSEEN, Candidates, Memory
from topwater.errors import QueryError
from topwater.model import Arrivals, FloatArray, IntArray, KeyArray
from topwater.protocols import Registry
from topwater.windows import Windows

__all__ = ["UNSCORED", "UNSEEN", "ChangingList", "Score", "build", "changing"]

Score: TypeAlias = Callable[[FloatArray, IntArray], FloatArray]
"""``score(stream, which)``: F of each stream part and the remote value of ``keys[which]``.

Where that is not a number, it gives :data:`UNSCORED`.
"""


@runtime_checkable
class ChangingList(Protocol):
    """Keeps what can still win, while scores change. Larger scores rank higher.

    Contract
    --------
    Of the contract of a :class:`~topwater.protocols.CandidateList`, L3, L4 and L6 hold as they
    stand. In place of the others:

    R1. Each key has one object. An arrival replaces its key's object, with its own score and
        windows, unless it is older; of equal times, the later arrival counts.
    R2. ``add`` takes what L1 allows. An event may come after a later one of its key: if that one
        was forgotten meanwhile, answers that show the older are not exact.
    R3. ``rescore(keys, score, times)`` says that the remote values of these distinct keys
        changed. All changes take effect together, so their order does not matter. Kept objects
        get their new scores. An object outside the list gets a lower bound: the score of the
        least stream part of all live objects. It needs a time for that, to tell its windows.
        Without one (``UNSEEN``) it is not taken in; but the list knows what it might score.
    R4. ``exact(w)`` implies that ``top(w)`` is the k best of all live objects of window w, in
        the total order; ``exact_set(w)``, that it holds the right objects. Both are sound
        whatever came and changed, and true as long as no change frees a place and none happens
        outside the list.
    R5. ``restore(snapshot())``, on a new list whose windows are expired as far, gives a list
        with the same members that answers the same, now and later.
    R6. ``forgotten(w)`` encloses the stream parts of all objects of window w that were forgotten,
        whatever their scores have become; it is None only if there is none.
    R7. Nothing depends on the clock or on a random source, nor, for a stream in the order of
        time, on the way its batches were cut.
    """

    @property
    def windows(self) -> Windows:
        """The windows that the list was made for."""

    @property
    def k(self) -> int:
        """How many objects an answer has."""

    @property
    def spare(self) -> int:
        """How many more are kept per window."""

    def add(self, arrivals: Arrivals) -> None:
        """Bring new objects; items without a stream part have their score in its place."""

    def rescore(self, keys: KeyArray, score: Score, times: IntArray | None = None) -> None:
        """Remote values changed; ``times`` are those of the keys' latest events, where known."""

    def top(self, window: int) -> Candidates:
        """The best k of a window, best first."""

    def exact(self, window: int) -> bool:
        """Are ranking and scores of ``top(window)`` certain?"""

    def exact_set(self, window: int) -> bool:
        """Is it certain which objects are in ``top(window)``?"""

    def expire(self, window: int) -> None:
        """Forget what is in no window after ``window``."""

    def __iter__(self) -> Iterator[tuple[float, int, object]]:
        """(score, time, key) of every object kept, best first."""

    def __len__(self) -> int:
        """How many objects are kept."""

    def known(self, window: int) -> Candidates:
        """All objects kept that live in a window, best first."""

    def forgotten(self, window: int) -> tuple[FloatArray, FloatArray] | None:
        """Between which stream parts lie the window's forgotten objects? None if there is none."""

    def snapshot(self) -> Memory:
        """All that a restart needs."""

    def restore(self, memory: Memory) -> None:
        """Become the list that wrote ``memory``."""

    def check(self) -> None:
        """Verify the structure's own invariants."""


ChangingMaker: TypeAlias = Callable[[Windows, int, int], ChangingList]

changing: Registry[ChangingMaker] = Registry("list")


def build(
    name: str,
    windows: Windows,
    k: int,
    spare: int = 0,
    *,
    first: int = 0,
    memory: Memory | None = None,
) -> ChangingList:
    """A new list by its registry name, with ``first`` as its current window.

    Examples
    --------
    >>> from topwater.windows import counting
    >>> build("panes+n", counting(10, 5), k=3, spare=2).spare
    2
    """
    made = changing[name](windows, k, spare)
    made.expire(first - 1)
    if memory is not None:
        made.restore(memory)
    return made


def _topk_n(windows: Windows, k: int, spare: int) -> ChangingList:
    from topwater.candidates.pane_queue import Queued
    from topwater.candidates.published.topk_n import SuperTopKN

    return Queued(SuperTopKN(windows, k, spare))


def _mintopk_plus(windows: Windows, k: int, spare: int) -> ChangingList:
    if spare:
        raise QueryError("mintopk+ keeps none", field="spare", fix="use topk+n, or spare=0")
    return _topk_n(windows, k, 0)


def _panes_n(windows: Windows, k: int, spare: int) -> ChangingList:
    from topwater.candidates.pane_queue import Queued
    from topwater.candidates.panes_n import Spare

    return Queued(Spare(windows, k, spare))


changing.add("panes+n", _panes_n, "columnar, k + spare members per window (default)")
changing.add("topk+n", _topk_n, "k + spare members per window, one list with marks, as published")
changing.add("mintopk+", _mintopk_plus, "the same without spare ones, as published")
