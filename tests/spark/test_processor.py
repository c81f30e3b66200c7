"""Stage 2 in Spark's own tester, without Java."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from topwater import TopKQuery, run, sliding
from topwater.monitor.reduction import reduce_batch
from topwater.spark.answer_rows import packed
from topwater.spark.processor import MonitorProcessor
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
