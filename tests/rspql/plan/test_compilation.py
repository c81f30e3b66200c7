"""What a plan compiles to, and that this answers as the query says."""

from __future__ import annotations

import pytest

from tests.support import corpus_files
from tests.support.rspql_asked import HEAD, Rows, answered, asked
from topwater import TopKQuery, sliding
from topwater.replica import Budget
from topwater.rspql import parse
from topwater.rspql.plan.compilation import is_bounded, score_text
from topwater.rspql.plan.plan import SILENT, TIME

LISTING = (corpus_files.FOLDER / "acquatop_listing.rq").read_text()
JOINED = "WINDOW :w { ?s :v ?v } SERVICE :r { ?s :f ?f }"


def test_the_listing_compiles_to_the_query_that_one_would_write() -> None:
    assert parse(LISTING).query() == TopKQuery(
        key="user",
        time=TIME,
        window=sliding("9 min", "3 min"),
        take={"mentionCount": "last(mentionCount)"},
        score="0.3 * mentionCount + 0.7 * followerCount",
        k=1,
        refresh="followerCount",
        heartbeat=SILENT,
    )


def test_every_solution_is_an_item_without_service_and_group() -> None:
    plan = asked("?s", "WINDOW :w { ?s :v ?v }", "ORDER BY ASC(?v) LIMIT 2")
    (answer,) = answered(plan, {"s": ["a", "b", "a"], TIME: [1, 2, 3], "v": [3.0, 9.0, 1.0]})
    assert (answer.keys, answer.scores, answer.exact) == (["a", "a"], [1.0, 3.0], True)


def test_with_a_service_the_latest_solution_counts() -> None:
    plan = asked(
        "?s",
        "WINDOW :w { ?s :v ?v } SERVICE :r { ?s :f ?f }",
        "ORDER BY DESC(?v + ?f) LIMIT 2",
    )
    rows: Rows = {"s": [*"abac"], TIME: [1, 2, 3, 4], "v": [90.0, 2.0, 1.0, 50.0]}
    (answer,) = answered(plan, rows, {"a": 5.0, "b": 5.0})
    # c has no value on the remote side: the join is inner.
    assert (answer.keys, answer.scores) == (["b", "a"], [7.0, 6.0])


def test_a_default_stands_for_what_the_service_does_not_know() -> None:
    plan = asked(
        "?s",
        "WINDOW :w { ?s :v ?v } OPTIONAL { SERVICE :r { ?s :f ?f } }",
        "ORDER BY DESC(?v + COALESCE(?f, -3)) LIMIT 2",
    )
    (answer,) = answered(plan, {"s": ["a", "b"], TIME: [1, 2], "v": [4.0, 2.0]}, {"b": 5.0})
    assert (answer.keys, answer.scores) == (["b", "a"], [7.0, 1.0])


def test_a_service_without_a_number_lets_through_what_it_knows() -> None:
    plan = asked(
        "?s", "WINDOW :w { ?s :v ?v } SERVICE :r { ?s a :Good }", "ORDER BY DESC(?v) LIMIT 2"
    )
    (answer,) = answered(plan, {"s": ["a", "b"], TIME: [1, 2], "v": [4.0, 2.0]}, {"b": 1.0})
    assert (answer.keys, answer.scores) == (["b"], [2.0])


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("?f > 3", "cd"),
        ("?f >= 3", "bcd"),
        ("?f < 3", "a"),
        ("?f <= 3", "ab"),
        ("?f = 3", "b"),
        ("?f != 3", "acd"),
        ("!(?f = 3)", "acd"),
        ("?f < 2 || ?f > 4", "ad"),
        ("?f > 1 && ?f < 5", "bc"),
        ("?f - ?v > 0", "bcd"),
        ("?v > 1 && ?f > 0", "bcd"),
    ],
)
def test_conditions_on_remote_values(condition: str, expected: str) -> None:
    plan = asked(
        "?s",
        f"WINDOW :w {{ ?s :v ?v }} SERVICE :r {{ ?s :f ?f }} FILTER({condition})",
        "ORDER BY ASC(?v + 0 * ?f) LIMIT 9",
    )
    rows: Rows = {"s": [*"abcd"], TIME: [1, 2, 3, 4], "v": [1.0, 2.0, 3.0, 4.0]}
    if "?v > 1" in condition:
        # The matcher applies conditions on the stream alone.
        rows = {name: values[1:] for name, values in rows.items()}
    (answer,) = answered(plan, rows, {"a": 1.0, "b": 3.0, "c": 4.0, "d": 5.0})
    assert "".join(map(str, answer.keys)) == expected


