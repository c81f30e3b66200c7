"""Stage 2 in Spark's own tester, without Java."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from topwater import TopKQuery, run, sliding
from topwater.errors import AFRESH, StateError
from topwater.monitor.reduction import reduce_batch
from topwater.spark.answer_rows import packed
from topwater.spark.processor import MonitorProcessor, require_same_origin, require_same_shards
from topwater_lab.bids.generator import Bids


@pytest.mark.parametrize("seed", range(5))
def test_any_cut_into_micro_batches_gives_the_same_answers(seed: int) -> None:
    """Without Java: Spark's own tester drives the processor, one shard, random cuts."""
    rng = np.random.default_rng(seed)
    bids = Bids(rows_per_second=20, seconds=60, seed=seed, disorder_ms=900, lots=20)
    query = TopKQuery(
        key="key",
        time="time",
        score="value",
        k=3,
        window=sliding("12s", "5s", start=bids.origin_ms),
        lateness=bids.disorder_ms,
    )
    tester = TwsTester(MonitorProcessor(query.to_json()), timeMode="None")
    cuts = [0, *sorted(set(rng.integers(1, len(bids), 8).tolist())), len(bids)]
    found: list[Row] = []
    for start, end in itertools.pairwise(cuts):
        batch = bids.batch(start, end)
        third = len(batch) // 3
        parts = [reduce_batch(query, part).pack() for part in (batch[:third], batch[third:])]
        rows = [Row(shard=0, task=task, part=0, portion=part) for task, part in enumerate(parts)]
        found += tester.test(0, rows[::-1] if start % 2 else rows)
    batches = [bids.batch(start, end) for start, end in itertools.pairwise(cuts)]
    local = list(run(query, batches))[: len(found)]
    assert len(found) >= 9
    assert [row.asDict() for row in found] == [packed(answer) for answer in local]


def test_a_state_is_taken_up_only_by_as_many_shards_and_the_same_events() -> None:
    require_same_shards(2, 2)
    require_same_origin("a pattern", "a pattern")
    with pytest.raises(StateError, match="written with shards=2, and now it is shards=3") as caught:
        require_same_shards(2, 3)
    assert caught.value.fix == f"use shards=2, or {AFRESH}"
    with pytest.raises(StateError, match="another pattern"):
        require_same_origin("a pattern", "")


def test_a_bounded_table_has_every_window_answered_at_once() -> None:
    query = TopKQuery(key="key", time="time", score="value", k=1, window=sliding(10, 10))
    events = {"key": ["a", "b"], "time": [3, 14], "value": [1.0, 2.0]}
    rows = [Row(shard=0, task=0, part=0, portion=reduce_batch(query, events).pack())]
    for bounded, expected in ((False, [["a"]]), (True, [["a"], ["b"]])):
        tester = TwsTester(MonitorProcessor(query.to_json(), bounded=bounded))
        assert [row.key for row in tester.test(0, rows)] == expected
