"""Values that notices brought: written to a replica as if they had been looked up, for nothing.

A value in a notice is as good as one that was fetched at its time. It says that there was one
change, and at its very time; how often values change without one, only look-ups can say. So
nothing is learnt of rates from notices: rates are then those of changes without a notice, which
are what makes a value doubtful. With a notice of every change they fall to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topwater.model import BoolArray, FloatArray, IntArray, Millis
from topwater.replica.key_slots import KeySlots
from topwater.replica.learners import Learners
from topwater.replica.look_ups import Polls
from topwater.replica.notices import ALL, BLIND, LOST, STALE, VALUE, VALUES, NoticeDesk
from topwater.replica.store import NEVER, TOLD, Replica
from topwater.tables import column


class Keeper(Protocol):
    """Who remembers one value of each entry."""

    @property
    def replica(self) -> Replica:
        """What is remembered."""

    @property
    def learners(self) -> Learners:
        """What was learnt of it."""


class LatestNotices(NamedTuple):
    """The latest notices of some entries.

    Attributes
    ----------
    slots, at, rows
        Which entries have a new value, each once; as of when; and in which row it is.
    torn
        Where two values are of one time: it is not certain which is the last.
    stale, stale_at
        Which entries changed to an unknown value, each once; and when that was last.
    """

    slots: IntArray
    at: IntArray
    rows: IntArray
    torn: BoolArray
    stale: IntArray
    stale_at: IntArray


class PushedValues:
    """Writes what notices say to the entries that they are about.

    Parameters
    ----------
    desk
        Where notices wait.
    source
        Whose entries they are.
    index
        Gives keys their slots.
    keepers
        Who remembers the entries: one for each value, by its name.
    """

    def __init__(
        self, desk: NoticeDesk, source: str, index: KeySlots, keepers: Mapping[str, Keeper]
    ) -> None:
        self._desk = desk
        self._source = source
        self._index = index
        self._keepers = keepers
        for keeper in keepers.values():
            keeper.learners.beliefs.rates.told = keeper.replica.told = True

    def take_in(self, now: Millis) -> tuple[pa.Table, LatestNotices] | None:
        """A window closes: write what came by then; the notices, and the latest of each entry."""
        since = self._desk.since
        if since.get(self._source, NEVER) is None:
            since[self._source] = now
        due = self._desk.of(self._source)
        if due is None:
            return None
        self._doubt(due, now)
        due = due.filter(pc.less_equal(due.column("kind"), pa.scalar(STALE, pa.int8())))
        slots, known = self._slots(due)
        if not known.all():
            due, slots = due.filter(pa.array(known)), slots[known]
        latest = _latest(due, slots)
        self._write(due, latest)
        return due, latest

    def confirm(self, slots: IntArray, now: Millis) -> None:
        """Of a source that sends every change, silence says that an entry is what it was."""
        if not self._desk.silent(self._source, now):
            return
        since = self._desk.since.get(self._source, NEVER)
        assert since is not None  # noqa: S101  it was set as the window began
        slots = np.unique(slots[slots >= 0])
        for keeper in self._keepers.values():
            replica = keeper.replica
            fetched = replica.fetched[slots]
            sure = (fetched != NEVER) & (fetched >= since) & (replica.hints[slots] < TOLD)
            slots = slots[sure]
        for keeper in self._keepers.values():
            keeper.replica.confirm(slots, now)

    def _doubt(self, due: pa.Table, now: Millis) -> None:
        """What is not known of single entries holds for all of them."""
        kind, time = column(due, "kind"), column(due, "time")
        until = NEVER
        if (blind := np.isin(kind, (BLIND, ALL))).any():
            until = int(time[blind].max()) + 1
        if (kind == LOST).any():
            until = now + 1
        if until > NEVER and self._source in self._desk.complete:
            self._desk.since[self._source] = max(self._desk.since.get(self._source) or NEVER, until)
        replicas = [keeper.replica for keeper in self._keepers.values()]
        if (every := kind == ALL).any():
            for replica in replicas:
                used = replica.used()
                replica.mark(used[replica.fetched[used] <= int(time[every].max())])
        if (lost := (kind == LOST) & np.asarray(due.column("key").is_valid())).any():
            slots = _slots_of(self._index, due.filter(pa.array(lost)).column("key"))
            for replica in replicas:
                replica.mark(slots[slots >= 0])

    def _slots(self, due: pa.Table) -> tuple[IntArray, BoolArray]:
        """The slot of each notice's entry, and whether it has one: a value gives it one."""
        keys = self._index.fitting(due.column("key"))
        given = np.asarray(keys.is_valid())
        self._desk.tallies["bad_key"] += int(np.count_nonzero(~given))
        if not given.all() and self._source in self._desk.complete:
            at = int(column(due, "time")[~given].max()) + 1
            self._desk.since[self._source] = max(self._desk.since.get(self._source) or NEVER, at)
        value = column(due, "kind") == VALUE
        slots = np.full(due.num_rows, -1, np.int64)
        for rows, add in ((given & value, True), (given & ~value, False)):
            slots[rows] = self._index.slots_of(keys.filter(pa.array(rows)), add=add)
        self._first.keep(np.unique(slots[value & given]))
        kept = slots >= 0
        kept[kept] = self._first.kept(slots[kept])
        return slots, kept

    @property
    def _first(self) -> Replica:
        return next(iter(self._keepers.values())).replica

    def _write(self, due: pa.Table, latest: LatestNotices) -> None:
        """Write values that are newer than what is known, and mark what is another."""
        newer = latest.at >= self._evident(latest.slots)
        doubtful = np.zeros(len(newer), bool)
        if self._source in self._desk.complete:
            # Of an entry that was asked for in vain it is not known how old its value truly is.
            vain = self._first.vain[latest.slots] > 0
            doubtful = np.where(newer, latest.torn, vain)
        values = [column(due, VALUES + name)[latest.rows] for name in self._keepers]
        for keeper, each in zip(self._keepers.values(), values, strict=True):
            _write_values(keeper, latest.slots[newer], each[newer], latest.at[newer])
        stale = latest.stale[latest.stale_at >= self._evident(latest.stale)]
        marked = np.union1d(stale, latest.slots[doubtful])
        for keeper in self._keepers.values():
            keeper.replica.mark(marked)
        outdated = np.count_nonzero(~newer & ~doubtful) + len(latest.stale) - len(stale)
        self._desk.tallies.update(
            told=int(np.count_nonzero(newer)), stale=len(marked), outdated=int(outdated)
        )

    def _evident(self, slots: IntArray) -> IntArray:
        """When it was last seen, and not taken from silence, what entries are."""
        replica = self._first
        fetched = np.asarray(replica.fetched[slots])
        if self._source not in self._desk.complete:
            return fetched
        return np.where(replica.vain[slots] == 0, replica.asked[slots], fetched)


