"""What a snapshot holds, for people to read. No monitor is built, and no source is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from topwater.errors import AFRESH, QueryError, StateError
from topwater.model import Counts, IntArray, Key, Millis, Window, plain_key
from topwater.query import TopKQuery
from topwater.query.keyed_query import forms_of, outer_query
from topwater.replica.store import NEVER
from topwater.tables import column, known_form, unpack


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept for one ranking.

    Attributes
    ----------
    group
        Whose ranking it is, if there is one per group.
    next_window
        The window to be answered next; None before the first event.
    holds, rows
        What the open windows hold, ``"items"``, ``"partials"`` (one per key and pane) or
        ``"candidates"``, and how many.
    keys, fetched, oldest_fetch
        The keys in the replica; how many of them were ever fetched; and when the one whose
        value is oldest was.
    size
        In bytes.
    """

    group: Key | None
    next_window: Window | None
    holds: str
    rows: int
    keys: int
    fetched: int
    oldest_fetch: Millis | None
    size: int


@dataclass(frozen=True, slots=True)
class Description:
    """What a snapshot holds.

    Attributes
    ----------
    query
        What it answers.
    newest
        The time that is trusted: of the newest event, as far as no jump was too wide.
    waiting
        Whether the last batch lay too far ahead to be believed.
    counts
        What happened since the last answer, and will be in the next one.
    rankings
        One, or one per group.
    size
        In bytes.
    """

    query: TopKQuery
    newest: Millis | None
    waiting: bool
    counts: Counts
    rankings: tuple[Kept, ...]
    size: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "query": self.query.to_dict(),
            "newest": self.newest,
            "waiting": self.waiting,
            "counts": asdict(self.counts),
            "rankings": [asdict(kept) | {"group": plain_key(kept.group)} for kept in self.rankings],
            "size": self.size,
        }


def describe(state: bytes) -> Description:
    """What is in a snapshot of a monitor, or of a grouped one.

    Raises
    ------
    StateError
        If the bytes are not a snapshot, are damaged, or come from another version.

    Examples
    --------
    >>> from topwater import TopKMonitor, tumbling
    >>> query = TopKQuery(key="who", time="at", window=tumbling(10), score="value", k=1)
    >>> monitor = TopKMonitor.build(query)
    >>> monitor.ingest({"who": ["a", "b"], "at": [1, 12], "value": [7.0, 5.0]})
    >>> found = describe(monitor.snapshot())
    >>> found.newest, found.rankings[0].next_window.end, found.rankings[0].rows
    (12, 10, 2)
    """
    table, meta = unpack(state)
    try:
        with known_form("the snapshot"):
            return _described(state, table, meta)
    except QueryError as error:
        raise StateError(
            f"the state has a form that this program does not know: {error}",
            fix=f"run the version that wrote it, or {AFRESH}",
        ) from error


def _described(state: bytes, table: pa.Table, meta: Mapping[str, Any]) -> Description:
    if "forms" in meta:  # that of a monitor over keys of any type, around another one
        state = table.column("state")[0].as_py()
        table, meta = unpack(state)
    query = TopKQuery.from_dict(meta["query"])
    _, form = forms_of(query)
    facts = meta["facts"]
    counts = Counts(**facts["counts"])
    if query.group_by is None:
        rankings = [_kept(query, None, state, table, facts)]
    else:
        rankings = []
        rows = zip(table.column("group").to_pylist(), table.column("state"), strict=True)
        for group, packed in rows:
            inside, its = unpack(packed.as_py())
            name = group if form is None else form.key(group)
            rankings.append(_kept(query, name, packed.as_py(), inside, its["facts"]))
            counts += Counts(**its["facts"]["counts"])
    clock = facts["clock"]
    return Description(
        outer_query(query), clock["newest"], clock["waiting"], counts, tuple(rankings), len(state)
    )


def _kept(
    query: TopKQuery, group: Key | None, state: bytes, table: pa.Table, facts: Mapping[str, Any]
) -> Kept:
    keys = fetched = 0
    oldest = None
    if query.refresh is not None:
        table, replica = (unpack(part.as_py())[0] for part in table.column("part"))
        times = _times_of(replica) if query.joins else column(replica, "fetched")
        known = times[np.not_equal(times, NEVER)]
        keys, fetched = len(times), len(known)
        oldest = int(known.min()) if fetched else None
    holds = "items" if query.aggregation is None else "partials"
    if "part" in table.column_names:
        holds, table = "candidates", unpack(table.column("part")[0].as_py())[0]
    window = _next_window(query, facts)
    return Kept(group, window, holds, table.num_rows, keys, fetched, oldest, len(state))


def _times_of(replica: pa.Table) -> IntArray:
    """When the entries of all joins were fetched: one value says it for all of its join."""
    found: dict[str, IntArray] = {}
    names, parts = (replica.column(name).to_pylist() for name in ("name", "part"))
    for name, packed in zip(names, parts, strict=True):
        label, _, value = name.rpartition(" ")
        if value != "shown":
            found.setdefault(label, column(unpack(packed)[0], "fetched"))
    return np.concatenate([np.empty(0, np.int64), *found.values()])


def _next_window(query: TopKQuery, facts: Mapping[str, Any]) -> Window | None:
    current = facts["current"]
    if current is None and facts["filled"]:
        current = facts["filled"][0][0]
    return None if current is None else query.window.window(current)
