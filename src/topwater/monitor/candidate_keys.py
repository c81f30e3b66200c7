"""Keys in a list for changing scores: k + spare of each window are kept, and not the window.

::

    arrivals ──► scored with what the replica remembers ──► list
    a window closes ──► the objects that the list knows ──► elect, fetch
                    ──► changed scores ──► list ──► answer
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import reduce
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topwater.candidates.objects import Candidates, Memory, Objects, Traces, places, stack
from topwater.candidates.rescorable import UNSCORED, UNSEEN, build
from topwater.model import Counts, FloatArray, IntArray, Items, KeyArray, Millis
from topwater.monitor.open_windows import OpenWindows, WindowItems, WindowKeys, WindowResult
from topwater.monitor.shards import shard_of
from topwater.query import TopKQuery
from topwater.replica import Ranking, Refresher, WindowView
from topwater.replica.joins.joined_refresher import JoinedRefresher
from topwater.replica.look_ups import LookingUp
from topwater.replica.nominations import Nominations
from topwater.replica.store import NEVER
from topwater.scoring.aggregates import Aggregation
from topwater.tables import column, keys_from_arrow, keys_to_arrow, pack, unpack

T = TypeVar("T", Candidates, Traces)
Range = tuple[FloatArray, FloatArray]


class CandidateKeys:
    """One object per key, its last event; a list keeps those that may still win.

    An arrival is scored with what the replica remembers of its key, or with an average value,
    and may be forgotten at once: its remote value is then never asked for. So an answer is exact
    only if all of this holds:

    1. Every object that the list knows in the window was read for this answer.
    2. The list is certain of its ranking, given the scores that it was told.
    3. No object that was forgotten before could be in the answer, whatever its remote value has
       become. That is so if none was forgotten in this window, or if even the greatest score
       that any remote value gives to the greatest stream part is below the last one shown.

    Parameters
    ----------
    query, aggregation
        What is asked; the aggregation has one name, and it is a ``last``.
    first
        The first window that is not answered yet.
    refresher
        Keeps the replica.
    """

    def __init__(
        self, query: TopKQuery, aggregation: Aggregation, first: int, refresher: Refresher
    ) -> None:
        (self._name,) = aggregation.aggregates
        self._query = query
        self._aggregation = aggregation
        self._windows = query.window
        self._refresher = refresher
        spare = refresher.settings.spare
        self._list = build(str(query.list), query.window, query.k, spare, first=first)
        trend = query.score.monotone(self._name) or 0
        best_rises = trend if query.score.order == "largest" else -trend
        # The lists want stream parts that the score does not fall with.
        self._sign = -1.0 if best_rises < 0 else 1.0
        self._unsure_at: Millis = UNSEEN

    def add(self, table: pa.Table, oldest: int) -> None:
        """Take in the last event of each key and pane."""
        table = self._aggregation.merge(table.filter(pc.field("pane") >= oldest))
        keys = keys_from_arrow(table.column("key"))
        stream = self._sign * column(table, self._name)
        scores = self._scores(stream, self._refresher.values.of_keys(keys))
        arrived = self._news(Objects(scores, column(table, "time"), keys, stream))
        if len(arrived):
            self._list.add(self._windows.group(arrived))

    def answers(self, current: int, until: int) -> LookingUp[list[WindowResult]]:
        """The best of each window."""
        found: list[WindowResult] = []
        for window in range(current, until + 1):
            result = yield from self._answer(window)
            found.append(result)
        return found

    def skip(self, window: int) -> None:
        """Forget windows. What comes in for it is scored with what is remembered by now."""
        self._rescore_changed(self._list.known(window + 1))
        self._list.expire(window)

    def snapshot(self) -> pa.Table:
        """The list's memory: its candidates, and the traces of the others."""
        return _packed(self._list.snapshot(), self._unsure_at)

    def restore(self, table: pa.Table) -> None:
        """Give the list its memory back."""
        memory, self._unsure_at = _unpacked(table)
        self._list.restore(memory)

    def _answer(self, window: int) -> LookingUp[WindowResult]:
        known = self._list.known(window)
        # What a policy elects must not depend on the list.
        known = known.take(np.argsort(known.key, kind="stable"))
        view = WindowView(
            index=window,
            end=self._windows.window(window).end,
            names=known.key,
            values={self._name: self._sign * known.stream},
            last_event=known.time,
        )
        unread = self._list.forgotten(window)
        ranking = yield from self._refresher.refreshing(view, hold=True)
        self._rescore_changed(known, *self._changed_outside(view, ranking.look_ups.keys))
        top = self._list.top(window)
        top = top.take(top.score > UNSCORED)
        exact = ranking.exact and self._certain(window, top, unread)
        kept = len(self._list)
        self.skip(window)
        return WindowResult(
            Items(top.score, top.time, top.key),
            kept,
            Counts(bad_score=ranking.unscored, forgotten=ranking.forgotten),
            values={self._name: self._sign * top.stream},
            ranking=replace(self._of(top, view, ranking), exact=exact),
        )

    def _scores(self, stream: FloatArray, remote: FloatArray) -> FloatArray:
        columns = {self._name: self._sign * stream, self._refresher.settings.remote: remote}
        scores = self._query.score.rank_scores(columns)
        return np.where(np.isfinite(scores), scores, UNSCORED)

    def _news(self, arrived: Objects) -> Objects:
        """What is not overtaken: of several events of a key at one time, the greatest counts."""
        memory = self._list.snapshot()
        if self._sign < 0:
            # A greater value, with a lesser score, may have been forgotten at that very time.
            again = (arrived.time == memory.forgotten_at) & ~np.isin(
                arrived.key, memory.candidates.key
            )
            if again.any():
                self._unsure_at = max(self._unsure_at, memory.forgotten_at)
        held = memory.candidates.take(np.isin(memory.candidates.time, arrived.time))
        if not len(held):
            return arrived
        most = held.stream_most if self._sign > 0 else -held.stream
        greatest = dict(zip(_events(held), most.tolist(), strict=True))
        before = np.array([greatest.get(event, -np.inf) for event in _events(arrived)])
        return arrived.take(before < self._sign * arrived.stream)

    def _rescore_changed(
        self, known: Candidates, others: KeyArray | None = None, times: IntArray | None = None
    ) -> None:
        """Tell the list the scores that changed: of what it knows, and of ``others``."""
        scores = self._scores(known.stream, self._refresher.values.of_keys(known.key))
        # The upper bound of a score may change alone.
        moved = known.take((scores != known.score) | (known.stream != known.stream_most))
        keys, at = moved.key, moved.time
        if others is not None and times is not None and len(others):
            keys = np.concatenate([keys, others]) if len(keys) else others
            at = np.concatenate([at, times])
        if not len(keys):
            return
        remote = self._refresher.values.of_keys(keys)
        self._list.rescore(keys, lambda stream, which: self._scores(stream, remote[which]), at)

    def _changed_outside(self, view: WindowView, fetched: KeyArray) -> tuple[KeyArray, IntArray]:
        """Keys that the list does not know, but whose value was found changed; and their times."""
        replica = self._refresher.replica
        fetched = fetched[places(view.keys, fetched) < 0] if len(fetched) else fetched
        slots = replica.find(fetched)
        fetched, slots = fetched[slots >= 0], slots[slots >= 0]
        new = replica.changed[slots] == view.end
        times = replica.hinted[slots[new]]
        opens = view.end - self._windows.width
        return fetched[new], np.where(times > opens, times, UNSEEN)

    def _certain(self, window: int, top: Candidates, unread: Range | None) -> bool:
        """Is the ranking right, if all that the list knows was read?"""
        sure = self._windows.window(window).start >= self._unsure_at
        return sure and self._list.exact(window) and self._beats_all(top, unread)

    def _beats_all(self, top: Candidates, unread: Range | None) -> bool:
        """Could no object between such stream parts be in the answer, whatever its remote value?"""
        if unread is None:
            return True
        if len(top) < self._query.k:
            return False
        low, high = sorted(self._sign * float(end) for end in unread)
        ranges = {self._name: (low, high), self._refresher.settings.remote: (-np.inf, np.inf)}
        _, most = self._query.score.rank_bounds({}, ranges)
        return bool(most.max() < top.score[-1])

    def _of(self, top: Candidates, view: WindowView, ranking: Ranking) -> Ranking:
        """The same for what the list shows: also keys that it did not know before."""
        shown = places(view.keys_at(ranking.rows), top.key)
        replica = self._refresher.replica
        slots = replica.lend(top.key)
        fetched, values = replica.fetched[slots], self._refresher.values
        confidence = np.ones(len(top))
        confidence[shown >= 0] = ranking.confidence[shown[shown >= 0]]
        found = replace(
            ranking,
            rows=places(view.keys, top.key),
            scores=top.score,
            remote=values.shown(slots),
            assumed=values.assumed(slots),
            age=np.where(fetched == NEVER, -1, view.end - fetched),
            confidence=confidence,
        )
        replica.reclaim()
        return found


