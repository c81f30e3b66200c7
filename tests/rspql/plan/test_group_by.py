"""``GROUP BY`` and aggregates."""

from __future__ import annotations

import pytest

from tests.support.rspql_asked import Rows, answered, asked
from topwater.errors import QueryError
from topwater.local import rspql
from topwater.rspql.plan.plan import TIME, Bind

GROUPED = "GROUP BY ?s ORDER BY DESC({}) LIMIT 3"


@pytest.mark.parametrize(
    ("aggregate", "order", "expected"),
    [
        ("COUNT(*)", "DESC", {"a": 3.0, "b": 2.0}),
        ("COUNT(?v)", "DESC", {"a": 3.0, "b": 2.0}),
        ("SUM(?v)", "DESC", {"b": 11.0, "a": 6.0}),
        ("MIN(?v)", "ASC", {"a": 1.0, "b": 5.0}),
        ("MAX(?v)", "DESC", {"b": 6.0, "a": 3.0}),
        ("AVG(?v)", "DESC", {"b": 5.5, "a": 2.0}),
        ("SUM(?v) / COUNT(*)", "DESC", {"b": 5.5, "a": 2.0}),
        ("MAX(?v) - MIN(?v)", "DESC", {"a": 2.0, "b": 1.0}),
    ],
)
def test_aggregates(aggregate: str, order: str, expected: dict[str, float]) -> None:
    plan = asked(
        f"?s ({aggregate} AS ?n)",
        "WINDOW :w { ?s :v ?v }",
        f"GROUP BY ?s ORDER BY {order}(?n) LIMIT 5",
    )
    rows: Rows = {"s": [*"aaabb"], TIME: [1, 2, 3, 4, 5], "v": [1.0, 2.0, 3.0, 5.0, 6.0]}
    (answer,) = answered(plan, rows)
    assert dict(zip(answer.keys, answer.scores, strict=True)) == expected
    assert answer.keys == list(expected)


def test_having() -> None:
    plan = asked(
        "?s (SUM(?v) AS ?n)",
        "WINDOW :w { ?s :v ?v }",
        "GROUP BY ?s HAVING (COUNT(*) >= 2 && SUM(?v) < 10) ORDER BY DESC(?n) LIMIT 5",
    )
    rows: Rows = {"s": [*"aabbc"], TIME: [1, 2, 3, 4, 5], "v": [1.0, 2.0, 5.0, 6.0, 3.0]}
    (answer,) = answered(plan, rows)
    assert (answer.keys, answer.scores) == (["a"], [3.0])


def test_an_aggregate_of_an_expression_is_bound_by_the_pattern() -> None:
    plan = asked(
        "?s (SUM(?v * ?w) AS ?n)",
        "WINDOW :w { ?s :v ?v ; :w ?w }",
        "GROUP BY ?s ORDER BY DESC(?n) LIMIT 5",
    )
    (bind,) = plan.patterns[0].binds
    assert isinstance(bind, Bind)
    assert bind.formula == "v * w"
    assert plan.numbers == (bind.variable, f"{bind.variable}!")


@pytest.mark.parametrize(
    "value", ["MAX(COALESCE(?f, 3))", "COALESCE(?f, 3)", "COALESCE(MAX(?f), 3)"]
)
def test_a_default_may_be_said_in_a_group(value: str) -> None:
    plan = asked(
        "?s",
        "WINDOW :w { ?s :v ?v } OPTIONAL { SERVICE :r { ?s :f ?f } }",
        f"GROUP BY ?s ?f ORDER BY DESC(SUM(?v) + {value}) LIMIT 2",
    )
    (answer,) = answered(plan, {"s": ["a", "b"], TIME: [1, 2], "v": [4.0, 2.0]}, {"b": 6.0})
    assert (answer.keys, answer.scores) == (["b", "a"], [8.0, 7.0])


def test_a_default_that_is_never_needed_changes_nothing() -> None:
    plan = asked(
        "?s",
        "WINDOW :w { ?s :v ?v } SERVICE :r { ?s :f ?f }",
        "GROUP BY ?s ORDER BY DESC(SUM(?v) + MAX(COALESCE(?f, 3))) LIMIT 2",
    )
    (answer,) = answered(plan, {"s": ["a", "b"], TIME: [1, 2], "v": [4.0, 2.0]}, {"b": 6.0})
    assert answer.keys == ["b"]


