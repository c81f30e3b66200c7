"""What stands around a pattern: SELECT, ORDER BY, LIMIT, GROUP BY, HAVING, CONSTRUCT."""

from __future__ import annotations

import pytest

from tests.support.rspql_asked import algebra_of
from topwater.errors import QueryError
from topwater.rspql.plan.solution_modifiers import Layers, layers_of


def layers(sparql: str) -> Layers:
    return layers_of(*algebra_of(sparql))


def test_the_layers_of_a_plain_query() -> None:
    found = layers("SELECT DISTINCT ?s ?v { ?s :v ?v } ORDER BY ?v LIMIT 3")
    assert (found.shown, found.k, found.distinct) == (("s", "v"), 3, True)
    assert (str(found.rank_by), found.descending) == ("v", False)
    assert found.groups is found.template is None
    assert found.pattern.name == "BGP"


def test_descending_is_said() -> None:
    assert layers("SELECT ?s { ?s :v ?v } ORDER BY DESC(?v) LIMIT 3").descending


def test_what_decides_between_equals_follows() -> None:
    found = layers("SELECT ?s { ?s :v ?v } ORDER BY ?v DESC(?s) ?v LIMIT 3")
    assert [(str(each), largest) for each, largest in found.then] == [("s", True), ("v", False)]
    assert (str(found.rank_by), found.descending) == ("v", False)


def test_a_star_shows_variables_in_the_order_of_the_text() -> None:
    text = "{ ?z :v ?y . ?y :w ?a } ORDER BY (?y * 2) LIMIT 1"
    assert layers(f"SELECT * {text}").shown == ("z", "y", "a")
    assert layers(f"SELECT ?y ?z {text}").shown == ("y", "z")


def test_the_layers_of_a_query_with_groups() -> None:
    found = layers(
        "SELECT ?s (SUM(?v) AS ?n) (?n * 2 AS ?m) { ?s :v ?v } "
        "GROUP BY ?s HAVING (COUNT(*) > 1) ORDER BY DESC(?n) LIMIT 3"
    )
    assert [str(each) for each in found.groups or ()] == ["s"]
    assert {each.name for each in found.aggregates} >= {"Aggregate_Sum", "Aggregate_Count"}
    assert [name for name, _ in found.extends if name in "nm"] == ["n", "m"]
    assert len(found.having) == 1
    assert found.pattern.name == "BGP"
    assert found.shown == ("s", "n", "m")


def test_the_template_of_construct() -> None:
    found = layers("CONSTRUCT { ?s a :Top } WHERE { ?s :v ?v } ORDER BY ?v LIMIT 3")
    assert [str(term).rpartition("/")[2] for term in (found.template or [])[0]][-1] == "Top"


def test_a_query_in_a_query_ranks_for_it() -> None:
    inner = "SELECT ?s ?v { ?s :v ?v } ORDER BY DESC(?v) LIMIT 3"
    found = layers(f"SELECT ?s ?x {{ {{ {inner} }} }}")
    assert (found.shown, found.k) == (("s",), 3)
    with pytest.raises(QueryError, match="both"):
        layers(f"SELECT ?s {{ {{ {inner} }} }} LIMIT 2")


def test_rows_differ_in_the_query_that_ranks() -> None:
    inner = "?s ?v { ?s :v ?v } ORDER BY DESC(?v) LIMIT 3"
    assert layers(f"SELECT ?s ?v {{ {{ SELECT DISTINCT {inner} }} }}").distinct
    with pytest.raises(QueryError, match="outside of the query that ranks"):
        layers(f"SELECT DISTINCT ?s {{ {{ SELECT {inner} }} }}")
    grouped = "?s (SUM(?v) AS ?n) { ?s :v ?v } GROUP BY ?s ORDER BY DESC(?n) LIMIT 3"
    assert not layers(f"SELECT DISTINCT ?s {{ {{ SELECT {grouped} }} }}").distinct


@pytest.mark.parametrize(
    ("text", "marked", "fix"),
    [
        ("SELECT ?s { ?s :v ?v } LIMIT 3", "", "ORDER BY"),
        ("SELECT ?s { ?s :v ?v } ORDER BY ?v", "ORDER", "LIMIT 10"),
        ("SELECT ?s { ?s :v ?v } ORDER BY ?v LIMIT 0", "LIMIT", "100,000"),
        ("SELECT ?s { ?s :v ?v } ORDER BY ?v LIMIT 100001", "LIMIT", "100,000"),
        ("SELECT ?s { ?s :v ?v } ORDER BY ?v LIMIT 3 OFFSET 1", "OFFSET", "rank"),
        ("SELECT (SUM(?v) AS ?n) { ?s :v ?v } ORDER BY ?n LIMIT 3", "SUM", "GROUP BY"),
        ("SELECT (SUM(?v) AS ?n) { ?s :v ?v } GROUP BY (?s + 1) ORDER BY ?n LIMIT 3",
         "GROUP", "BIND"),
        ("CONSTRUCT { } WHERE { ?s :v ?v } ORDER BY ?v LIMIT 3", "CONSTRUCT", "CONSTRUCT {"),
    ],
)  # fmt: skip
def test_what_is_no_ranking_is_marked(text: str, marked: str, fix: str) -> None:
    with pytest.raises(QueryError) as caught:
        layers(text)
    _, shown, caret = caught.value.problem.splitlines()
    assert shown[caret.index("^") :].startswith(marked)
    assert fix in caught.value.fix