def test_spare_bounds_the_memory_where_that_is_possible() -> None:
    where = "WINDOW :w { ?s :v ?v } SERVICE :r { ?s :f ?f }"
    plan = asked("?s", where, "ORDER BY DESC(?v + ?f) LIMIT 1 WITH SPARE 4")
    assert (plan.query().list, plan.query().refresh.spare) == ("panes+n", 4)  # type: ignore[union-attr]
    plan = asked("?s", where, "GROUP BY ?s ?f ORDER BY DESC(SUM(?v) + ?f) LIMIT 1 WITH SPARE 4")
    assert (plan.query().list, plan.query().refresh.spare) == (None, 4)  # type: ignore[union-attr]


def test_count_windows_run_in_process() -> None:
    plan = parse(
        HEAD + "SELECT ?s ?v FROM NAMED WINDOW :w ON :s [ELEMENTS 2] "  # noqa: S608
        "WHERE { WINDOW :w { ?s :v ?v } } ORDER BY DESC(?v) LIMIT 1"
    )
    found = answered(plan, {"s": [*"abcd"], "v": [1.0, 2.0, 9.0, 4.0]})
    assert [answer.keys for answer in found] == [["b"], ["c"]]


def test_a_budget_may_be_unlimited() -> None:
    plan = asked("?s", JOINED, "ORDER BY DESC(?v + ?f) LIMIT 1 WITH budget unlimited")
    settings = plan.query().refresh
    assert settings is not None
    assert settings.budget == Budget(None)
    assert settings.budget.unlimited


def test_as_few_as_an_accuracy_needs() -> None:
    clause = "ORDER BY DESC(?v + ?f) LIMIT 1 WITH BUDGET AT MOST 50 FETCHES ACCURACY 0.9"
    settings = asked("?s", JOINED, clause).query().refresh
    assert settings is not None
    assert settings.budget == Budget(accuracy=0.9, at_most=50)


@pytest.mark.parametrize(
    ("clause", "budget"),
    [
        ("", Budget(fetches=7)),
        ("WITH BUDGET 3 FETCHES", Budget(fetches=3)),
        ("WITH DEADLINE PT2S ACCURACY 0.9", Budget(deadline=2_000, accuracy=0.9)),
        ("WITH ACCURACY 0.9", Budget(fetches=7, accuracy=0.9)),
    ],
)
def test_budgets(clause: str, budget: Budget) -> None:
    settings = asked("?s", JOINED, f"ORDER BY DESC(?v + ?f) LIMIT 1 {clause}").query().single
    assert settings is not None
    assert (settings.budget, settings.remote) == (budget, "f")


@pytest.mark.parametrize(
    ("where", "score", "text"),
    [
        ("", "?v + ?f", "v + f"),
        ("", "?v", "v + 0 * found"),
        ("FILTER(?f > 3)", "?v + ?f", "v + f + 0 * log(max(f - 3, 0))"),
        ("FILTER(?f >= 0)", "?v + ?f", "v + f + 0 * sqrt(f)"),
    ],
)
def test_what_may_not_be_in_the_answer_has_no_score(where: str, score: str, text: str) -> None:
    plan = asked("?s", f"{JOINED} {where}", f"ORDER BY DESC({score}) LIMIT 1")
    assert score_text(plan) == text


@pytest.mark.parametrize(
    ("rest", "bounded"),
    [
        ("ORDER BY DESC(?v + ?f) LIMIT 1 WITH SPARE 4", True),
        ("ORDER BY DESC(?v + ?f) LIMIT 1", False),
        ("GROUP BY ?s ?f ORDER BY DESC(SUM(?v) + ?f) LIMIT 1 WITH SPARE 4", False),
    ],
)
def test_when_a_list_of_k_and_spare_keys_will_do(rest: str, bounded: bool) -> None:
    assert is_bounded(asked("?s", JOINED, rest)) is bounded