def _slots_of(index: KeySlots, keys: pa.ChunkedArray) -> IntArray:
    fitting = index.fitting(keys)
    return index.slots_of(fitting.filter(fitting.is_valid()))


def _latest(due: pa.Table, slots: IntArray) -> LatestNotices:
    """The last value and the last mark of each entry; of one time, what came last."""
    time, value = column(due, "time"), column(due, "kind") == VALUE
    order = np.lexsort((time, slots))
    given, marks = order[value[order]], order[~value[order]]
    last, stale = _lasts(slots[given]), _lasts(slots[marks])
    rows, before = given[last], given[np.maximum(last - 1, 0)]
    torn = (last > 0) & (slots[before] == slots[rows]) & (time[before] == time[rows])
    torn &= _differ(due, before, rows)
    marked = marks[stale]
    if len(rows) and len(marked):
        # A value after a mark is the last word; of one time, what came last.
        place = np.argsort(order)
        where = np.minimum(np.searchsorted(slots[rows], slots[marked]), len(rows) - 1)
        own = slots[rows][where] == slots[marked]
        marked = marked[~(own & (place[rows][where] > place[marked]))]
    return LatestNotices(slots[rows], time[rows], rows, torn, slots[marked], time[marked])


def _lasts(slots: IntArray) -> IntArray:
    """Where each run of equal slots ends."""
    if not len(slots):
        return np.empty(0, np.int64)
    return np.flatnonzero(np.append(slots[1:] != slots[:-1], True))


def _differ(due: pa.Table, one: IntArray, other: IntArray) -> BoolArray:
    """Whether notices give other values than some others."""
    found = np.zeros(len(one), bool)
    for name in due.column_names:
        if name.startswith(VALUES):
            values = column(due, name)
            a, b = values[one], values[other]
            found |= ~((a == b) | (np.isnan(a) & np.isnan(b)))
    return found


def _write_values(keeper: Keeper, slots: IntArray, values: FloatArray, at: IntArray) -> None:
    """Write values, and learn how values move."""
    replica, learners = keeper.replica, keeper.learners
    again = replica.known(slots)
    before, fetched = replica.value[slots], replica.fetched[slots]
    changed = replica.put_pushed(slots, values, at)
    moved = again & changed
    learners.learn_moves(
        Polls(
            now=int(at.max(initial=NEVER)),
            slots=slots[moved],
            seconds=(at - fetched)[moved] / 1_000,
            changed=changed[moved],
            before=before[moved],
            after=values[moved],
            hinted=np.zeros(int(moved.sum()), np.int64),
        )
    )
    if not again.all():
        learners.meet(replica.numbers())