def joined_memory(parts: Sequence[pa.Table]) -> pa.Table:
    """What lists of disjoint keys remember, as one list may take it up."""
    opened = [_unpacked(part) for part in parts]
    candidates = stack([memory.candidates for memory, _ in opened]).ranked()
    traces = reduce(Traces.merge, (memory.traces for memory, _ in opened))
    forgotten_at = max(memory.forgotten_at for memory, _ in opened)
    return _packed(Memory(candidates, traces, forgotten_at), max(at for _, at in opened))


def divided_memory(whole: pa.Table, shards: int) -> list[pa.Table]:
    """What each shard's list remembers of one list.

    Whose keys were forgotten is not known, so each has all traces: what it says of its exactness
    is right, but may be less than it could say.
    """
    memory, unsure_at = _unpacked(whole)
    owners = shard_of(keys_to_arrow(memory.candidates.key), shards)
    return [
        _packed(replace(memory, candidates=memory.candidates.take(owners == shard)), unsure_at)
        for shard in range(shards)
    ]


def _packed(memory: Memory, unsure_at: Millis) -> pa.Table:
    meta = {"forgotten_at": memory.forgotten_at, "unsure_at": unsure_at}
    parts = [pack(_to_table(memory.candidates), {}), pack(_to_table(memory.traces), meta)]
    return pa.table({"part": pa.array(parts, pa.binary())})


