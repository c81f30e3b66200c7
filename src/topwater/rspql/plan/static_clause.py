"""Triples outside of windows that are in a file: what they are joined with, and what can't be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from rdflib.term import Variable

from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.choices import uses, variables_behind
from topwater.rspql.plan.conditions import Conditions, names_in
from topwater.rspql.plan.plan import EventPattern, Fact
from topwater.rspql.plan.score_formula import Formulas
from topwater.rspql.rdf.term_values import variable_in


def with_facts(
    document: Document, pattern: EventPattern, bound: set[str], facts: Sequence[Fact]
) -> EventPattern:
    """Solutions of a pattern, which binds some variables, joined with static data."""
    new = _variables(facts)
    for name in sorted(new & {bind.variable for bind in pattern.binds}):
        _fail(
            document,
            "BIND",
            f"?{name} is computed, and joined with static data",
            "compute it under another name, and compare: FILTER(?a = ?b)",
        )
    used = [*map(names_in, pattern.filters), *map(uses, pattern.binds)]
    for name in sorted((new - bound) & set().union(*used)):
        _fail(
            document,
            "FILTER",
            f"?{name} has no value inside the block: static data are joined with it",
            "move the condition behind the block, to the end of WHERE",
        )
    return replace(pattern, facts=(*pattern.facts, *facts))


def require_of_facts(
    document: Document, formulas: Formulas, facts: Sequence[Fact], others: set[str], expression: Any
) -> None:
    """Refuse a condition among static data that is about something else."""
    there = _variables(facts) | others
    condition = Conditions(document, formulas).condition(expression)
    for name in sorted(variables_behind(names_in(condition), formulas.choices)):
        if variable_in(name) not in there:
            _fail(
                document,
                "FILTER",
                f"?{variable_in(name)} has no value among the static data in these braces",
                "move the condition to the end of WHERE",
            )


def _variables(facts: Sequence[Fact]) -> set[str]:
    return {str(t) for fact in facts for t in fact.triple if isinstance(t, Variable)}


def _fail(document: Document, word: str, problem: str, fix: str) -> NoReturn:
    places = [token.start for token in document.tokens if token.word == word]
    document.fail(problem, places[-1] if places else document.find("WHERE", "{"), fix)
