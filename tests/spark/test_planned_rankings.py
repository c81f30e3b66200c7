"""What rankings are called."""

from __future__ import annotations

import pytest

from topwater import QueryError, TopKQuery, tumbling
from topwater.spark.planned_rankings import observed_name, rankings_in
from topwater.spark.planned_rankings import ranking_labels as labels

QUERY = TopKQuery(key="key", time="time", window=tumbling("10s"), score="value", k=1)


def test_two_without_a_name_are_told_apart_in_the_order_in_which_they_were_made() -> None:
    first, second = observed_name(""), observed_name("")
    assert first != second
    assert labels([second, first]) == {first: "#1", second: "#2"}
    assert labels([second]) == {second: ""}


def test_a_name_is_kept_and_others_are_passed_over() -> None:
    assert labels(["mine", "topwater.best", "topwaterfall"]) == {"topwater.best": "best"}
    assert labels(["topwater"]) == {"topwater": ""}


@pytest.mark.spark
def test_a_plan_names_its_rankings_from_the_last_step_to_the_first(spark: object) -> None:
    from topwater.spark import topk

    session: object = spark
    events = session.readStream.format("rate").load()  # type: ignore[attr-defined]
    rows = events.selectExpr("timestamp AS time", "value AS key", "double(value) AS value")
    first = topk(rows, QUERY, name="first", shards=2)
    again = first.select("key", "window_end", "score")
    second = topk(again.selectExpr("key", "window_end AS time", "score AS value"), QUERY)
    # Also where nothing is left of the columns that topk() gave.
    found = rankings_in(second.selectExpr("to_json(struct(*)) AS value"))
    assert [(each.name, each.label, each.shards) for each in found] == [
        ("", "#1", 1),
        ("first", "first", 2),
    ]
    assert [each.query for each in found] == [QUERY, QUERY]
    with pytest.raises(QueryError, match="not made by topk"):
        rankings_in(events)


@pytest.mark.spark
def test_a_name_is_text(spark: object) -> None:
    from topwater.spark import topk

    table = spark.createDataFrame([(1, 2, 3.0)], "key int, time int, value double")  # type: ignore[attr-defined]
    with pytest.raises(QueryError, match="name: must be text"):
        topk(table, QUERY, name=" ")
