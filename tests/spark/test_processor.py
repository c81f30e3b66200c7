"""Stage 2 in Spark's own tester, without Java."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from topwater import TopKMonitor, TopKQuery, run, sliding
from topwater.errors import AFRESH, BatchError, StateError
from topwater.monitor import stored_journal
from topwater.monitor.reduction import reduce_batch
from topwater.monitor.stored_journal import BESIDE
from topwater.spark.answer_rows import FIGURES, packed
from topwater.spark.chunk_map import CHUNKS
from topwater.spark.processor import (
    STATE,
    MonitorProcessor,
    require_same_name,
    require_same_origin,
    require_same_shards,
    warn_of_growth,
)
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
    assert [row.asDict() for row in found] == [packed(answer, query) for answer in local]


def test_a_state_is_taken_up_only_by_as_many_shards_and_the_same_events() -> None:
    require_same_shards(2, 2, AFRESH)
    require_same_origin("a pattern", "a pattern")
    with pytest.raises(StateError, match="written with shards=2, and now it is shards=3") as caught:
        require_same_shards(2, 3, AFRESH)
    assert caught.value.fix == f"use shards=2, or {AFRESH}"
    with pytest.raises(StateError, match="another pattern"):
        require_same_origin("a pattern", "")


def test_a_state_is_taken_up_only_by_the_ranking_of_its_name() -> None:
    for kept, name in (("a", "a"), ("", "a"), ("a", "")):
        require_same_name(kept, name)
    query = TopKQuery(key="key", time="time", score="value", k=1, window=sliding(10, 10))
    part = reduce_batch(query, {"key": ["a"], "time": [3], "value": [1.0]}).pack()
    rows = [Row(shard=0, task=0, part=0, portion=part)]
    left, right = (TwsTester(MonitorProcessor(query.to_json(), name=name)) for name in "ab")
    assert left.test(0, rows) == []
    state = left.peekValueState(STATE, 0)
    assert state is not None
    right.updateValueState(STATE, 0, state)
    with pytest.raises(StateError, match="that of the ranking 'a', and here it is 'b'"):
        right.test(0, rows)


def test_a_bounded_table_has_every_window_answered_at_once() -> None:
    query = TopKQuery(key="key", time="time", score="value", k=1, window=sliding(10, 10))
    events = {"key": ["a", "b"], "time": [3, 14], "value": [1.0, 2.0]}
    rows = [Row(shard=0, task=0, part=0, portion=reduce_batch(query, events).pack())]
    for bounded, expected in ((False, [["a"]]), (True, [["a"], ["b"]])):
        tester = TwsTester(MonitorProcessor(query.to_json(), bounded=bounded))
        assert [row.key for row in tester.test(0, rows)] == expected


COUNTED = TopKQuery(
    key="key", time="time", take={"n": "count"}, score="n", k=2, window=sliding(10, 10)
)


def counted(*times: int) -> list[Row]:
    events = {"key": ["a"] * len(times), "time": list(times)}
    return [Row(shard=0, task=0, part=0, portion=reduce_batch(COUNTED, events).pack())]


def figures(rows: list[Row]) -> dict[str, int]:
    return next(row.figures for row in rows if row.kind == FIGURES)


def copied(tester: TwsTester, run: str) -> TwsTester:
    """Another attempt at what comes next: with the same state."""
    other = TwsTester(MonitorProcessor(COUNTED.to_json(), run=run))
    state = tester.peekValueState(STATE, 0)
    assert state is not None
    other.updateValueState(STATE, 0, state)
    other.updateMapState(CHUNKS, 0, tester.peekMapState(CHUNKS, 0))
    return other


@pytest.mark.parametrize("beside", [0, BESIDE])
def test_a_monitor_goes_on_in_its_worker_and_another_is_built_elsewhere(
    beside: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_journal, "BESIDE", beside)
    tester = TwsTester(MonitorProcessor(COUNTED.to_json(), run="goes on"))
    assert "begun" in figures(tester.test(0, counted(1, 2)))
    assert figures(tester.test(0, counted(3)))["kept"] == 1
    elsewhere = copied(tester, "another worker")
    assert bool(tester.peekMapState(CHUNKS, 0)) is (not beside)
    found = figures(elsewhere.test(0, counted(4)))
    assert found["rebuilt"] == 1
    assert 0 < found["written"] <= found["held"]
    back = copied(elsewhere, "goes on")
    last = back.test(0, counted(15))
    assert figures(last)["caught_up"] == 1
    assert last[0].values == [[4.0]]


@pytest.mark.parametrize("beside", [0, BESIDE])
def test_an_attempt_that_was_not_committed_is_forgotten(
    beside: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker lives, and has counted an event that the state does not have."""
    monkeypatch.setattr(stored_journal, "BESIDE", beside)
    tester = TwsTester(MonitorProcessor(COUNTED.to_json(), run="in vain"))
    tester.test(0, counted(1, 2))
    before = copied(tester, "in vain")
    tester.test(0, counted(3, 4, 5))
    again = before.test(0, counted(3))
    assert figures(again)["rebuilt"] == 1
    assert before.test(0, counted(15))[0].values == [[3.0]]


def test_an_attempt_that_fails_half_way_leaves_nothing_in_the_worker() -> None:
    tester = TwsTester(MonitorProcessor(COUNTED.to_json(), run="half way"))
    tester.test(0, counted(1, 2))
    bad = reduce_batch(COUNTED, {"key": [7], "time": [3]}).pack()
    with pytest.raises(BatchError, match="holds integers, and held strings before"):
        tester.test(0, [*counted(3), Row(shard=0, task=1, part=0, portion=bad)])
    again = tester.test(0, counted(4))
    assert figures(again)["rebuilt"] == 1
    assert tester.test(0, counted(15))[0].values == [[3.0]]


def test_a_lost_chunk_and_a_state_of_the_old_form_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stored_journal, "BESIDE", 0)
    tester = TwsTester(MonitorProcessor(COUNTED.to_json(), run="lost"))
    tester.test(0, counted(1, 2))
    lost = copied(tester, "elsewhere")
    lost.updateMapState(CHUNKS, 0, {})
    with pytest.raises(StateError, match="panes 1, chunk 1 of 1, is missing"):
        lost.test(0, counted(3))
    old = copied(tester, "elsewhere")
    old.updateValueState(STATE, 0, (TopKMonitor.build(COUNTED).snapshot(), 0, 1, "", ""))
    with pytest.raises(StateError, match="a form that this program does not know"):
        old.test(0, counted(3))


def test_a_state_that_grows_is_told_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    sizes = [0, 200, 255, 257, 300, 600, 700, 250, 290, 290]
    for before, after in itertools.pairwise(sizes):
        warn_of_growth(3, before * 2**20, after * 2**20)
    told = [record.message for record in caplog.records]
    assert [text.split(";")[0].rpartition("has ")[2] for text in told] == [
        "257 MB",
        "600 MB",
        "290 MB",
    ]
    assert "shard 3" in told[0]
    assert "about 12 seconds" in told[1]
