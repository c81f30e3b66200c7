"""The nouns: windows, items, answers. Frozen values without behaviour of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from topwater.errors import QueryError
from topwater.model.array_types import FloatArray, IntArray, KeyArray
from topwater.model.frozen import Frozen
from topwater.model.number_text import number_text
from topwater.model.plain_key import plain_key
from topwater.model.remote_cell import Remote
from topwater.problems import tally
from topwater.views import Chart, chart_view, html_view

Millis: TypeAlias = int
"""A point or a span of event time, in whole milliseconds (or events, for count windows)."""

KeyPart: TypeAlias = int | str | date | datetime | Decimal
"""What one column of a key may hold; truth values are among the whole numbers."""

Key: TypeAlias = KeyPart | tuple[KeyPart, ...]
"""What names an item: the value of a column, or of several."""

FIRST_DATE: Millis = 100_000_000_000
"""Window ends before this (in 1973) are shown as they are: positions, or times of an example."""


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """The span ``(start, end]``: open on the left, closed on the right.

    For count windows the two ends are event positions; the first event has position 1.
    """

    index: int
    start: Millis
    end: Millis

    @property
    def in_words(self) -> str:
        """Its two ends, as times if they are times.

        Examples
        --------
        >>> Window(0, 0, 4_000).in_words, Window(0, 1_767_225_600_000, 1_767_225_660_000).in_words
        ('(0, 4,000]', '2026-01-01 00:00:00 – 00:01:00')
        """
        if self.end < FIRST_DATE:
            return f"({self.start:,}, {self.end:,}]"
        first, last = (datetime.fromtimestamp(at / 1_000, UTC) for at in (self.start, self.end))
        same = first.date() == last.date()
        return f"{first:%Y-%m-%d %H:%M:%S} – {last:%H:%M:%S}" if same else f"{first} – {last}"


@dataclass(frozen=True, slots=True)
class Items:
    """Things that can be ranked, as columns of equal length. Larger scores rank higher.

    The total order is: score descending, then the younger, then the smaller key.
    """

    score: FloatArray
    time: IntArray
    key: KeyArray

    def __len__(self) -> int:
        return len(self.score)

    def take(self, rows: npt.NDArray[Any] | slice) -> Items:
        """The items at ``rows``, in that order."""
        return Items(self.score[rows], self.time[rows], self.key[rows])

    def ranked(self) -> Items:
        """The same items, best first.  O(n log n)."""
        return self.take(np.lexsort((self.key, -self.time, -self.score)))

    @staticmethod
    def empty(key_dtype: npt.DTypeLike = np.int64) -> Items:
        """No items at all."""
        return Items(np.empty(0), np.empty(0, np.int64), np.empty(0, key_dtype))

    @staticmethod
    def concat(parts: list[Items]) -> Items:
        """All items of ``parts``, in order. Empty parts do not decide the type of the keys."""
        full = [part for part in parts if len(part)] or parts[:1]
        if not full:
            return Items.empty()
        if len(full) == 1:
            return full[0]
        return Items(
            np.concatenate([part.score for part in full]),
            np.concatenate([part.time for part in full]),
            np.concatenate([part.key for part in full]),
        )


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Items grouped by pane: ``items[bounds[j]:bounds[j+1]]`` lie in pane ``panes[j]``.

    Panes are distinct and ascending, and none is empty.
    """

    panes: IntArray
    bounds: IntArray
    items: Items

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of a ranking.

    Examples
    --------
    >>> [[Shard(each, 3).share(7, window) for each in range(3)] for window in range(3)]
    [[3, 2, 2], [2, 3, 2], [2, 2, 3]]
    """

    index: int = 0
    of: int = 1

    def __post_init__(self) -> None:
        if self.of < 1 or not 0 <= self.index < self.of:
            raise QueryError(
                f"there is no shard {self.index} of {self.of}",
                field="shards",
                fix="use one shard or more",
            )

    def share(self, budget: int, window: int) -> int:
        """Its part of what may be fetched for a window."""
        each, rest = divmod(budget, self.of)
        return each + ((self.index - window * rest) % self.of < rest)


@dataclass(frozen=True, slots=True)
class Counts:
    """What happened to the events since the last answer. Nothing is dropped without a count."""

    events: int = 0
    late: int = 0
    before_start: int = 0
    bad_key: int = 0
    bad_time: int = 0
    bad_score: int = 0
    skipped_windows: int = 0
    skipped_files: int = 0
    forgotten: int = 0  # keys that the replica let go, to stay within its limits

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Counts)))

    @property
    def bad(self) -> int:
        """Events that could not be used at all."""
        return self.bad_key + self.bad_time + self.bad_score

    @property
    def facts(self) -> list[str]:
        """In words, what is worth saying."""
        rest = {"late": self.late, "unusable": self.bad, "files skipped": self.skipped_files}
        rest["forgotten"] = self.forgotten
        return [f"{self.events:,} events", *(f"{n:,} {what}" for what, n in rest.items() if n)]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of an answer.

    Attributes
    ----------
    rank, key, score, time
        Its place, from 1; its key, a tuple if the query's key has several columns; its score; and
        the time of the event, or of the key's last.
    values
        What the stream contributed, in the order of the query's ``take``: numbers, and texts
        where a ``last`` is text; None for one that is missing.
    remote, age, confidence
        For a query with a remote part: the remote value; how long before the window's close it
        was fetched (None: never); and the estimated probability that it is still right.
    assumed
        None if the source gave the remote value. Otherwise why it did not, as one of
        :data:`~topwater.problems.REASONS`, ``"failed"`` where the source can't say, or
        ``"never"`` for a key not looked up yet: then ``remote`` is the query's default, the median
        of the known values, or, where nothing is known, None, and the score is made with 0.
    remotes
        For a query with several remote values: each by its name. Then ``remote`` is None, ``age``
        is that of the oldest of them, ``confidence`` the probability that all are still right, and
        ``assumed`` says why the first of those that are assumed is.
    """

    rank: int
    key: Key
    score: float
    time: Millis
    values: tuple[float | str | None, ...] = ()
    remote: float | None = None
    age: Millis | None = None
    confidence: float | None = None
    assumed: str | None = None
    remotes: Mapping[str, Remote] = Frozen()


