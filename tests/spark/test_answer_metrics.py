"""What Spark observes of answers, on its way to the metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.observed import START, Ran, eventually
from topwater import TopKQuery, remote, tumbling
from topwater.model import Answer, Counts, Freshness, Window
from topwater.spark import Progress, start, topk, watch
from topwater.spark.answer_metrics import progress_figures, source_figures, window_figures

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


def answer(end: int, **more: Any) -> Answer:
    return Answer(window=Window(0, end - 10, end), rows=(), exact=True, candidates=0, **more)


def spending(spent: float, **left: float) -> Answer:
    fresh = Freshness(fetched=1, failed=0, bad=0, precision=1.0, ndcg=1.0, missed=False)
    return answer(10, freshness=fresh, spent=spent, left=tuple(left.items()))


def test_how_late_the_first_of_several_windows_is() -> None:
    found = progress_figures([window_figures([answer(20)]), window_figures([answer(10)])], 25)
    assert (found["window_end"], found["delay_ms"]) == (20, 15)
    none = progress_figures([{"held": 3}], 25)
    assert "window_end" not in none
    assert "delay_ms" not in none


def test_the_least_that_is_left_counts() -> None:
    """Groups with one purse say one after the other what is left."""
    groups = [spending(2.0, day=5.0, minute=1.0), spending(1.0, day=4.0), spending(0.0, day=0.0)]
    shard = window_figures(groups[:2]) | source_figures({"shop": (3, 1)})
    found = progress_figures([shard, window_figures(groups[2:])], 0)
    assert found["left"] == {"day": 0.0, "minute": 1.0}
    assert (found["cost"], found["asked"], found["unanswered"]) == (3.0, {"shop": 3}, {"shop": 1})


COUNT = st.integers(0, 5)
FRESH = st.none() | st.builds(
    Freshness,
    fetched=COUNT,
    failed=COUNT,
    bad=COUNT,
    precision=st.floats(0, 1),
    ndcg=st.floats(0, 1),
    missed=st.booleans(),
    audited=st.none() | st.floats(0, 1),
    doubtful=st.booleans(),
)
ANSWERS = st.lists(
    st.builds(
        Answer,
        window=st.builds(Window, st.just(0), st.just(0), st.integers(1, 9)),
        rows=st.just(()),
        exact=st.booleans(),
        candidates=COUNT,
        counts=st.builds(Counts, events=COUNT, late=COUNT, bad_key=COUNT),
        freshness=FRESH,
        problems=st.lists(
            st.tuples(st.sampled_from(["", "timeout"]), st.integers(1, 3)),
            unique_by=lambda each: each[0],
            max_size=2,
        ).map(tuple),
    ),
    max_size=6,
)


@given(ANSWERS, COUNT)
def test_the_figures_are_those_of_the_answers_however_they_were_divided(
    answers: list[Answer], cut: int
) -> None:
    found = progress_figures([window_figures(answers[:cut]), window_figures(answers[cut:])], 0)
    fresh = [each.freshness for each in answers if each.freshness is not None]
    assert found["windows"] == len(answers)
    assert found.get("candidates", 0) == max((each.candidates for each in answers), default=0)
    assert found["events"] == sum(each.counts.events for each in answers)
    assert found["fetched"] == sum(each.fetched for each in fresh)
    assert found["bad_values"] == sum(each.bad for each in fresh)
    assert found["missed"] == sum(each.missed for each in fresh)
    audited = [each.audited for each in fresh if each.audited is not None]
    for name, values in (("precision", [each.precision for each in fresh]), ("audited", audited)):
        assert found[name] == (pytest.approx(sum(values) / len(values)) if values else None)
    reasons = [pair for each in answers for pair in each.problems]
    assert found["problems"] == {
        why: sum(count for other, count in reasons if other == why)
        for why in sorted({why for why, _ in reasons})
    }


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
