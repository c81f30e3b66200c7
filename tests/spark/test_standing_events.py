"""Events and changes of standing queries, packed."""

from __future__ import annotations

import pyarrow as pa

from topwater.model import Counts
from topwater.monitor.shards import shard_of
from topwater.spark.standing_events import (
    CHANGE,
    KEY,
    TIME,
    _pack_changes,
    _pack_events,
    changes_of,
    usable,
    value_name,
)
from topwater.tables import unpack
from topwater.windows import FARTHEST

X, Y = value_name(0), value_name(1)
NAN, INF = float("nan"), float("inf")
EVENTS = pa.table(
    {
        TIME: [1, 2, 3, 4, None, None, FARTHEST],
        X: [1.0, NAN, None, 1.0, 1.0, INF, 1.0],
        Y: [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        KEY: ["a", "b", "c", None, "d", None, "e"],
    }
)


def test_what_is_wrong_with_an_event_is_counted_once() -> None:
    kept, counts = usable(EVENTS)
    assert kept.column(KEY).to_pylist() == ["a"]
    assert counts == Counts(events=7, bad_score=3, bad_key=1, bad_time=2)


def test_without_keys_none_is_missing() -> None:
    kept, counts = usable(EVENTS.drop_columns([KEY]))
    assert kept.column(TIME).to_pylist() == [1, 4]
    assert (counts.bad_key, counts.bad_score, counts.bad_time) == (0, 3, 2)
    good = EVENTS.slice(0, 1)
    assert usable(good)[0] is good, "nothing is copied"


def test_packed_events_have_their_counts_with_them() -> None:
    (batch,) = _pack_events(iter(EVENTS.to_batches()))
    (row,) = batch.to_pylist()
    assert (row["task"], row["part"]) == (0, 0)
    table, meta = unpack(row["portion"])
    assert table.column(X).to_pylist() == [1.0]
    assert Counts(**meta) == usable(EVENTS)[1]


def test_changes_go_to_the_shard_of_their_name() -> None:
    names = [*"abcdefgh", None]
    feed = pa.table(
        {
            "name": names,
            CHANGE: [f'{{"op": "cancel", "name": "{name}"}}' for name in names],
            TIME: [*range(8), None],
        }
    )
    packed = [
        row for batch in _pack_changes(2, iter(feed.to_batches())) for row in batch.to_pylist()
    ]
    assert [row["shard"] for row in packed] == [0, 1]
    whose = shard_of(pa.array([*"abcdefgh", ""]), 2).tolist()
    for row in packed:
        found = changes_of(unpack(row["portion"])[0])
        mine = [at for at, shard in enumerate(whose) if shard == row["shard"]]
        assert [time for time, _ in found] == [feed.column(TIME)[at].as_py() for at in mine]
        assert [change["name"] for _, change in found] == [str(names[at]) for at in mine]
