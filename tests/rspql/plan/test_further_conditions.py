"""What decides between equal scores becomes a part of what is known of each item."""

from __future__ import annotations

from rdflib.term import URIRef, Variable

from tests.support.rspql_asked import asked
from topwater.rspql.plan.compilation import ALL
from topwater.rspql.plan.further_conditions import FURTHER, bound_further, split_further
from topwater.rspql.plan.plan import Bind, EventPattern, Shown, Then
from topwater.scoring.expressions import Name, parse

PATTERN = EventPattern(
    URIRef("x:w"), ((Variable("s"), URIRef("x:v"), Variable("v")),), binds=(Bind("d", "v * 2"),)
)


def test_what_is_computed_is_bound_and_a_term_stays_what_it_is() -> None:
    nodes = {f"{FURTHER}1": Name("s"), f"{FURTHER}2": parse("v + 1").tree, f"{FURTHER}3": Name("d")}
    (pattern,), found = bound_further([PATTERN], nodes, {"s", "v", "d"})
    assert found == {
        f"{FURTHER}1": Name("s"),
        f"{FURTHER}2": Name(f"{FURTHER}2"),
        f"{FURTHER}3": Name(f"{FURTHER}3"),
    }
    # A computed number may be missing, and its solution is one all the same.
    assert pattern.binds[1:] == (Bind(f"{FURTHER}2", "v + 1"), Bind(f"{FURTHER}3", "d"))


def test_what_only_decides_is_not_shown() -> None:
    one, two = Shown("s", "key"), Shown(f"{FURTHER}1", "formula", "n")
    assert split_further([one, two], [("?n", True)]) == ((one,), (Then(two, True),))


def test_single_solutions_are_cut_before_and_groups_after_the_ranking() -> None:
    block = "WINDOW :w { ?s :v ?v ; :x ?x }"
    each = asked("?s ?v", block, "ORDER BY DESC(?v) ?x LIMIT 3")
    assert (each.keys, each.by_window, each.query().k) == (("s", "x"), True, 3)
    groups = asked("?s", block, "GROUP BY ?s ORDER BY DESC(SUM(?v)) ?s LIMIT 3")
    assert (groups.keys, groups.by_window, groups.query().k) == (("s",), False, ALL)
    assert groups.query().window.width == groups.windows[0].width