def _unpacked(table: pa.Table) -> tuple[Memory, Millis]:
    (candidates, _), (traces, meta) = (unpack(part.as_py()) for part in table.column("part"))
    kept, others = _from_table(Candidates, candidates), _from_table(Traces, traces)
    return Memory(kept, others, meta["forgotten_at"]), meta["unsure_at"]


def _events(found: Items) -> zip[tuple[object, int]]:
    return zip(found.key.tolist(), found.time.tolist(), strict=True)


def _to_table(columns: Candidates | Traces) -> pa.Table:
    arrays = {each.name: getattr(columns, each.name) for each in fields(columns)}
    return pa.table({**arrays, "key": keys_to_arrow(arrays["key"])})


def _from_table(kind: type[T], table: pa.Table) -> T:
    names = [each.name for each in fields(kind)]
    arrays = {name: column(table, name) for name in names if name != "key"}
    return kind(**arrays, key=keys_from_arrow(table.column("key")))


def open_windows(
    query: TopKQuery, first: int, refresher: Refresher | JoinedRefresher | Nominations | None
) -> OpenWindows:
    """What holds the open windows of a query."""
    aggregation = query.aggregation
    if aggregation is None:
        return WindowItems(query, first)
    if isinstance(refresher, Refresher) and query.forgets_keys:
        return CandidateKeys(query, aggregation, first, refresher)
    return WindowKeys(query, aggregation, refresher)
