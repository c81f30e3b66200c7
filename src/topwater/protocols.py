"""What may be swapped, and the contract of each: numbered, so that tests and errors can cite it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

from topwater.errors import QueryError
from topwater.model import Arrivals, Fetched, FloatArray, IntArray, Items, KeyArray, Millis
from topwater.validation import nearest, shown
from topwater.windows import Windows

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@runtime_checkable
class CandidateList(Protocol):
    """Keeps what can still win. Larger scores rank higher.

    Scores are fixed at arrival. Where they may change later, the contract is that of
    ``topwater.candidates.rescorable.ChangingList``, which stands beside the values it speaks of.

    The *current* window is the oldest one not yet expired; it is 0 until :meth:`expire` is
    called.

    Contract
    --------
    L1. ``add`` takes items of any pane that is in the current or a later window. Batches may
        cut the stream anywhere, and panes may come out of order.
    L2. ``top(w)``, for the current or a later window, is the k best of all items added that lie
        in window w, in the total order (score descending, the younger, the smaller key).
    L3. ``expire(w)`` says that no window up to w will be asked for again. It may jump over
        windows, and repeating it changes nothing.
    L4. Iteration yields the items kept, best first, and ``len`` counts them. Each is in the
        current or a later window.
    L5. ``snapshot`` returns items that, added to a new list whose windows are expired as far,
        give a list that answers the same.
    L6. ``check`` raises ``AssertionError`` if an invariant of the structure is broken.
    L7. Nothing depends on the clock, on a random source, or on the way batches were cut.
    """

    @property
    def windows(self) -> Windows:
        """The windows that the list was made for."""

    @property
    def k(self) -> int:
        """How many items an answer has."""

    def add(self, arrivals: Arrivals) -> None:
        """Bring new items."""

    def top(self, window: int) -> Items:
        """The best k of a window, best first."""

    def expire(self, window: int) -> None:
        """Forget what is in no window after ``window``."""

    def __iter__(self) -> Iterator[tuple[float, int, object]]:
        """(score, time, key) of every item kept, best first."""

    def __len__(self) -> int:
        """How many items are kept."""

    def snapshot(self) -> Items:
        """All that a restart needs."""

    def check(self) -> None:
        """Verify the structure's own invariants."""


@runtime_checkable
class Sweeps(Protocol):
    """A list that answers many windows in one call.

    L8. ``sweep(a, w)`` equals: ``add(a)``, then for each window from the current one to w,
        ``top`` and ``expire``. The answers come as one run of items, with the number of items
        per window and the number of candidates that each window had.
    """

    def sweep(self, arrivals: Arrivals, until: int) -> tuple[Items, IntArray, IntArray]:
        """Answers of all windows up to ``until``."""


@runtime_checkable
class Floors(Protocol):
    """A list that can say early what is useless.

    L9. An item of a pane whose score is below the pane's floor is in no answer, now or later.
    """

    def floors(self, panes: IntArray) -> FloatArray:
        """Per pane, the score below which a new item need not be added."""