@dataclass(frozen=True, slots=True)
class Freshness:
    """How fresh an answer is, and how accurate it is estimated to be.

    Attributes
    ----------
    fetched, failed, bad
        Keys asked for; those the source did not answer; and those it answered without a usable
        number, whose old value was kept.
    precision, ndcg
        Estimated precision@k and nDCG@k; 0 as long as the source gave no usable value at all.
    missed
        Whether the estimated precision is below the accuracy asked for.
    without_value
        Items of the window that are not ranked, because the source has no value for them.
    nothing_usable
        Whether keys were asked for, and none of them brought a usable value: a problem with the
        source, or with its settings. The answer's ``problems`` say why. Keys that are merely
        unknown to a source that knows others don't count.
    audited, audited_low, audited_high
        With an ``audit``: precision@k by look-ups drawn at random, over the windows of the last 200
        draws, and its bounds in 95 of 100 cases; None before there were 30.
    doubtful
        Whether the precision that answers claimed over these windows lies outside these bounds.
    noisy
        Whether the source gives a different number at each look-up, however soon: that is noise,
        not change, and the setting ``noise`` keeps look-ups from being spent on it.
    out_of_reach
        For a budget with ``at_most``: whether all of it was spent, and answers are less right than
        asked all the same, on average over the last ones.
    """

    fetched: int
    failed: int
    bad: int
    precision: float
    ndcg: float
    missed: bool
    without_value: int = 0
    nothing_usable: bool = False
    out_of_reach: bool = False
    audited: float | None = None
    audited_low: float | None = None
    audited_high: float | None = None
    doubtful: bool = False
    noisy: bool = False

    @property
    def facts(self) -> list[str]:
        """In words, what is worth saying."""
        facts = [f"about {self.precision:.0%} right", f"nDCG about {self.ndcg:.2f}"]
        facts = ["nothing usable came from the source"] if self.nothing_usable else facts
        facts.append(f"{self.fetched} looked up")
        facts += [f"{self.failed} failed"] if self.failed else []
        facts += [f"{self.bad} without a number"] if self.bad else []
        if self.audited is not None:
            between = f"{self.audited_low:.0%} to {self.audited_high:.0%}"
            facts.append(f"audited {self.audited:.0%} ({between})")
        facts += ["values are noise"] if self.noisy else []
        facts += ["estimates contradict the audit"] if self.doubtful else []
        facts += ["the accuracy asked for is out of reach"] if self.out_of_reach else []
        return [*facts, "less accurate than asked"] if self.missed else facts


@dataclass(frozen=True, slots=True)
class LookUp:
    """One key that was asked for, and what came of it.

    Attributes
    ----------
    key
        As it is in the stream.
    before
        The value that was remembered; None if it was never fetched, or had no value.
    after
        The value that came; None if the fetch failed, or the remote side has none.
    ok
        Whether the source answered.
    source
        For a query with several remote values: which source was asked.
    """

    key: Key
    before: float | None
    after: float | None
    ok: bool
    source: str = ""

    @property
    def changed(self) -> bool:
        """Whether it brought something that was not known."""
        return self.ok and self.after != self.before


