"""A batch reduced: what stays of it, its parts for shards and groups, and its bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from topwater import TopKQuery, tumbling
from topwater.monitor.reduction import PartialBatch, reduce_batch, reduce_for_shards
from topwater.monitor.shards import shard_of


@pytest.mark.parametrize("take", ["each", {"v": "last(v)"}])
@pytest.mark.parametrize("keys", [["a", "b"], [1, 2], []])
def test_portions_come_back(take: Any, keys: list[Any]) -> None:
    query = TopKQuery(key="who", time="at", window=tumbling(5), score="v", k=1, take=take)
    n = len(keys)
    part = reduce_batch(query, {"who": keys, "at": [3, 8][:n], "v": [1.0, 2.0][:n]})
    again = PartialBatch.unpack(part.pack())
    assert again.table.equals(part.table)
    for name in ("panes", "events", "newest"):
        assert getattr(again.times, name).tolist() == getattr(part.times, name).tolist()
    assert (again.counts, again.counted, again.group) == (part.counts, True, None)


EVENTS = {
    "who": ["a", "b", "c", "d", "a", None],
    "at": [1, 2, 3, 7, 8, 9],
    "v": [1.0, 5.0, 3.0, 2.0, np.nan, 4.0],
    "team": ["red", "blue", "red", None, "blue", "red"],
}


def query_of(**changes: Any) -> TopKQuery:
    plain: dict[str, Any] = {"key": "who", "time": "at", "window": tumbling(5), "score": "v"}
    return TopKQuery(**({"k": 2} | plain | changes))


def test_of_each_pane_the_best_stay_and_the_rest_is_counted() -> None:
    part = reduce_batch(query_of(), EVENTS)
    assert sorted(part.table.column("key").to_pylist()) == ["b", "c", "d"]
    assert (part.counts.bad_score, part.counts.bad_key) == (1, 1)
    assert (part.times.panes.tolist(), part.times.newest.tolist()) == ([0, 1], [3, 9])
    assert part.times.events.tolist() == [3, 1]


def test_aggregates_have_a_row_per_key_and_pane() -> None:
    part = reduce_batch(query_of(take={"n": "count"}, score="n"), EVENTS)
    found = zip(*(part.table.column(name).to_pylist() for name in ("pane", "key")), strict=True)
    assert sorted(found) == [(0, "a"), (0, "b"), (0, "c"), (1, "a"), (1, "d")]


def test_floors_drop_what_is_below_them() -> None:
    part = reduce_batch(query_of(), EVENTS, floors=lambda panes: np.full(len(panes), 4.0))
    assert part.table.column("key").to_pylist() == ["b"]
    assert part.times.events.tolist() == [3, 1]


@pytest.mark.parametrize("shards", [1, 3])
def test_each_shard_gets_its_keys_and_one_counts_the_events(shards: int) -> None:
    whole = reduce_batch(query_of(k=9), EVENTS)
    parts = list(whole.split(shards))
    assert [part.counted for part in parts] == [True, *[False] * (shards - 1)]
    assert [part.counts.bad for part in parts] == [2, *[0] * (shards - 1)]
    for shard, part in enumerate(parts):
        keys = part.table.column("key").combine_chunks()
        assert set(shard_of(keys, shards).tolist()) <= {shard}
        assert part.times.newest.tolist() == whole.times.newest.tolist()
    assert sum(part.table.num_rows for part in parts) == whole.table.num_rows


def test_groups_are_parts_of_their_own_and_every_shard_hears_the_time() -> None:
    found = list(reduce_for_shards(query_of(group_by="team"), EVENTS, 2))
    beats, groups = found[:2], found[2:]
    assert [(shard, part.counted, part.table.num_rows) for shard, part in beats] == [
        (0, False, 0),
        (1, False, 0),
    ]
    assert all(part.times.newest.tolist() == [3, 9] for _, part in beats)
    keys = {part.group: sorted(part.table.column("key").to_pylist()) for _, part in groups}
    assert keys == {None: [], "red": ["a", "c"], "blue": ["b"]}
    lost = next(part for _, part in groups if part.group is None)
    assert lost.counts.bad_key == 1
