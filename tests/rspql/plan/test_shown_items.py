"""What is shown of an item, and what tells items apart."""

from __future__ import annotations

import pytest

from tests.support.rspql_asked import HEAD, asked
from topwater.errors import QueryError
from topwater.rspql import parse
from topwater.rspql.plan.plan import Shown

STREAM = "WINDOW :w { ?s :v ?v ; :p ?p }"
JOINED = f"{STREAM} SERVICE :r {{ ?s :f ?f }}"
BY_V = "ORDER BY DESC(?v) LIMIT 3"
BY_BOTH = "ORDER BY DESC(?v + ?f) LIMIT 3"


@pytest.mark.parametrize(
    ("select", "where", "rest", "shown", "keys"),
    [
        ("?s ?v", STREAM, BY_V, [Shown("s", "key"), Shown("v", "score")], ("s",)),
        ("?p ?s", STREAM, BY_V, [Shown("p", "key"), Shown("s", "key")], ("p", "s")),
        ("(?s AS ?who) ?s", STREAM, BY_V, [Shown("who", "key", "s"), Shown("s", "key")], ("s",)),
        ("?v", STREAM, BY_V, [Shown("v", "score")], ("v", "v")),
        ("?s ?f ?v", JOINED, BY_BOTH,
         [Shown("s", "key"), Shown("f", "formula", "f"), Shown("v", "formula", "v")], ("s",)),
        ("(?v + ?f AS ?t) (?v * 2 AS ?d)", JOINED, BY_BOTH,
         [Shown("t", "score"), Shown("d", "formula", "v * 2")], ("s",)),
        ("?s ?p", JOINED, BY_BOTH, [Shown("s", "key"), Shown("p", "text", "p")], ("s",)),
        ("?p (SUM(?v) AS ?n)", STREAM, "GROUP BY ?s ?p ORDER BY DESC(?n) LIMIT 3",
         [Shown("p", "key"), Shown("n", "score")], ("s", "p")),
    ],
)  # fmt: skip
def test_where_each_value_comes_from(
    select: str, where: str, rest: str, shown: list[Shown], keys: tuple[str, ...]
) -> None:
    plan = asked(select, where, rest)
    assert (list(plan.projection), plan.keys) == (shown, keys)


def test_in_triples_a_number_is_the_term_that_it_was() -> None:
    plan = parse(
        f"{HEAD}CONSTRUCT {{ ?s :top ?v }} FROM NAMED WINDOW :w ON :s [RANGE 10] "
        f"WHERE {{ {STREAM} }} {BY_V}"
    )
    assert plan.projection == (Shown("s", "key"), Shown("v", "key"))


@pytest.mark.parametrize(
    ("select", "rest", "name"),
    [
        ("?s ?v", BY_V, "v"),
        ("?s", BY_V, "v"),
        ("?s (?v AS ?x)", BY_V, "x"),
        ("?s (?v AS ?x) ?v", BY_V, "v"),
        ("?s", "ORDER BY DESC(?v + 1) LIMIT 3", None),
        ("?s (SUM(?v) AS ?n)", "GROUP BY ?s ORDER BY DESC(?n) LIMIT 3", "n"),
        ("?s (SUM(?v) AS ?n)", "GROUP BY ?s ORDER BY DESC(SUM(?v)) LIMIT 3", "n"),
        ("?s", "GROUP BY ?s ORDER BY DESC(SUM(?v)) LIMIT 3", None),
    ],
)
def test_the_name_of_the_score_is_never_one_that_rdflib_made_up(
    select: str, rest: str, name: str | None
) -> None:
    assert asked(select, STREAM, rest).score_name == name


@pytest.mark.parametrize(
    ("select", "where", "rest", "marked"),
    [
        ("?s ?nowhere", STREAM, BY_V, "?nowhere"),
        ("?s (?v * 2 AS ?d)", STREAM, BY_V, "?d"),
        ("?s (?p * 2 AS ?d)", JOINED, BY_BOTH, "?d"),
        ("?p", JOINED, f"GROUP BY ?p ?f {BY_BOTH.replace('?v', 'SUM(?v)')}", "?f"),
        ("?x", STREAM, "GROUP BY ?x ORDER BY DESC(SUM(?v)) LIMIT 3", "?x"),
        ("?v", "WINDOW :w { ?s :v ?v } SERVICE :r { ?v :f ?f }", BY_BOTH, "?v"),
    ],
)
def test_what_can_not_be_shown_is_marked(select: str, where: str, rest: str, marked: str) -> None:
    with pytest.raises(QueryError) as caught:
        asked(select, where, rest)
    _, text, caret = caught.value.problem.splitlines()
    assert text[caret.index("^") :].startswith(marked)