LOOK_UPS = 50
"""The most look-ups that an answer lists; how many there were is in its freshness."""


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """The k best items of one window, best first.

    Attributes
    ----------
    window
        The window that closed.
    rows
        At most k rows; fewer when the window holds fewer items.
    exact
        Whether the ranking is certainly the one that sorting the whole window would give.
    candidates
        How many items are remembered after this answer.
    counts
        Events used and dropped since the answer before.
    freshness
        For a query with a remote part: what was refreshed, and how right the answer may be.
    group
        For a query with a ranking per group: which group.
    key_columns, group_columns
        What the parts of keys and groups are called, where these are tuples.
    problems
        For a query with a remote part: why keys that were asked for brought no usable value, as
        pairs of one of :data:`~topwater.problems.REASONS` (or ``""`` where the source can't say)
        and how many keys.
    looked_up
        For a query with a remote part: what the budget was spent on, the most worthwhile first,
        and of many the first :data:`LOOK_UPS`.
    spent, left
        For a query with several remote values: what its look-ups cost, in the unit of the budget;
        and what is left of each quota, by its name.
    notices
        Where changes are pushed: what became of the notices since the answer before, as pairs of a
        word and how many. ``told`` gave a value, ``stale`` said that one has changed,
        ``outdated`` were older than what is known, ``late`` came after a window that they would
        have counted for; ``bad_key``, ``bad_time`` and ``bad_value`` could not be read.
    tuned
        In the first answer after a restart with other settings: what they were, and what they are.
    """

    window: Window
    rows: tuple[Row, ...]
    exact: bool = True
    candidates: int = 0
    counts: Counts = field(default_factory=Counts)
    freshness: Freshness | None = None
    group: Key | None = None
    problems: tuple[tuple[str, int], ...] = ()
    looked_up: tuple[LookUp, ...] = ()
    key_columns: tuple[str, ...] = ()
    group_columns: tuple[str, ...] = ()
    spent: float | None = None
    left: tuple[tuple[str, float], ...] = ()
    tuned: tuple[str, ...] = ()
    notices: tuple[tuple[str, int], ...] = ()

    @property
    def keys(self) -> list[Key]:
        """The keys, best first."""
        return [row.key for row in self.rows]

    @property
    def scores(self) -> list[float]:
        """The scores, best first."""
        return [row.score for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; times are in milliseconds since 1970.

        Examples
        --------
        >>> answer = Answer(Window(0, 0, 10), (Row(1, "ann", 2.5, 7),))
        >>> answer.to_dict()["window"], answer.to_dict()["rows"][0]["key"]
        ({'index': 0, 'start': 0, 'end': 10}, 'ann')
        """
        plain = asdict(replace(self, rows=())) | {"problems": dict(self.problems)}
        plain["group"] = plain_key(self.group)
        plain["rows"] = tuple(map(row_dict, self.rows))
        plain["looked_up"] = tuple(map(look_up_dict, self.looked_up))
        plain["left"] = dict(self.left)
        plain["notices"] = dict(self.notices)
        for name in ("key_columns", "group_columns", "tuned", "notices"):
            if not plain[name]:
                del plain[name]
        if self.spent is None:
            del plain["spent"], plain["left"]
        return plain

    @property
    def title(self) -> str:
        """The window, and the group if there are groups."""
        group = self.group
        if isinstance(group, tuple):
            group = ", ".join(map(str, group))
        return self.window.in_words + ("" if group is None else f", {group}")

    @property
    def facts(self) -> list[str]:
        """In words, what is to be said of it as a whole, the important first."""
        facts = ["exact"] if self.exact else []
        facts += [] if self.freshness is None else self.freshness.facts
        facts += [tally(self.problems)] if self.freshness and self.freshness.nothing_usable else []
        facts += [f"{count:,} notices {word}" for word, count in self.notices]
        return [*facts, *self.counts.facts, *(f"now {change}" for change in self.tuned)]

    def plot(self) -> Chart:
        """The scores as bars, for a notebook, or to :meth:`~topwater.views.Chart.save`."""
        return chart_view(self)

    def __repr__(self) -> str:
        rows = [f"{row.rank}. {row.key!r} ({number_text(row.score)})" for row in self.rows]
        more = [f"and {len(rows) - 5} more"] if len(rows) > 5 else []
        best = ", ".join([*rows[:5], *more]) or "nothing"
        return f"<Answer {self.title}: {best}; {', '.join(self.facts)}>"

    def _repr_html_(self) -> str:
        return html_view(self)


def row_dict(row: Row) -> dict[str, Any]:
    """A row as plain values; without what only several remote values have, if it has none."""
    plain = asdict(replace(row, remotes=Frozen())) | {"key": plain_key(row.key)}
    plain["remotes"] = {name: asdict(each) for name, each in row.remotes.items()}
    if not row.remotes:
        del plain["remotes"]
    return plain


def look_up_dict(look_up: LookUp) -> dict[str, Any]:
    """A look-up as plain values; without the source, if there is only one."""
    plain = asdict(look_up) | {"key": plain_key(look_up.key)}
    if not look_up.source:
        del plain["source"]
    return plain
