"""Stage 3 in Spark's own tester, without Java; test_hosts.py has it on Spark."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from tests.support.scenarios import Bench, scenario
from topwater.monitor import stored_journal
from topwater.monitor.shard_monitors import ShardedMonitor
from topwater.spark.joint_processor import JointProcessor
from topwater.spark.packed_rows import ANSWER, FIGURES, LATE, packed, packed_figures
from topwater.spark.processor import STATE
from topwater.spark.shard_placement import PLACE


@pytest.mark.parametrize("shards", [2, 7])
@pytest.mark.parametrize("same_worker", [False, True])
def test_a_restart_after_every_micro_batch_changes_nothing(
    shards: int, same_worker: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that some journals are in their maps, and some on the way there or back.
    monkeypatch.setattr(stored_journal, "BESIDE", 3_000)
    each = scenario("worth", 8, files=10)
    bench = Bench(each, shards, np.random.default_rng(1))
    for file in each.files:
        bench.run([file])
        bench.restart(same_worker=same_worker)
    monitor = ShardedMonitor(each.query, shards, source=each.source)
    right = []
    for batch in each.files:
        monitor.ingest(batch)
        right += monitor.close_until(monitor.watermark or 0)
    assert len(right) >= 8
    assert [row for row in bench.rows if row["kind"] == ANSWER] == [
        packed(answer, each.query) for answer in right
    ]
    assert any(row["kind"] == LATE for row in bench.rows)


def test_where_no_window_ends_nothing_is_written() -> None:
    each = scenario("worth", 0)
    tester = TwsTester(JointProcessor(each.query.to_json(), shards=2, run="r"))
    told = packed_figures({"kept": 1})
    (row,) = tester.test(0, [Row(**told, **{PLACE: 0})])
    assert (row.asDict(), row.kind) == (told, FIGURES)
    assert tester.peekValueState(STATE, 0) is None
