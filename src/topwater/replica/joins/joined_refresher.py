"""What keeps a ranking of several remote values fresh: choose entries, look them up, rank.

::

    view ──► row values ──► entry choice ──► wallet ──► sources ──► ranking, with estimates
             (entries of     (worth of        (what      (all at
              each join)      each entry)      it may)    once)

It stands where a :class:`~topwater.replica.refresher.Refresher` stands for one remote value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from topwater.model import (
    LOOK_UPS,
    Attempts,
    Fetched,
    FloatArray,
    Freshness,
    IntArray,
    KeyArray,
    LookUp,
    Millis,
    Remote,
    taken_together,
)
from topwater.protocols import Clock
from topwater.replica.joins.entry_choice import EntryChoice
from topwater.replica.joins.entry_store import EntryStore
from topwater.replica.joins.join_settings import JoinSettings
from topwater.replica.joins.row_values import Judge, RowValues
from topwater.replica.joins.row_worlds import RowWorlds
from topwater.replica.joins.value_store import Asked, Frame
from topwater.replica.joins.wallet import Wallet
from topwater.replica.joins.wish import Granted, Wanted, Wish
from topwater.replica.key_slots import KeySlots
from topwater.replica.look_ups import LookingUp, LookUps, alone
from topwater.replica.notices import NoticeDesk
from topwater.replica.pushed_values import PushedValues
from topwater.replica.time_left import TimeLeft
from topwater.replica.window_view import Ranking, WindowView
from topwater.scoring import Score
from topwater.scoring.condition import Condition
from topwater.tables import pack, unpack
from topwater.windows import Windows

_NONE: IntArray = np.empty(0, np.int64)


class Ranked(NamedTuple):
    """What is ranked: a score, a filter, windows, and how many are shown."""

    score: Score
    condition: Condition | None
    windows: Windows
    k: int


class Desk(Protocol):
    """Where all sources of a query are asked."""

    def most(self, source: str) -> int | None:
        """How many keys one request of a source may have; None for any number."""

    def fetch(
        self,
        asked: Sequence[tuple[str, KeyArray]],
        now: Millis,
        deadline: float | None,
        again: Mapping[str, Attempts],
    ) -> list[Fetched]:
        """What came for the keys of each source, all asked at the same time.

        ``again`` is what may be spent on further attempts, by the names of sources.
        """


class JoinedRefresher:
    """Keeps the entries of several joins fresh enough, and ranks windows with them.

    Parameters
    ----------
    settings
        What is looked up, and what it may cost.
    ranked
        What is ranked.
    desk
        Where sources are asked.
    share
        How many such rankings share the quotas.
    clock
        By which deadlines count.

    Attributes
    ----------
    stores
        What is remembered of each join.
    index
        Gives ranked keys their slots.
    choice, wallet
        Say what is worth a look-up, and what of that may be read.
    """

    by_rows = False

    def __init__(
        self,
        settings: JoinSettings,
        ranked: Ranked,
        desk: Desk,
        share: int = 1,
        clock: Clock | None = None,
    ) -> None:
        self.settings = settings
        self._ranked = ranked
        self._desk = desk
        self._judge = Judge(ranked.score, ranked.condition)
        self.index = KeySlots()
        by_column: dict[str | None, KeySlots] = {key: KeySlots() for key in settings.keys}
        by_column[None] = self.index
        frame = Frame(ranked.score, ranked.windows, ranked.k, settings.seed)
        self.stores = [
            EntryStore(join, frame, self._judge.columns, by_column[join.key])
            for join in settings.joins
        ]
        for store in self.stores:
            for each in store.stores.values():
                each.learners.beliefs.aim = settings.aim
        most = [desk.most(join.source) for join in settings.joins]
        self.wallet = Wallet(settings, ranked.windows.step, most, share)
        self.notices: NoticeDesk | None = None
        self._pushed: list[PushedValues] = []
        self.choice = EntryChoice(settings, ranked.windows, ranked.k)
        self._time = TimeLeft(clock)

    def listen(self, notices: NoticeDesk) -> None:
        """From now on heed notices of changes."""
        self.notices = notices
        self._pushed = [
            PushedValues(notices, store.join.source, store.index, store.stores)
            for store in self.stores
        ]

    @property
    def size(self) -> int:
        """About how many bytes all that is remembered takes."""
        return sum(store.size for store in self.stores)

    def begin(self, most: int | None = None) -> None:  # noqa: ARG002  the wallet knows
        """Say that work on the next window begins: its deadline counts from here."""
        self._time.begin()

    def refresh(self, view: WindowView) -> Ranking:
        """Spend what may be spent on a window, and rank it."""
        return alone(self.refreshing(view))

    def refreshing(self, view: WindowView) -> LookingUp[Ranking]:
        """The same, for a caller that looks up what several rankings want."""
        self._time.start_window()
        if not view.placed:
            slots = self.index.slots_of(view.arrow_at(np.arange(len(view))), add=True)
            view = view.at(slots)
        values = RowValues(view, self.stores, self._judge)
        self._hear(values, view.end)
        for store, slots in zip(self.stores, values.slots, strict=True):
            store.present(slots, view)
        wish = Wish(self._wanted(values), view.end)
        granted = yield wish
        if granted is None:
            granted = self._looked_up(wish)
        look_ups = self._take_in(values, wish, granted)
        self._time.end_fetch()
        ranking = self._answer(values, look_ups, granted)
        if self.notices is not None:
            ranking = replace(ranking, notices=self.notices.outcomes())
        for store in self.stores:
            store.first.reclaim()
        forgotten = self.forget_surplus()
        self._time.end_window()
        return replace(ranking, forgotten=forgotten)

    def _hear(self, values: RowValues, now: Millis) -> None:
        """Take in the notices that count by the close of a window."""
        if self.notices is None:
            return
        self.notices.due(now)
        for store, pushed, slots in zip(self.stores, self._pushed, values.slots, strict=True):
            if (latest := pushed.take_in(now)) is not None:
                store.note_latest(*latest)
            pushed.confirm(slots, now)

    def _wanted(self, values: RowValues) -> list[Wanted]:
        """Everything that can matter, if that may be read; or else what is worth most."""
        scores = values.scores()
        if self.wallet.unlimited:
            return self.choice.all_of(values, scores)
        return self.choice.weighed(values, scores)

    def _looked_up(self, wish: Wish) -> Granted:
        """What the wallet allows, from all sources at the same time."""
        rows = self.wallet.chosen(wish.now, wish.wanted)
        asked = [
            (join.source, each.keys[at])
            for join, each, at in zip(self.settings.joins, wish.wanted, rows, strict=True)
        ]
        seconds = self._time.for_fetching(self.settings.budget.seconds)
        counts = [len(at) for at in rows]
        again = self.wallet.again(wish.now, counts)
        got = self._desk.fetch(asked, wish.now, seconds, again)
        spent = self.wallet.spend(wish.now, counts, got, again)
        return Granted(rows, got, spent, self.wallet.left(wish.now))

    def _take_in(self, values: RowValues, wish: Wish, granted: Granted) -> LookUps:
        """Remember what came, and learn from it."""
        told: list[LookUps] = []
        for at, store in enumerate(self.stores):
            rows, got = granted.rows[at], granted.got[at]
            slots = wish.wanted[at].slots[rows]
            keys = wish.wanted[at].keys[rows]
            before = next(iter(store.stores.values())).replica.value[slots]
            asked = Asked(slots, values.view.index, wish.now, _heard(values, at, slots))
            bad = store.take_in(asked, got) if len(slots) else 0
            problems, lacks = tuple(got.problems().items()), tuple(got.lacks().items())
            first = _first(store.join.source, keys, before, got)
            told.append(LookUps(keys, bad, got.seconds, problems, first, lacks))
        return _together(told)

    def _answer(self, values: RowValues, look_ups: LookUps, granted: Granted) -> Ranking:
        """The window's best by what is known now, and how right that may be."""
        view, k, scores = values.view, self._ranked.k, values.scores()
        top = view.best_first(scores, k)
        remote = values.remote()
        lost = np.zeros(len(view), bool)
        for name in self._ranked.score.columns:
            if name in remote:
                lost |= np.isnan(remote[name])
        failed = np.zeros(len(view), bool)
        if self._judge.condition is not None:
            failed = ~self._judge.condition.holds({**values.stream(), **remote})
        unscored = int(np.count_nonzero(~np.isfinite(scores) & ~lost & ~failed))
        settled = not view.left_out and values.all_settled(scores, k)
        accuracy = (1.0, 1.0) if settled else self._accuracy(values, scores, len(top))
        freshness = self._freshness(look_ups, accuracy, int(np.count_nonzero(lost)))
        remotes = self._remotes(values, top)
        whole = [taken_together(each.values()) for each in remotes]
        return Ranking(
            rows=top,
            scores=scores[top],
            remote=np.full(len(top), np.nan),
            age=np.array([-1 if each.age is None else each.age for each in whole], np.int64),
            confidence=np.array([each.confidence for each in whole]),
            assumed=[each.assumed for each in whole],
            exact=settled and not freshness.nothing_usable,
            look_ups=look_ups,
            freshness=freshness,
            unscored=unscored,
            remotes=remotes,
            spent=granted.spent,
            left=granted.left,
        )

    def _accuracy(self, values: RowValues, scores: FloatArray, shown: int) -> tuple[float, float]:
        """Estimated precision@k and nDCG@k."""
        if not all(store.holds_numbers for store in self.stores):
            return 0.0, 0.0
        rows = self.choice.judged(values, scores)
        top = rows[:shown]
        known = np.ones(len(top))
        for store, slots in zip(self.stores, values.slots, strict=True):
            for each in store.stores.values():
                if not each.values.population.usable and not each.learners.beliefs.values.moves:
                    own = slots[top]
                    known *= (own < 0) | each.replica.known(np.maximum(own, 0))
        if len(top) and not known.all():
            # How values differ is not known either: one never fetched may be anything.
            return float(known.mean()), float(known.mean())
        seed = [self.settings.seed, values.view.index, 3]
        return RowWorlds(values, rows, scores[rows], self._ranked.k, seed).fare(shown)

    def _freshness(
        self, look_ups: LookUps, accuracy: tuple[float, float], without: int
    ) -> Freshness:
        target = self.settings.budget.accuracy
        knows = all(store.holds_numbers for store in self.stores)
        in_vain = look_ups.in_vain and not (look_ups.unknown and knows)
        return Freshness(
            fetched=len(look_ups.keys),
            failed=look_ups.failed,
            bad=look_ups.bad,
            precision=accuracy[0],
            ndcg=accuracy[1],
            missed=target is not None and accuracy[0] < target,
            without_value=without,
            nothing_usable=in_vain or (without > 0 and not knows),
            noisy=any(
                each.learners.noise.noisy for store in self.stores for each in store.stores.values()
            ),
        )

    def _remotes(self, values: RowValues, rows: IntArray) -> list[dict[str, Remote]]:
        """For each row, each remote value by its name."""
        found: list[dict[str, Remote]] = [{} for _ in range(len(rows))]
        for store, all_slots in zip(self.stores, values.slots, strict=True):
            slots = all_slots[rows]
            for name in store.join.remote:
                cells = store.cells(slots, name, values.view.end)
                for row, cell in zip(found, cells, strict=True):
                    row[name] = cell
        return found

    def forget_surplus(self, memory: int | None = None) -> int:
        """Forget what is beyond the limits, and say how many entries that was."""
        limits = [each for each in (memory, self.settings.memory) if each is not None]
        total = self.size
        if not limits or total <= min(limits):
            return 0
        forgotten = 0
        for store in self.stores:
            share = store.size * min(limits) // max(1, total) // len(store.stores)
            surplus = store.first.surplus(_NONE, share)
            store.forget(surplus)
            forgotten += len(surplus)
        return forgotten

    def snapshot(self) -> tuple[pa.Table, dict[str, Any]]:
        """All that a restart needs: a packed table for each value, and a few numbers."""
        names, parts = [], []
        for label, store in self.labelled():
            for name, each in store.stores.items():
                table = each.replica.snapshot()
                for column, learnt in each.learners.columns(each.replica.used()).items():
                    table = table.append_column(column, learnt)
                names.append(f"{label} {name}")
                parts.append(pack(table, {}))
            names.append(f"{label} shown")
            parts.append(pack(store.texts(), {}))
        return pa.table({"name": names, "part": pa.array(parts, pa.binary())}), self.facts()

    def restore(self, table: pa.Table, meta: Mapping[str, Any]) -> None:
        """Go on where :meth:`snapshot` was taken."""
        parts = dict(
            zip(*(table.column(name).to_pylist() for name in ("name", "part")), strict=True)
        )
        for label, store in self.labelled():
            for name, each in store.stores.items():
                held, _ = unpack(parts[f"{label} {name}"])
                each.replica.restore(held)
                each.learners.restore(held, each.replica.used())
            store.restore_texts(unpack(parts[f"{label} shown"])[0])
        self.restore_facts(meta)

    def labelled(self) -> list[tuple[str, EntryStore]]:
        """The stores of all joins, each with what it is called in a state."""
        return [(store.join.label, store) for store in self.stores]

    def facts(self) -> dict[str, Any]:
        """The few numbers of a snapshot, for JSON."""
        values = {
            f"{label} {name}": each.facts()
            for label, store in self.labelled()
            for name, each in store.stores.items()
        }
        more = {} if self.notices is None else {"notices": self.notices.facts()}
        return {"wallet": self.wallet.snapshot(), **values, **more}

    def restore_facts(self, meta: Mapping[str, Any]) -> None:
        """Take over what :meth:`facts` gave."""
        self.wallet.restore(meta["wallet"])
        if self.notices is not None:
            self.notices.restore_facts(meta.get("notices"))
        for label, store in self.labelled():
            for name, each in store.stores.items():
                each.restore_facts(meta[f"{label} {name}"])


