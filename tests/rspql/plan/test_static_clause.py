"""What static data are joined with, and where a condition has nothing to say of them."""

from __future__ import annotations

import pytest
from rdflib import URIRef, Variable

from tests.support.rspql_asked import expression_of
from topwater.errors import QueryError
from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.condition_kinds import Compare
from topwater.rspql.plan.plan import Bind, EventPattern, Fact
from topwater.rspql.plan.score_formula import Formulas
from topwater.rspql.plan.static_clause import require_of_facts, with_facts

U, V, SIZE = Variable("u"), Variable("v"), Variable("size")
PATTERN = EventPattern(URIRef("x:w"), ((U, URIRef("x:v"), V),))
FACTS = [Fact((U, URIRef("x:size"), SIZE), (URIRef("x:g"),))]
DOCUMENT = Document("SELECT * { ?u :v ?v BIND(1 AS ?size) FILTER(?size > 1) }")


def test_facts_are_added_to_those_before() -> None:
    once = with_facts(DOCUMENT, PATTERN, {"u", "v"}, FACTS)
    assert once.facts == tuple(FACTS)
    assert with_facts(DOCUMENT, once, {"u", "v", "size"}, FACTS).facts == (*FACTS, *FACTS)
    plain = EventPattern(PATTERN.window, PATTERN.triples, (Compare("v", ">", "1"),))
    assert with_facts(DOCUMENT, plain, {"u", "v"}, FACTS).filters == plain.filters


def test_what_a_block_does_not_know_is_not_compared_there_nor_computed_twice() -> None:
    early = EventPattern(PATTERN.window, PATTERN.triples, (Compare("size", ">", "1"),))
    with pytest.raises(QueryError, match=r"column 38: .*has no value inside the block"):
        with_facts(DOCUMENT, early, {"u", "v"}, FACTS)
    computed = EventPattern(PATTERN.window, PATTERN.triples, (), (Bind("size", "v * 2"),))
    with pytest.raises(QueryError, match=r"column 21: .*is computed, and joined"):
        with_facts(DOCUMENT, computed, {"u", "v", "size"}, FACTS)


def test_conditions_among_static_data_are_about_them() -> None:
    for text, others in (("?size > 1 && ?u != <x:a>", set()), ("?size > ?f", {"f"})):
        document, expression = expression_of(text)
        require_of_facts(document, Formulas(document, {}, set()), FACTS, others, expression)
    document, expression = expression_of("IF(?size > ?v, 1, 2) = 1")
    with pytest.raises(QueryError, match=r"\?v has no value among the static data"):
        require_of_facts(document, Formulas(document, {}, set()), FACTS, set(), expression)
