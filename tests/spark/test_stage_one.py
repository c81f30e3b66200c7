"""Stage 1, without Java: what a task sends on of its events."""

from __future__ import annotations

import pyarrow as pa
import pytest

from topwater import TopKQuery, tumbling
from topwater.monitor.reduction import PartialBatch
from topwater.spark import stage_one
from topwater.spark.stage_one import gathered, partial_rows

QUERY = TopKQuery(key="key", time="time", score="value", k=1, window=tumbling(10))
EVENTS = pa.table({"key": [1, 2, 3, 4], "time": [1, 2, 3, 14], "value": [5.0, 7.0, 6.0, 1.0]})


def sizes(*rows: int) -> list[int]:
    batches = [pa.RecordBatch.from_pydict({"a": [0.0] * each}) for each in rows]
    return [table.num_rows for table in gathered(iter(batches))]


def test_small_batches_are_gathered_until_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_one, "ROWS_AT_ONCE", 4)
    assert sizes(2, 2, 1) == [4, 1]
    assert sizes(3, 9, 4) == [12, 4]
    assert sizes(0, 0) == sizes() == []


def test_of_each_pane_only_the_best_are_sent() -> None:
    batch = partial_rows(QUERY, EVENTS, 1, task=5, part=2)
    assert batch.schema.names == ["shard", "task", "part", "portion"]
    (row,) = batch.to_pylist()
    assert (row["shard"], row["task"], row["part"]) == (0, 5, 2)
    sent = PartialBatch.unpack(row["portion"])
    assert sent.table.column("key").to_pylist() == [2, 4]
    assert sent.counts.events == 4


def test_every_shard_gets_its_keys_and_one_counts_the_events() -> None:
    rows = partial_rows(QUERY, EVENTS, 3, task=0, part=0).to_pylist()
    assert [row["shard"] for row in rows] == [0, 1, 2]
    parts = [PartialBatch.unpack(row["portion"]) for row in rows]
    assert [part.counted for part in parts].count(True) == 1
    keys = [key for part in parts for key in part.table.column("key").to_pylist()]
    assert sorted(keys) == [2, 4]
    assert len({part.times.newest.max() for part in parts}) == 1, "all come to the same time"


def test_a_task_numbers_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_one, "ROWS_AT_ONCE", 2)
    reduce = stage_one._reducer(QUERY.to_json(), 1)
    rows = [row for batch in reduce(iter(EVENTS.to_batches(2))) for row in batch.to_pylist()]
    assert [(row["task"], row["part"]) for row in rows] == [(0, 0), (0, 1)]
