"""Which way a score goes with each of its values, and the ranges that say so."""

from __future__ import annotations

import math

import pytest

from tests.support.rspql_asked import asked, ranked
from topwater.errors import QueryError
from topwater.rspql.plan.monotonicity import ranges


def test_filters_give_the_signs_that_a_product_needs() -> None:
    assert ranked("?v * ?f", "FILTER(?v >= 0) FILTER(?f > 0)").score == "v * f"
    assert ranked("?v * ?f", "FILTER(?v >= 0 && 0 < ?f)").score == "v * f"
    assert ranked("?f / ?v", "FILTER(?v > 0) FILTER(?f > 0)").score == "f / v"
    with pytest.raises(QueryError, match="rises or falls"):
        ranked("?f / ?v", "FILTER(?v >= 0) FILTER(?f > 0)")
    with pytest.raises(QueryError, match="rises or falls"):
        ranked("?v * ?f", "FILTER(?v >= -1) FILTER(?f > 0)")
    with pytest.raises(QueryError, match="rises or falls"):
        ranked("?v * ?f", "FILTER(?v >= 0 || ?f >= 0)")


@pytest.mark.parametrize("score", ["?v * ?f", "ABS(?f)", "?v / ?f", "?f - ?f * 2"])
def test_a_score_that_may_go_either_way_is_refused(score: str) -> None:
    with pytest.raises(QueryError, match="rises or falls with") as caught:
        ranked(score)
    assert "FILTER(?" in caught.value.fix


ABOVE_0 = math.nextafter(0, 1)
JOINED = "WINDOW :w {{ ?s :v ?v ; :x ?x FILTER({}) }} SERVICE :r {{ ?s :f ?f }} {}"


@pytest.mark.parametrize(
    ("inside", "outside", "known"),
    [
        ("?x < 9", "", {"v": (-math.inf, math.inf)}),
        ("?v > 0", "", {"v": (ABOVE_0, math.inf)}),
        ("0 < ?v && ?v <= 5", "", {"v": (ABOVE_0, 5.0)}),
        ("?v >= 1 && ?v >= 2", "", {"v": (2.0, math.inf)}),
        ("?v = 3", "", {"v": (3.0, 3.0)}),
        ("?v + 1 > 0", "", {"v": (-math.inf, math.inf)}),
        ("?v > 0 || ?x > 0", "", {"v": (-math.inf, math.inf)}),
        ("?x < 9", "FILTER(?f >= 0 && ?f < 7)",
         {"v": (-math.inf, math.inf), "f": (0.0, math.nextafter(7, 0))}),
    ],
)  # fmt: skip
def test_ranges_that_filters_give(
    inside: str, outside: str, known: dict[str, tuple[float, float]]
) -> None:
    plan = asked("?s", JOINED.format(inside, outside), "ORDER BY DESC(?v + ?f) LIMIT 3")
    assert ranges(plan) == known


@pytest.mark.parametrize(
    ("inside", "aggregate", "known"),
    [
        ("?x < 9", "COUNT(*)", (1.0, math.inf)),
        ("?v >= 2", "SUM(?v)", (0.0, math.inf)),
        ("?v <= -2", "SUM(?v)", (-math.inf, 0.0)),
        ("?v <= 2", "SUM(?v)", (-math.inf, math.inf)),
        ("?v >= 2", "MAX(?v)", (2.0, math.inf)),
        ("?v >= 2", "AVG(?v)", (2.0, math.inf)),
    ],
)
def test_ranges_of_aggregates(inside: str, aggregate: str, known: tuple[float, float]) -> None:
    where = JOINED.format(inside, "")
    plan = asked("?s", where, f"GROUP BY ?s ?f ORDER BY DESC({aggregate} + ?f) LIMIT 3")
    assert list(ranges(plan).values()) == [known]


def test_a_range_holds_in_all_alternatives() -> None:
    union = (
        "{ WINDOW :w { ?s :v ?v FILTER(?v > 0) } } UNION { WINDOW :w { ?s :x ?v FILTER(?v > 4) } }"
    )
    plan = asked("?s", f"{union} SERVICE :r {{ ?s :f ?f }}", "ORDER BY DESC(?v + ?f) LIMIT 3")
    assert ranges(plan) == {"v": (ABOVE_0, math.inf)}


def test_what_groups_have_to_fulfil_narrows_what_is_known_of_them() -> None:
    having = "GROUP BY ?s ?f HAVING (COUNT(*) <= 5) ORDER BY DESC(COUNT(*) + ?f) LIMIT 3"
    plan = asked("?s", JOINED.format("?x < 9", ""), having)
    assert list(ranges(plan).values()) == [(1.0, 5.0)]
