"""Notices: changes of the remote side that are pushed, until the windows that they count for close.

::

    add ──► waiting ──► due(source, now): what had happened by a window's close, in order of time
                  └──► newest ──► silent(source, now): nothing that is not known happened by then

A notice counts for the windows that close at its time or later, whenever it comes. So answers do
not depend on how the streams are cut into batches, nor on the order in which notices come.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topwater.model import Millis
from topwater.replica.store import NEVER
from topwater.tables import column, pack, unpack

VALUE, STALE, BLIND, ALL, LOST, BEAT = range(6)
"""What a notice says: what an entry is now; that it is another; that one is, but not which; that
all are; that one is (perhaps it says which), but not when; or only how late it is."""

VALUES, TEXTS = "value ", "text "
"""What the columns of values and of texts begin with."""

SEQUENCE, COUNTS = "sequence", "counts"
"""The columns of a notice's number, and of the time from which it counts: its own; or, for one that
comes late, after the last window that closed without it."""

END: Millis = 2**60
"""Later than any notice."""

_PLAIN = {"source": pa.string(), "time": pa.int64(), "kind": pa.int8(), SEQUENCE: pa.int64()}


def notice_table(columns: Mapping[str, Any]) -> pa.Table:
    """Notices as columns: ``source``, ``key``, ``time``, ``kind``, and values by their names."""
    found = {
        name: pa.array(columns[name], kind) for name, kind in _PLAIN.items() if name in columns
    }
    found["key"] = pa.array(columns["key"]) if "key" in columns else pa.nulls(len(found["time"]))
    rest = {name: each for name, each in columns.items() if name not in found}
    kinds = {name: pa.string() if name.startswith(TEXTS) else pa.float64() for name in rest}
    return pa.table({**found, **{name: pa.array(rest[name], kinds[name]) for name in rest}})


def beat_of(time: Millis) -> pa.Table:
    """A notice that says nothing but that all older ones were given, of every source."""
    return notice_table({"source": [None], "time": [time], "kind": [BEAT]})


@dataclass(slots=True)
class NoticeDesk:
    """Holds notices until they count, and knows how far they are complete.

    Parameters
    ----------
    complete
        The sources that send every change.
    delay
        How much later than a younger notice one may come, where they are complete.

    Attributes
    ----------
    since
        By source: of what was known before, silence says nothing. None for one that was not heard
        of before its first window.
    tallies
        What became of notices since the last answer.
    closed
        When the last window closed for which they counted.

    Examples
    --------
    >>> desk = NoticeDesk(frozenset({"shop"}))
    >>> told = {"source": ["shop"] * 2, "key": ["tea", "rice"], "time": [3, 12], "kind": [0, 0]}
    >>> desk.add(notice_table({**told, "value price": [2.5, 3.5]}))
    >>> desk.due(10)
    >>> desk.of("shop").column("key").to_pylist(), desk.silent("shop", 10), desk.silent("shop", 12)
    (['tea'], True, False)
    """

    complete: frozenset[str] = frozenset()
    delay: Millis = 0
    since: dict[str, Millis | None] = field(default_factory=dict)
    tallies: Counter[str] = field(default_factory=Counter)
    closed: Millis = NEVER
    _newest: dict[str, Millis] = field(default_factory=dict)
    _waiting: list[pa.Table] = field(default_factory=list)
    _due: pa.Table | None = None
    _sequence: int = 0
    _kept: list[pa.Table] | None = None

    def add(self, notices: pa.Table, tallies: Mapping[str, int] | None = None) -> None:
        """Take in notices; and how many could not be read, by why."""
        self.tallies.update(tallies or {})
        if not notices.num_rows:
            return
        numbers = np.arange(self._sequence, self._sequence + notices.num_rows)
        self._sequence += notices.num_rows
        self._see(notices)
        notices = notices.append_column(SEQUENCE, pa.array(numbers))
        kind, time = column(notices, "kind"), column(notices, "time")
        self.tallies["late"] += int(np.count_nonzero((kind < LOST) & (time <= self.closed)))
        # What happened at no known time may have happened by the next window.
        counts = np.where(kind == LOST, NEVER, time)
        counts = np.maximum(counts, max(self.closed, NEVER) + 1)
        notices = notices.append_column(COUNTS, pa.array(counts))
        self.hold(notices.filter(pa.array(kind != BEAT)))
        if self._kept is not None:
            self._kept.append(self._waiting[-1])

    def hold(self, notices: pa.Table) -> None:
        """Let notices wait, which have their numbers."""
        self._waiting.append(notices)

    def due(self, now: Millis) -> None:
        """A window closes: what had happened by then counts from now on."""
        self.closed = max(self.closed, now)
        self._due = None
        whole = self.waiting()
        if whole is None:
            return
        ready = column(whole, COUNTS) <= now
        self._due = whole.filter(pa.array(ready))
        self._waiting = [whole.filter(pa.array(~ready))]

    def of(self, source: str) -> pa.Table | None:
        """What counts since the window that closes now, of one source; None for nothing."""
        if self._due is None:
            return None
        found = self._due.filter(pc.equal(self._due.column("source"), source))
        return found if found.num_rows else None

    def silent(self, source: str, now: Millis) -> bool:
        """Whether all notices of a source up to a time have come."""
        if source not in self.complete:
            return False
        newest = max(self._newest.get(source, NEVER), self._newest.get("", NEVER))
        return newest >= END or newest - self.delay > now

    @property
    def newest(self) -> Millis | None:
        """The time of the youngest notice of all."""
        return max(self._newest.values(), default=None)

    def waiting(self) -> pa.Table | None:
        """All that does not count yet, in the order in which it came; None for nothing."""
        tables = [each for each in self._waiting if each.num_rows]
        if not tables:
            return None
        whole = tables[0]
        if len(tables) > 1:
            # Keys of the sources may be of two kinds, and a batch may have none at all.
            whole = pa.concat_tables(alike(tables), promote_options="default")
        return whole

    def outcomes(self) -> tuple[tuple[str, int], ...]:
        """What became of notices since this was asked last."""
        found = tuple(sorted((name, count) for name, count in self.tallies.items() if count))
        self.tallies = Counter()
        return found

    def keep_news(self) -> None:
        """From now on keep what comes for :meth:`news`."""
        self._kept = []

    def news(self) -> pa.Table | None:
        """What came since the last call and still waits; None for nothing."""
        kept, self._kept = self._kept or [], []
        tables = [each for each in kept if each.num_rows]
        if not tables:
            return None
        whole = pa.concat_tables(alike(tables), promote_options="default")
        left = whole.filter(pc.greater(whole.column(COUNTS), self.closed))
        return left if left.num_rows else None

    def facts(self) -> dict[str, Any]:
        """The few numbers of a snapshot, for JSON."""
        return {
            "complete": sorted(self.complete),
            "since": dict(self.since),
            "tallies": {name: count for name, count in self.tallies.items() if count},
            "closed": self.closed,
            "newest": dict(self._newest),
            "sequence": self._sequence,
        }

    def restore_facts(self, facts: Mapping[str, Any] | None) -> None:
        """Take over what :meth:`facts` gave; None if nobody listened to changes before."""
        facts = facts or {"complete": []}
        before = frozenset(facts["complete"])
        since = dict.fromkeys(self.complete - before)
        self.since = {**facts.get("since", {}), **since}
        self.tallies = Counter(facts.get("tallies", {}))
        self.closed = facts.get("closed", NEVER)
        self._newest = dict(facts.get("newest", {}))
        self._sequence = facts.get("sequence", 0)
        if "waiting" in facts:
            self._waiting = [unpack(b64decode(facts["waiting"]))[0]]

    def with_waiting(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Facts with all that waits, for those who keep it nowhere else."""
        whole = self.waiting()
        if whole is None:
            return dict(facts)
        return {**facts, "waiting": b64encode(pack(whole, {}, compressed=True)).decode()}

    def forget_waiting(self) -> None:
        """Let nothing wait."""
        self._waiting = []

    def drop_counted(self) -> None:
        """Let go what counted for a window that has closed meanwhile."""
        whole = self.waiting()
        if whole is not None:
            self._waiting = [whole.filter(pc.greater(whole.column(COUNTS), self.closed))]

    def sort(self) -> None:
        """Bring what waits into the order in which it came."""
        whole = self.waiting()
        if whole is not None:
            self._waiting = [whole.sort_by(SEQUENCE)]
        self._kept = None if self._kept is None else []

    def _see(self, notices: pa.Table) -> None:
        """How far each source is known to have come."""
        timed = notices.filter(pc.not_equal(notices.column("kind"), LOST))
        found = timed.group_by("source").aggregate([("time", "max")])
        for source, time in zip(*(each.to_pylist() for each in found.columns), strict=True):
            name = source or ""
            self._newest[name] = max(self._newest.get(name, NEVER), time)


def alike(tables: list[pa.Table]) -> list[pa.Table]:
    """Notices whose keys are of one kind: text, if some are text."""
    kinds = {each.schema.field("key").type for each in tables} - {pa.null()}
    if len(kinds) < 2:
        return tables
    found = []
    for each in tables:
        at = each.column_names.index("key")
        found.append(each.set_column(at, "key", each.column("key").cast(pa.large_string())))
    return found