class Source(Protocol):
    """Fetches remote values.

    Contract
    --------
    F1. ``fetch`` answers for every key, in order, each at most once, and asks for no other.
    F2. It returns by the deadline with what it has; what failed is marked, and never raised.
    F3. It can be pickled, and connects on first use, in the process that uses it.
    F4. One with several values a key has ``names``, and gives a column for each of them, always of
        the same kind: numbers, or texts if the name is among its ``text_names``. At least one is
        of numbers.

    A source may also have these, and wrappers look for them:

    ``names``, ``text_names``
        What its values are called, if one look-up gives several; and which of them are texts.
    ``take_keys(columns)``
        Is told before a query begins which columns of the stream its keys have, and raises
        ``QueryError`` if it can't be asked by these. Keys of several columns are tuples.
    ``key_kind``
        ``"text"`` or ``"number"``, if all its keys are texts, or whole numbers: a stream that asks
        it by the other is refused.
    ``most``
        The most keys that one fetch may have.
    ``punctual``
        True if it keeps deadlines whatever happens inside; others are called in a thread of
        their own.
    ``check(key=None)``
        Tries to reach the remote side, and raises ``SourceError`` naming the setting to look at.
        With a key it also raises where no usable value comes, and may return a
        :class:`topwater.remote.Look` that shows the reply. One that takes no key is fine: the key
        is fetched then.
    ``close()``
        Gives back connections and threads; a later fetch connects again.
    """

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``, within ``deadline`` seconds."""


@runtime_checkable
class Seeks(Protocol):
    """A source with a time of its own, as a recording has.

    F5. ``seek`` is called before every fetch, with the event time of the evaluation.
    """

    def seek(self, now: Millis) -> None:
        """Answer as of ``now`` from here on."""


class Clock(Protocol):
    """Tells how much time passes. The host brings it; nothing inside reads one of its own.

    Contract
    --------
    C1. ``now`` never goes back. Only differences count: where it starts is its own affair.
    """

    def now(self) -> float:
        """The time, in seconds."""


ListMaker = Callable[[Windows, int], CandidateList]

T = TypeVar("T")


class Registry(Generic[T]):
    """Names → makers, with an error that names the nearest one, or all.

    Examples
    --------
    >>> shapes = Registry[int]("shape")
    >>> shapes.add("square", 4, "four equal sides")
    >>> shapes["square"]
    4
    >>> shapes["circle"]
    Traceback (most recent call last):
    ...
    topwater.errors.QueryError: shape: 'circle' is unknown
      fix: use one of: square
    >>> shapes["Sqare"]
    Traceback (most recent call last):
    ...
    topwater.errors.QueryError: shape: 'Sqare' is unknown
      fix: did you mean square?

    Parameters
    ----------
    kind
        What the names stand for, in the singular.
    group
        The group of entry points by which other packages offer more of them: each names a module
        that adds the name when it is imported. So a name is known in every process that has the
        package, Spark's workers among them.
    in_lab
        Names that the laboratory offers, for the error where it is not installed.
    """

    def __init__(self, kind: str, *, group: str = "", in_lab: tuple[str, ...] = ()) -> None:
        self.kind = kind
        self.group = group
        self.in_lab = in_lab
        self._entries: dict[str, tuple[T, str]] = {}

    def add(self, name: str, entry: T, summary: str) -> None:
        """Make ``entry`` known as ``name``."""
        if name in self._entries:
            raise QueryError(
                f"{name!r} is registered already", field=self.kind, fix="choose another name"
            )
        self._entries[name] = (entry, summary)

    def __getitem__(self, name: str) -> T:
        entry = self._entry(name)
        if entry is None:
            fix = self._alternatives(name)
            raise QueryError(f"{shown(name)} is unknown", field=self.kind, fix=fix)
        return entry[0]

    def _entry(self, name: Any) -> tuple[T, str] | None:
        """What stands by this name; another package that offers it is imported."""
        if not isinstance(name, str):
            return None
        if name not in self._entries:
            for offer in self._offered():
                if offer.name == name:
                    offer.load()
        return self._entries.get(name)

    def _offered(self) -> Iterable[EntryPoint]:
        if not self.group:
            return ()
        from importlib.metadata import entry_points

        return entry_points(group=self.group)

    def _alternatives(self, wrong: Any) -> str:
        names = dict.fromkeys([*self._entries, *(each.name for each in self._offered())])
        lacking = [name for name in self.in_lab if name not in names]
        if wrong not in lacking and (near := nearest(wrong, names)) is not None:
            return f"did you mean {near}?"
        known = f"use one of: {', '.join(names)}"
        hint = f'; {" and ".join(lacking)} come with: pip install "topwater[lab]"'
        return known + (hint if lacking else "")

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def summary(self, name: str) -> str:
        """One line on what the entry is."""
        return self._entries[name][1]
