"""Many standing queries over one stream: register, feed, read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from topwater.errors import QueryError
from topwater.model import BoolArray, Counts, FloatArray, IntArray, Items, Key, KeyArray
from topwater.monitor.columns import Batch
from topwater.standing.algorithms import Settings, algorithms
from topwater.standing.arrays import join_records, sort_order, usable_rows
from topwater.standing.block_index import Indexed
from topwater.standing.engines import Engine, NumericQuery
from topwater.standing.object_batch import read_objects
from topwater.standing.object_store import Store
from topwater.standing.standing_query import Costing, StandingQuery, costing
from topwater.validation import checked_call, shown

_ROWS = 1 << 16
_MEANING = np.dtype([("root", "?"), ("sign", "f8"), ("offset", "f8")])
"""How the cost of a query's object becomes its score."""


@dataclass(frozen=True, slots=True)
class Results:
    """The result stream: every object once per query, when it first got among its k best.

    Attributes
    ----------
    query, key, score
        Whose, what, and how good.
    position, time
        The object's place in the stream, from 1, and its time (the place, if none was given).
    at
        The place of the object whose arrival brought it there: its own, or a later one.
    """

    query: KeyArray
    key: KeyArray
    score: FloatArray
    position: IntArray
    time: IntArray
    at: IntArray

    def __len__(self) -> int:
        return len(self.score)


