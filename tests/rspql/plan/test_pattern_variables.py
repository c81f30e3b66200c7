"""The variables of a pattern."""

from __future__ import annotations

from rdflib.term import Literal, URIRef, Variable

from topwater.rspql.plan.pattern_variables import variables, with_casts
from topwater.rspql.plan.plan import Bind, EventPattern

W, P = URIRef("http://example.org/w"), URIRef("http://example.org/p")


def pattern(*triples: tuple[str, str], binds: tuple[Bind, ...] = ()) -> EventPattern:
    made = tuple((Variable(s), P, Variable(o)) for s, o in triples)
    return EventPattern(W, made, binds=binds)


def test_those_of_triples_and_of_what_is_bound() -> None:
    one = pattern(("s", "v"), binds=(Bind("d", "v * 2"),))
    assert variables(one) == {"s", "v", "d"}
    assert variables(EventPattern(W, ((Variable("s"), P, Literal(3)),))) == {"s"}


def test_those_of_all_blocks() -> None:
    assert variables(pattern(("s", "v")).joined(pattern(("s", "a")))) == {"s", "v", "a"}


def test_a_number_that_a_cast_makes_has_a_name_of_its_own() -> None:
    found = with_casts({"v"})
    assert "v" in found
    assert len(found) > 1
    assert all(name.startswith("v") for name in found)