def test_select_may_use_what_it_computed_before() -> None:
    plan = asked(
        "?s (AVG(?v) AS ?mean) (?mean * 2 AS ?twice)",
        "WINDOW :w { ?s :v ?v }",
        GROUPED.format("?twice + ?mean"),
    )
    assert (plan.take, plan.score) == (
        {"mean": "mean(`v`)", "mean_errors": "max(`v!`)"},
        "mean * 2 + mean",
    )


@pytest.mark.parametrize(
    ("score", "take"),
    [
        ("SUM(?v) + SUM(?v)", {"sum_v": "sum(`v`)", "sum_v_errors": "max(`v!`)"}),
        (
            "SUM(?v) + COUNT(?v)",
            {"sum_v": "sum(`v`)", "count_v": "count", "sum_v_errors": "max(`v!`)"},
        ),
        (
            "SUM(?v + 1) + SUM(?v + 1)",
            {"sum": "sum(`=v + 1`)", "sum_errors": "max(`=v + 1!`)"},
        ),
        (
            "SUM(?v) + MAX(?v)",
            {"sum_v": "sum(`v`)", "max_v": "max(`v`)", "sum_v_errors": "max(`v!`)"},
        ),
        ("COUNT(?v + 1)", {"count": "count", "count_unbound": "sum(`=v + 1!`)"}),
    ],
)
def test_one_aggregate_is_taken_once(score: str, take: dict[str, str]) -> None:
    assert asked("?s", "WINDOW :w { ?s :v ?v }", GROUPED.format(score)).take == take


def test_of_a_remote_value_there_is_one_for_each_key() -> None:
    where = "WINDOW :w { ?s :v ?v } SERVICE :r { ?s :f ?f }"
    for pick in ("MIN(?f)", "MAX(?f)", "AVG(?f)", "SAMPLE(?f)"):
        assert asked("?s", where, GROUPED.format(f"SUM(?v) + {pick}")).score == "sum_v + f"
    for other in ("SUM(?f)", "COUNT(?f)", "MAX(?f + ?f)"):
        with pytest.raises(QueryError, match="of a remote value"):
            asked("?s", where, GROUPED.format(f"SUM(?v) + {other}"))


@pytest.mark.parametrize(
    ("score", "told"),
    [
        ("COUNT(DISTINCT ?v)", r"COUNT\(DISTINCT"),
        ("GROUP_CONCAT(?v)", "GROUP_CONCAT"),
        ("?v", r"\?v"),
        ("SUM(?nowhere)", r"\?nowhere"),
    ],
)
def test_what_is_no_aggregate_that_can_be_kept(score: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        asked("?s", "WINDOW :w { ?s :v ?v }", GROUPED.format(score))


TEXT = '<x:a> <http://example.org/v> "much" .'
FIVE = '<x:a> <http://example.org/v> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .'


def told(select: str, rank: str, *lines: str) -> list[dict[str, object]]:
    """The rows over events at 1, 2, …"""
    plan = asked(
        f"?s {select}", "WINDOW :w { ?s :v ?v }", f"GROUP BY ?s ORDER BY DESC({rank}) LIMIT 5"
    )
    events = {"time": list(range(1, len(lines) + 1)), "value": list(lines)}
    (found,) = rspql(plan, streams={":s": [events]})
    return found.rows


def test_a_text_is_counted_and_makes_a_sum_an_error() -> None:
    select = "(COUNT(*) AS ?n) (SUM(?v) AS ?sum) (AVG(?v) AS ?mean) (MIN(?v) AS ?least)"
    (row,) = told(select, "?n", FIVE, TEXT)
    assert row == {"s": "x:a", "n": 2.0, "sum": None, "mean": None, "least": None}
    (row,) = told(select, "?n", FIVE, FIVE)
    assert row == {"s": "x:a", "n": 2.0, "sum": 10.0, "mean": 5.0, "least": 5.0}


@pytest.mark.parametrize("rank", ["SUM(?v)", "COUNT(*) + AVG(?v)", "MAX(?v)"])
def test_a_group_without_a_score_is_not_ranked(rank: str) -> None:
    other = FIVE.replace("x:a", "x:b")
    assert [row["s"] for row in told("", rank, FIVE, TEXT, other)] == ["x:b"]


def test_what_is_an_error_is_not_counted() -> None:
    (row,) = told("(COUNT(?v) AS ?all) (COUNT(?v * 2) AS ?some)", "?all", FIVE, TEXT)
    assert (row["all"], row["some"]) == (2.0, 1.0)
