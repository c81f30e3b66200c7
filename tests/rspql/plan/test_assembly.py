"""The parts of a query put together, and what they may not be together."""

from __future__ import annotations

import pytest

from tests.support.rspql_asked import HEAD, asked, ranked
from topwater.errors import QueryError
from topwater.rspql import parse
from topwater.rspql.plan.condition_kinds import Compare

STREAM = "WINDOW :w { ?s :v ?v }"
JOINED = f"{STREAM} SERVICE :r {{ ?s :f ?f }}"
OPTIONAL = f"{STREAM} OPTIONAL {{ SERVICE :r {{ ?s :f ?f }} }}"
BY_BOTH = "ORDER BY DESC(?v + ?f) LIMIT 3"


def test_conditions_on_the_stream_are_pushed_down_and_others_kept() -> None:
    plan = ranked("?v + ?f", "FILTER(?v > 1 && ?f < 9 && ?u != :nobody)")
    (pattern,) = plan.patterns
    assert pattern.filters[0] == Compare("v", ">", "1")
    assert len(pattern.filters) == 2
    assert plan.conditions == (Compare("f", "<", "9"),)


def test_two_clauses_that_ask_one_service_are_one() -> None:
    plan = asked("?s", f"{JOINED} SERVICE :r {{ ?s a :Good . }}", BY_BOTH)
    (service,) = plan.services
    assert service.pattern == ("?s <http://example.org/f> ?f . ?s a <http://example.org/Good>")
    assert (service.key, service.value) == ("s", "f")


def test_a_service_whose_number_is_not_used_says_whether_it_knows_a_key() -> None:
    plan = asked("?s", f"{STREAM} SERVICE :r {{ ?s a :Good }}", "ORDER BY DESC(?v) LIMIT 3")
    assert plan.service is not None
    assert plan.service.pattern.endswith("BIND(1 AS ?found)")
    assert plan.service.value == "found"


def test_names_that_mean_something_are_changed() -> None:
    where = "WINDOW :w { ?s :v ?time ; :c ?count } SERVICE :r { ?s :f ?f }"
    plan = asked("?s", where, "ORDER BY DESC(?time + ?count + ?f) LIMIT 3")
    assert plan.take == {"time_": "last(`time`)", "count": "last(`count`)"}
    assert plan.score == "time_ + count + f"


def test_what_from_names_and_no_pattern_reads() -> None:
    text = (
        f"{HEAD}SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE 10] FROM :a FROM :b "  # noqa: S608
        f"WHERE {{ {STREAM} GRAPH :a {{ ?s :f ?f }} }} {BY_BOTH}"
    )
    assert [str(each) for each in parse(text).static] == ["http://example.org/b"]


@pytest.mark.parametrize(
    ("select", "where", "rest", "marked", "fix"),
    [
        ("?s", "SERVICE :r { ?s :f ?f }", "ORDER BY ?f LIMIT 3", "WHERE", "WINDOW"),
        ("?s", f"{JOINED} SERVICE :t {{ ?s :g ?f }}", BY_BOTH, "?f", "FILTER(?a = ?b)"),
        ("?s", f"{OPTIONAL} SERVICE :r {{ ?s :g ?g }}", BY_BOTH, "OPTIONAL", "one SERVICE"),
        ("?s", OPTIONAL, BY_BOTH, "OPTIONAL", "COALESCE(?f, 0)"),
        ("?s", OPTIONAL, "ORDER BY DESC(?v) LIMIT 3", "OPTIONAL", "in the score"),
        ("?s", f"{OPTIONAL} FILTER(?f > 1)", "ORDER BY DESC(?v + COALESCE(?f, 0)) LIMIT 3",
         "FILTER", "into SERVICE"),
        ("?s", f"{JOINED} FILTER(?f > ?v)", "GROUP BY ?s ORDER BY DESC(SUM(?v)) LIMIT 3",
         "FILTER", "HAVING(MAX(?v) > …)"),
        ("?s", f"{JOINED} FILTER(isIRI(?f))", BY_BOTH, "FILTER", "comparisons"),
        ("?s", "WINDOW :w { ?s :v ?v FILTER(?x > 1) }", "ORDER BY ?v LIMIT 3", "?x", "bind"),
        ("?s", "WINDOW :w { ?s :v ?v BIND(?x + 1 AS ?y) }", "ORDER BY ?v LIMIT 3", "?x", "bind"),
        ("?s", f"{STREAM} SERVICE :r {{ ?s :f ?f ; :g ?g }}",
         "ORDER BY DESC(?f + ?g) LIMIT 3 WITH POLICY lru", "POLICY", "leave POLICY out"),
        ("?s", f"{STREAM} SERVICE :r {{ ?s :f ?f ; :g ?g }}",
         "ORDER BY DESC(?f + ?g) LIMIT 3 WITH SPARE 3", "SPARE", "leave SPARE out"),
        ("?s", "WINDOW :w { ?s :v ?v ; :at ?a } SERVICE :r { ?a :f ?f }",
         "GROUP BY ?s ORDER BY DESC(MAX(?v) + MAX(?f)) LIMIT 3", "?f", "SAMPLE(?f)"),
        ("?s (SAMPLE(?v) AS ?x)", STREAM, "GROUP BY ?s ORDER BY ?x LIMIT 3", "?v", "MAX(?v)"),
        ("DISTINCT ?s", STREAM, "ORDER BY ?v LIMIT 3", "DISTINCT", "GROUP BY"),
        ("?s", STREAM, "ORDER BY ?v LIMIT 3 WITH SPARE 3", "WITH", "leave WITH out"),
        ("?s", STREAM, "ORDER BY ?x LIMIT 3", "?x", "bind"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_marked(
    select: str, where: str, rest: str, marked: str, fix: str
) -> None:
    with pytest.raises(QueryError) as caught:
        asked(select, where, rest)
    _, shown, caret = caught.value.problem.splitlines()
    assert shown[caret.index("^") :].startswith(marked)
    assert fix in caught.value.fix


def test_windows_that_are_ranked_together_are_alike() -> None:
    froms = "FROM NAMED WINDOW :w ON :s [RANGE 10] FROM NAMED WINDOW :x ON :t [RANGE {}]"
    rest = "WHERE { WINDOW ?any { ?s :v ?v } } ORDER BY ?v LIMIT 3"
    plan = parse(f"{HEAD}SELECT ?s {froms.format(10)} {rest}")
    assert [each.width for each in plan.windows] == [10, 10]
    with pytest.raises(QueryError, match="do not close together"):
        parse(f"{HEAD}SELECT ?s {froms.format(20)} {rest}")