def _heard(values: RowValues, join: int, slots: IntArray) -> IntArray:
    """When something was last heard of entries, in this window."""
    every, last_event = values.slots[join], values.view.last_event
    order = np.lexsort((last_event, every))
    at = np.searchsorted(every[order], slots, side="right") - 1
    return last_event[order][at]


def _first(source: str, keys: KeyArray, before: FloatArray, got: Fetched) -> tuple[LookUp, ...]:
    """The first of the keys, with what was remembered of each and what came."""
    columns = (keys, before, np.where(got.ok, got.values, np.nan), got.ok)
    rows = zip(*(column[:LOOK_UPS].tolist() for column in columns), strict=True)
    return tuple(LookUp(key, _number(old), _number(new), ok, source) for key, old, new, ok in rows)


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _together(told: Sequence[LookUps]) -> LookUps:
    """What was asked of all sources."""
    keys = np.concatenate([each.keys.astype(object) for each in told])
    problems: dict[str, int] = {}
    lacks: dict[str, int] = {}
    for each in told:
        for found, of in ((problems, each.problems), (lacks, each.lacks)):
            for reason, count in of:
                found[reason] = found.get(reason, 0) + count
    turns = [
        each.first[place] for place in range(LOOK_UPS) for each in told if place < len(each.first)
    ]
    return LookUps(
        keys,
        sum(each.bad for each in told),
        max(each.seconds for each in told),
        tuple(sorted(problems.items())),
        tuple(turns[:LOOK_UPS]),
        tuple(sorted(lacks.items())),
    )