@checked_call()
class Standing:
    """Continuous top-k queries, ad hoc: each sees the objects that come after it.

    Parameters
    ----------
    columns
        The attributes of the objects, all numbers.
    algorithm
        How candidates are kept: see ``topwater.standing``.
    buffer
        Of how many objects (or, for windows of time, milliseconds) a filter decides first. It may
        not exceed half of a query's window. Left out, it is half of each query's window.
    sigma, additional
        ``pa``: the probability of error, and how many more candidates it keeps than it must.
    gamma
        By which share of its candidates a relaxed skyband may grow before it is pruned.
    indexed
        Whether a query looks only at those objects that lie in cells of a grid which it can want:
        always, never, or (``"auto"``) where that is faster. It does not change an answer.
    cells
        The slices of that grid along each column; by default so many that a cell has a few objects.

    Notes
    -----
    A window slides with every object. A batch of objects is computed against all queries by
    compiled loops; answers do not depend on how batches are cut. Of objects with equal scores the
    later one ranks higher. Distances are compared by their squares.

    Examples
    --------
    >>> import numpy as np
    >>> from topwater.scoring import Euclidean
    >>> standing = Standing(["x", "y"])
    >>> standing.register(StandingQuery("home", 1, 100, Euclidean({"x": 0.0, "y": 0.0})))
    >>> found = standing.add({"x": np.array([3.0, 1.0, 2.0]), "y": np.array([4.0, 1.0, 2.0])})
    >>> found.key.tolist(), found.score.round(2).tolist()
    ([1, 2], [5.0, 1.41])
    >>> standing.top("home").key.tolist()
    [2]
    """

    def __init__(
        self,
        columns: Sequence[str],
        *,
        algorithm: str = "rapf",
        buffer: int | None = None,
        sigma: float = 1e-3,
        gamma: float = 0.2,
        additional: int = 10,
        indexed: Indexed = "auto",
        cells: int | None = None,
    ) -> None:
        self.settings = Settings(
            columns, algorithm, buffer, sigma, gamma, additional, indexed, cells
        )
        self.counts = Counts()
        self._store = Store(len(self.settings.columns))
        make = algorithms[algorithm]
        self._engines = (make(self.settings, False), make(self.settings, True))
        self._slots: dict[Key, int] = {}
        self._queries: dict[int, StandingQuery] = {}
        self._costings: dict[int, Costing] = {}
        self._given: dict[int, int] = {}
        self._free: set[int] = set()
        self._timed: set[int] = set()
        self._names: KeyArray = np.empty(8, object)
        self._meanings: npt.NDArray[np.void] = np.zeros(8, _MEANING)
        self._newest = -(2**62)

    def register(self, query: StandingQuery) -> None:
        """Add a query. It sees the objects that come from now on."""
        _require_query(query)
        if query.name in self._slots:
            raise QueryError(
                f"{query.name!r} is registered already",
                field="name",
                fix="choose another name, or change the query",
            )
        self._admit(query)

    def change(self, query: StandingQuery) -> None:
        """Replace the query of the same name; the new one begins with an empty window."""
        _require_query(query)
        before = self._slot(query.name)
        self._admit(query)  # first, so that a query that is refused leaves the old one as it was
        self._dismiss(before)

    def cancel(self, name: Key) -> None:
        """Forget a query."""
        self._dismiss(self._slot(name))
        del self._slots[name]

    def add(self, objects: Batch) -> Results:
        """Bring a batch of objects; what became one of some query's k best.

        Parameters
        ----------
        objects
            The columns, or a table of pandas, Polars or Arrow; and perhaps ``time`` (timestamps,
            or whole milliseconds) and ``key``. What is not a finite number, has no key or no time,
            or is older than what came before, is counted and left out.
        """
        columns, times, keys = self._read(objects)
        self._store.append(self._scored(columns), times, keys)
        found = [
            engine.feed(
                self._store.columns,
                self._store.times if timed else self._store.positions,
                self._store.origin,
                self._store.size,
            )
            for timed, engine in enumerate(self._engines)
        ]
        results = self._results(join_records(found))
        self._forget()
        return results

    def top(self, name: Key) -> Items:
        """A query's k best, best first, as of the last object."""
        slot = self._slot(name)
        entries = self._engine(slot).top(slot)
        times, keys = self._store.describe(entries["seq"])
        return Items(self._costings[slot].scores(entries["cost"].copy()), times, keys)

    def __len__(self) -> int:
        return len(self._slots)

    def __iter__(self) -> Iterator[StandingQuery]:
        return iter(self._queries.values())

    def __contains__(self, name: object) -> bool:
        try:
            return name in self._slots
        except TypeError:  # a list, for instance, names nothing
            return False

    @property
    def references(self) -> int:
        """How many objects the queries refer to; each counts as often as it is referred to."""
        return sum(len(engine.held()) for engine in self._engines)

    @property
    def objects(self) -> int:
        """How many different objects the queries need: those referred to, and the recent ones."""
        held = np.concatenate([engine.held() for engine in self._engines])
        recent = self._store.origin + self._recent()
        newest = self._store.origin + self._store.size
        return len(np.unique(held[held < recent])) + max(0, newest - recent)

    def snapshot(self) -> dict[str, Any]:
        """All that :meth:`build` needs: arrays, and values that JSON can hold."""
        return {
            "settings": {name: getattr(self.settings, name) for name in Settings.__slots__},
            "queries": [(slot, query.to_dict()) for slot, query in self._queries.items()],
            "given": dict(self._given),
            "newest": self._newest,
            "counts": self.counts,
            "store": self._store.snapshot(),
            "engines": [engine.snapshot() for engine in self._engines],
        }

    @classmethod
    def build(cls, state: Mapping[str, Any]) -> Self:
        """Go on from a snapshot: the answers are the same as if nothing had happened."""
        settings = dict(state["settings"])
        made = cls(settings.pop("columns"), **settings)
        made._store.restore(state["store"])
        for engine, its in zip(made._engines, state["engines"], strict=True):
            engine.restore(its)
        for slot, given in state["queries"]:
            query = StandingQuery.from_dict(given)
            made._name(slot, query, costing(query.score, made.settings.columns))
        made._free = set(range(max(made._queries, default=-1) + 1)) - set(made._queries)
        made._given = {int(slot): column for slot, column in state["given"].items()}
        made._newest, made.counts = state["newest"], state["counts"]
        return made

    def _admit(self, query: StandingQuery) -> None:
        made = costing(query.score, self.settings.columns)
        slot = min(self._free, default=len(self._queries))
        column = 0
        if made.given:
            taken = set(self._given.values())
            first = len(self.settings.columns)
            column = next(at for at in range(first, first + len(taken) + 1) if at not in taken)
        born = self._store.origin + self._store.size
        self._engines[query.timed].admit(
            slot,
            NumericQuery(made.kind, column, made.point, made.weight, query.k, query.width, born),
        )
        self._free.discard(slot)
        self._name(slot, query, made)
        if made.given:
            self._given[slot] = column

    def _dismiss(self, slot: int) -> None:
        self._engine(slot).dismiss(slot)
        del self._queries[slot], self._costings[slot]
        self._given.pop(slot, None)
        self._timed.discard(slot)
        self._free.add(slot)

    def _slot(self, name: Key) -> int:
        if name not in self:
            raise QueryError(
                f"no query is named {shown(name)}",
                field="name",
                fix="register it first; it may have been cancelled before",
            )
        return self._slots[name]

    def _engine(self, slot: int) -> Engine:
        return self._engines[self._queries[slot].timed]

    def _read(self, objects: Batch) -> tuple[list[FloatArray], IntArray | None, KeyArray | None]:
        """What can be used of a batch; the rest is counted."""
        columns, keys, times, timely = read_objects(self.settings.columns, objects)
        if times is None and self._timed:
            raise QueryError(
                "there are queries with windows of time, and objects without",
                field="time",
                fix="give the objects a column 'time' in whole milliseconds",
            )
        good = usable_rows(columns)
        named = np.ones(len(good), np.bool_)
        if keys is not None and keys.dtype == object:
            named = np.array([key is not None and key == key for key in keys], np.bool_)
        use = good & named & timely
        late = np.zeros(len(good), np.bool_)
        if times is not None:
            known = np.where(use, times, self._newest)
            late = use & (times < np.maximum.accumulate(np.append(self._newest, known)[:-1]))
        self.counts += Counts(
            events=len(good),
            bad_score=int(np.sum(~good)),
            bad_key=int(np.sum(good & ~named)),
            bad_time=int(np.sum(good & named & ~timely)),
            late=int(np.sum(late)),
        )
        return self._kept(use & ~late, columns, times, keys)

    def _kept(
        self,
        use: BoolArray,
        columns: list[FloatArray],
        times: IntArray | None,
        keys: KeyArray | None,
    ) -> tuple[list[FloatArray], IntArray | None, KeyArray | None]:
        if not use.all():
            columns = [column[use] for column in columns]
            times = None if times is None else times[use]
            keys = None if keys is None else keys[use]
        if times is not None and len(times):
            self._newest = int(times[-1])
        return columns, times, keys

    def _scored(self, columns: list[FloatArray]) -> list[FloatArray]:
        """The columns, and below them the costs of the scores that are computed beforehand."""
        if not self._given:
            return columns
        more = max(self._given.values()) + 1 - len(columns)
        wide = [*columns, *np.zeros((more, len(columns[0])))]
        named = dict(zip(self.settings.columns, columns, strict=True))
        for slot, at in self._given.items():
            costs = -self._queries[slot].score.rank_scores(named)
            # Not a number is never below a bound: such an object gets into no answer.
            bad = ~np.isfinite(costs)
            wide[at] = np.where(bad, np.nan, costs)
            self.counts += Counts(bad_score=int(bad.sum()))
        return wide

    def _results(self, records: npt.NDArray[np.void]) -> Results:
        order = sort_order(records["step"], records["query"], records["seq"])
        query, seq, step = (records[name][order] for name in ("query", "seq", "step"))
        times, keys = self._store.describe(seq)
        costs, its = records["cost"][order], self._meanings[query]
        costs = np.where(its["root"], np.sqrt(np.abs(costs)), costs)
        scores = its["offset"] + its["sign"] * costs
        return Results(self._names[query], keys, scores, seq, times, step)

    def _name(self, slot: int, query: StandingQuery, made: Costing) -> None:
        """Note what the numbers of a slot mean."""
        if slot >= len(self._names):
            self._names = np.resize(self._names, 2 * slot + 8)
            self._meanings = np.resize(self._meanings, 2 * slot + 8)
        self._names[slot] = query.name
        self._meanings[slot] = (made.root, made.sign, made.offset)
        self._slots[query.name] = slot
        self._queries[slot], self._costings[slot] = query, made
        if query.timed:
            self._timed.add(slot)

    def _recent(self) -> int:
        """The first row that an engine may read again."""
        counted, timed = (engine.reach for engine in self._engines)
        size, store = self._store.size, self._store
        row = size - min(size, counted)
        if timed and size:
            newest = store.times[size - 1]
            row = min(row, int(np.searchsorted(store.times[:size], newest - timed)))
        return row

    def _forget(self) -> None:
        row = self._recent()
        if row > max(_ROWS, self._store.size - row):
            none = np.empty(0, np.int64)
            held = [engine.held() for engine in self._engines] if self._store.named else [none]
            self._store.drop(row, np.concatenate(held))


def _require_query(given: object) -> None:
    if not isinstance(given, StandingQuery):
        raise QueryError(
            f"{shown(given)} is not a standing query",
            field="query",
            fix="give a topwater.standing.StandingQuery",
        )
