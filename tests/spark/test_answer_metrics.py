"""What Spark observes of answers, on its way to the metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import Row

from tests.support.observed import START, Ran, eventually
from topwater import TopKQuery, remote, tumbling
from topwater.spark import Progress, start, topk, watch
from topwater.spark.answer_metrics import answer_figures, by_source, source_figures

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_a_run_says_how_well_it_knows_its_rows(ran: Ran) -> None:
    """Two look-ups for seven keys in the first window; in the second only 4, which never comes."""
    figures = [(each.ranked, each.known) for each in ran.progress]
    assert figures == [(0, 0), (2, 1), (1, 0), (0, 0)]
    assert [each.value_age_ms for each in ran.progress] == [None, 0, None, None]


@pytest.mark.spark
def test_a_run_says_how_late_its_answers_are(ran: Ran) -> None:
    ends = [each.window_end for each in ran.progress]
    assert ends == [None, START + 10_000, START + 20_000, None]
    assert [each.delay_ms is None for each in ran.progress] == [True, False, False, True]
    delay = ran.progress[1].delay_ms
    assert delay is not None
    assert delay > 50 * 365 * 86_400_000  # the events are of 1970


def test_how_late_the_first_of_several_windows_is() -> None:
    seen = {"window_end": 20_000, "first_end": 10_000, "known": None}
    assert answer_figures(seen, 25_000) == {"window_end": 20_000, "delay_ms": 15_000}
    assert answer_figures({"window_end": None, "first_end": None}, 25_000) == {}


def test_the_least_that_is_left_counts() -> None:
    """Groups with one purse say one after the other what is left."""
    purses = [
        Row(spent=2.0, left={"1 d": 5.0, "1 min": 1.0}),
        Row(spent=None, left=None),
        Row(spent=1.0, left={"1 d": 4.0}),
    ]
    found = answer_figures({"purse": purses}, 0, [source_figures({"shop": (3, 1)})])
    assert found == {
        "asked": {"shop": 3},
        "unanswered": {"shop": 1},
        "cost": 3.0,
        "left": {"1 d": 4.0, "1 min": 1.0},
    }


def test_other_figures_of_shards_are_no_sources() -> None:
    assert by_source([{"held": 5, "asked a b": 2}]) == {"asked": {"a b": 2}, "unanswered": {}}


def several() -> TopKQuery:
    refresh: list[dict[str, Any]] = [
        {"remote": "price", "from": "shop", "per": {"1 min": 600}},
        {"remote": "trust", "from": "vendors", "key": "vendor", "cost": 5},
    ]
    return TopKQuery(
        key="product",
        time="at",
        window=tumbling(1_000, start=0),
        k=2,
        take={"sold": "count", "vendor": "last(vendor)"},
        score="sold * price * trust",
        refresh=refresh,
        budget={"cost": 20},
    )


@pytest.mark.spark
def test_several_sources_are_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("tea", 100, 7), ("tea", 200, 7), ("rice", 300, 8), ("oil", 1_500, 7)]
    events = spark.createDataFrame(rows, "product string, at bigint, vendor bigint")
    events.write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(events.schema).parquet(str(tmp_path / "in"))
    sources = {"shop": remote.memory({"tea": 2.0, "rice": 3.0}), "vendors": remote.memory({7: 0.5})}
    seen: list[Progress] = []
    with watch(spark, seen.append):
        running = start(
            topk(stream, several(), sources=sources),
            to="noop",
            checkpoint=tmp_path / "state",
            trigger={"availableNow": True},
            name="sales",
        )
        running.awaitTermination()
        eventually(lambda: any(each.windows for each in seen))
    [told] = [each for each in seen if each.windows]
    assert told.asked is not None
    assert told.asked == {"shop": 2, "vendors": 2}
    assert sum(told.asked.values()) == told.fetched
    assert told.cost == 2 + 2 * 5
    assert [*told.left.values()] == [10 - 2]  # a second's share of the quota, less what was asked
