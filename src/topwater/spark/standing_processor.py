"""Stage 2 of standing queries: those of one shard, inside Spark's state store.

All decisions are those of :class:`~topwater.standing.Standing`. Spark brings the packed events
and changes of a micro-batch, keeps the snapshot and takes the results.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import BinaryType, StructField, StructType

from topwater.errors import AFRESH, QueryError, StateError
from topwater.model import Counts
from topwater.monitor.shards import shard_of
from topwater.spark.processor import require_same_shards
from topwater.spark.shipping import Parcel, opened
from topwater.spark.standing_events import (
    CHANGES,
    EVENTS,
    KEY,
    ORDER,
    TIME,
    changes_of,
    value_name,
)
from topwater.spark.standing_queries import apply
from topwater.spark.standing_state import packed_snapshot, unpacked_snapshot
from topwater.spark.workers import set_modules_aside
from topwater.tables import keys_from_arrow, unpack

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues

    from topwater.model import Key
    from topwater.standing import Results, Standing

STATE = "standing"
"""The name of the one state variable: a snapshot, with whose it is."""

_FORM = StructType([StructField("snapshot", BinaryType())])

Shown: TypeAlias = Literal["stream", "answers"]
Changes: TypeAlias = list[tuple[int | None, dict[str, Any]]]
_COLUMNS = ["query", "key", "score", "position", "time", "at", "rank", "told"]
_TEXTS = 20
"""The number of refused changes that a micro-batch reports in words."""


def inside_schema(name_type: str, key_type: str) -> str:
    """The columns of the rows inside: results or answers, and one row with the counts."""
    return (
        f"query {name_type}, key {key_type}, score double, position bigint, time bigint, "
        "at bigint, rank int, told string"
    )


class StandingProcessor(StatefulProcessor):
    """Runs the queries of a shard.

    Parameters
    ----------
    settings
        Of :class:`~topwater.standing.Standing`, as JSON.
    queries
        Those to begin with, of all shards, ready to travel.
    begun
        What tells one set of settings and queries from others.
    shards
        How many there are.
    shown
        The result stream, or the k best of each query after each micro-batch.
    """

    def __init__(
        self, settings: str, queries: Parcel, *, begun: str, shards: int, shown: Shown
    ) -> None:
        self._settings = settings
        self._queries = queries
        self._begun = begun
        self._shards = shards
        self._shown = shown

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        set_modules_aside()
        self._state = handle.getValueState(STATE, _FORM)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002  a place: see topwater.spark.shard_placement
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        """Take in a micro-batch, and give out what it brought."""
        frame = pd.concat(list(rows)).sort_values(["task", "part"], kind="stable")
        shard = int(frame["shard"].iloc[0])
        standing = self._standing(shard)
        before = standing.counts
        events, counts = _events(frame["portion"][frame["kind"] == EVENTS])
        changes = _changes(frame["portion"][frame["kind"] == CHANGES])
        found, refused = fed(standing, events, changes)
        meta = {"begun": self._begun, "shard": shard, "shards": self._shards}
        packed = packed_snapshot(standing.snapshot(), meta)
        self._state.update((packed,))
        if self._shown == "stream":
            yield from map(_results, found)
        elif events.num_rows:
            yield from _answers(standing)
        told = _figures(standing, shard, counts, before, refused)
        told |= {"changes": len(changes), "state_bytes": len(packed)}
        yield _frame(query=[None], told=[json.dumps(told)])

    def _standing(self, shard: int) -> Standing:
        stored = self._state.get()
        if stored is None:
            return begun(json.loads(self._settings), opened(self._queries), shard, self._shards)
        snapshot, meta = unpacked_snapshot(bytes(stored[0]))
        require_same_begin(meta, self._begun, self._shards)
        from topwater.standing import Standing  # compiled loops: only for those who use them

        return Standing.build(snapshot)


def require_same_begin(
    meta: Mapping[str, Any], begun: str | None, shards: int, where: str = "the checkpoint"
) -> None:
    """Raise unless a state was begun with the same queries, settings and number of shards."""
    require_same_shards(meta["shards"], shards, AFRESH)
    if meta["begun"] != begun:
        raise StateError(
            f"{where} was begun with other queries or settings",
            fix=f"give those, and change queries by changes=; or {AFRESH}",
        )


def begun(
    settings: dict[str, Any], queries: Sequence[Mapping[str, Any]], shard: int, shards: int
) -> Standing:
    """The queries of a shard, before the first event."""
    from topwater.standing import Standing, StandingQuery

    made = Standing(**settings)
    for query in of_shard(queries, shard, shards):
        made.register(StandingQuery.from_dict(query))
    return made


def of_shard(
    queries: Sequence[Mapping[str, Any]], shard: int, shards: int
) -> Iterator[Mapping[str, Any]]:
    """The queries that a shard has."""
    if queries:
        whose = shard_of(pa.array([query["name"] for query in queries]), shards)
        yield from (query for query, its in zip(queries, whose, strict=True) if its == shard)


def fed(
    standing: Standing, events: pa.Table, changes: Changes
) -> tuple[list[Results], Counter[str]]:
    """Bring the events of a micro-batch, in order, and the changes where they belong.

    A change comes before the events that are later than it; one without a time before all.

    Returns
    -------
    tuple
        The results, and how many changes were refused, by why.
    """
    columns = _columns(standing, _ordered(events))
    earliest = [float("-inf") if time is None else time for time, _ in changes]
    order = np.argsort(np.array(earliest, float), kind="stable").tolist()
    cuts = np.searchsorted(columns["time"], np.array(earliest, float), side="right")
    found: list[Results] = []
    refused: Counter[str] = Counter()
    first = 0
    for number in order:
        cut = int(cuts[number])
        if cut > first:
            found.append(standing.add(_slice(columns, first, cut)))
            first = cut
        change = changes[number][1]
        try:
            apply(standing, change)
        except (QueryError, KeyError, TypeError, ValueError) as error:
            why = getattr(error, "problem", repr(error))
            refused[f"{change.get('op')} {change.get('name')!r}: {why}"] += 1
    if first < events.num_rows:
        found.append(standing.add(_slice(columns, first, events.num_rows)))
    return found, refused


def _slice(columns: dict[str, Any], first: int, last: int) -> dict[str, Any]:
    return {name: column[first:last] for name, column in columns.items()}


def _ordered(events: pa.Table) -> pa.Table:
    """By time; at the same time by the order given, otherwise by key; and last by all else."""
    times = events.column(TIME).to_numpy() if events.num_rows else np.empty(0, np.int64)
    if np.all(np.diff(times) > 0):
        return events
    first = [name for name in (TIME, ORDER, KEY) if name in events.column_names]
    rest = [name for name in events.column_names if name not in first]
    return events.sort_by([(name, "ascending") for name in (*first, *rest)])


def _columns(standing: Standing, events: pa.Table) -> dict[str, Any]:
    if not events.num_rows:
        return {"time": np.empty(0, np.int64)}
    names = enumerate(standing.settings.columns)
    found = {name: events.column(value_name(at)).to_numpy() for at, name in names}
    found["time"] = events.column(TIME).to_numpy()
    if KEY in events.column_names:
        found["key"] = keys_from_arrow(events.column(KEY))
    return found


def _events(portions: pd.Series[Any]) -> tuple[pa.Table, Counts]:
    tables, counts = [], Counts()
    for portion in portions:
        table, meta = unpack(bytes(portion))
        tables.append(table)
        counts += Counts(**meta)
    return (pa.concat_tables(tables) if tables else pa.table({})), counts


def _changes(portions: pd.Series[Any]) -> Changes:
    return [each for portion in portions for each in changes_of(unpack(bytes(portion))[0])]


def _results(found: Results) -> pd.DataFrame:
    return _frame(
        query=found.query,
        key=found.key,
        score=found.score,
        position=found.position,
        time=found.time,
        at=found.at,
        rank=np.zeros(len(found), np.int32),
    )


def _answers(standing: Standing) -> Iterator[pd.DataFrame]:
    names: list[Key] = [query.name for query in standing]
    tops = [standing.top(name) for name in names]
    sizes = np.array([len(top) for top in tops], np.int64)
    total = int(sizes.sum())
    if not total:
        return
    query = np.empty(len(names), object)
    query[:] = names
    last = standing.counts.events - standing.counts.late
    yield _frame(
        query=np.repeat(query, sizes),
        key=np.concatenate([top.key for top in tops]),
        score=np.concatenate([top.score for top in tops]),
        position=np.zeros(total, np.int64),
        time=np.concatenate([top.time for top in tops]),
        at=np.full(total, last),
        rank=np.concatenate([np.arange(1, size + 1) for size in sizes]).astype(np.int32),
    )


def _figures(
    standing: Standing, shard: int, counts: Counts, before: Counts, refused: Counter[str]
) -> dict[str, Any]:
    """What only metrics see. What all shards see alike, the first one reports."""
    alike = asdict(counts) if shard == 0 else dict.fromkeys(asdict(counts), 0)
    late = standing.counts.late - before.late
    own = standing.counts.bad_score - before.bad_score
    return {
        **alike,
        "late": late if shard == 0 else 0,
        "bad_score": alike["bad_score"] + own,
        "queries": len(standing),
        "references": standing.references,
        "bad_changes": refused.total(),
        "refused": dict(refused.most_common(_TEXTS)) or None,
    }


def _frame(**columns: Any) -> pd.DataFrame:
    size = len(columns["query"])
    empty = np.full(size, None, object)
    return pd.DataFrame({name: columns.get(name, empty) for name in _COLUMNS})
