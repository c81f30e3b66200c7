"""Answers → what the query shows: variables, triples, and what is new or gone since before."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from rdflib.term import BNode, Identifier, Literal, Variable

from topwater.model import Answer, FloatArray
from topwater.rspql.plan.compilation import guarded, outside_if
from topwater.rspql.plan.plan import Plan, Shown
from topwater.rspql.rdf.datatypes import literals_of
from topwater.rspql.rdf.pattern_match import key_terms
from topwater.rspql.rdf.term_order import places_of
from topwater.rspql.rdf.triples import text_of
from topwater.scoring.expressions import Expression
from topwater.scoring.expressions import parse as parse_formula

Solution = tuple[Any, ...]
"""What a row of an answer shows, in the order of the plan's projection."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of answers, as columns.

    Attributes
    ----------
    keys, scores
        As an answer's rows have them; None where there is none.
    values
        By the names in the plan's ``take``.
    remotes
        By the variables of services.
    """

    keys: Sequence[str | None]
    scores: Sequence[float | None]
    values: Mapping[str, Sequence[float | str | None]]
    remotes: Mapping[str, Sequence[float | str | None]]

    @staticmethod
    def of(plan: Plan, answer: Answer) -> Rows:
        """Those of one answer."""
        rows = answer.rows
        names = () if isinstance(plan.take, str) else tuple(plan.take)
        remotes: dict[str, list[float | str | None]] = {}
        if plan.service is not None:
            remotes = {plan.service.value: [row.remote for row in rows]}
        elif plan.services:
            there = [name for service in plan.services for name in service.names]
            remotes = {name: [row.remotes[name].value for row in rows] for name in there}
        return Rows(
            [str(row.key) for row in rows],
            [row.score for row in rows],
            {name: [row.values[place] for row in rows] for place, name in enumerate(names)},
            remotes,
        )


def shown(plan: Plan, rows: Rows) -> dict[str, list[Any]]:
    """The columns of a projection: numbers, and terms as keys have them.

    An IRI is shown as it is; a literal or a blank node as N-Triples writes it, and for
    ``CONSTRUCT`` numbers are literals too.
    """
    return {each.name: _column(plan, each, rows) for each in plan.projection}


def solutions_of(plan: Plan, answer: Answer) -> list[Solution]:
    """What an answer shows, row by row."""
    columns = shown(plan, Rows.of(plan, answer)).values()
    return list(zip(*columns, strict=True)) if columns else [() for _ in answer.rows]


def settled(plan: Plan, answer: Answer) -> Answer:
    """The k best by all of ``ORDER BY``, of an answer with whatever may be among them."""
    if not plan.then:
        return answer
    order = best_rows(
        plan, [row.score for row in answer.rows], lambda rows: Rows.of(plan, _only(answer, rows))
    )
    rows = [replace(answer.rows[at], rank=rank) for rank, at in enumerate(order, 1)]
    return replace(answer, rows=tuple(rows))


def _only(answer: Answer, rows: Sequence[int]) -> Answer:
    return replace(answer, rows=tuple(answer.rows[row] for row in rows))


def best_rows(
    plan: Plan, scores: Sequence[float], rows_at: Callable[[Sequence[int]], Rows]
) -> list[int]:
    """Which rows are the k best, in order.

    Parameters
    ----------
    plan
        With further conditions.
    scores
        Of all rows, best first.
    rows_at
        What is known of some of them. Only those are asked for that have a score in common.
    """
    found: list[int] = []
    for _, each in groupby(range(len(scores)), key=lambda row: scores[row]):
        tied = list(each)
        found += in_order(plan, tied, rows_at(tied)) if len(tied) > 1 else tied
        if len(found) >= plan.k:
            break
    return found[: plan.k]


def in_order(plan: Plan, tied: Sequence[int], rows: Rows) -> list[int]:
    """Rows with equal scores by what decides between them; what that leaves open stays as it is."""
    order = list(range(len(tied)))
    for by, largest in reversed(plan.then):
        places = places_of(_values(plan, by, rows))
        order.sort(key=places.__getitem__, reverse=largest)
    return [tied[at] for at in order]


def _values(plan: Plan, by: Shown, rows: Rows) -> list[Any]:
    """What is compared: terms, or numbers."""
    if by.role == "score":
        return [0.0] * len(rows.keys)
    if by.role == "formula":
        return _numbers(plan, by, rows)
    return _column(plan, by, rows)


def _column(plan: Plan, each: Shown, rows: Rows) -> list[Any]:
    if each.role == "key":
        place, count = plan.keys.index(each.variable), len(plan.keys)
        return [None if key is None else _bare(key_terms(key, count)[place]) for key in rows.keys]
    if each.role == "text":
        return _terms(rows, each.formula)
    score = each.role == "score"
    numbers = list(rows.scores) if score else _numbers(plan, each, rows)
    if plan.form == "select":
        return numbers
    read = {**rows.values, **rows.remotes}
    return literals_of(plan, plan.score if score else each.formula, numbers, read)


def _numbers(plan: Plan, each: Shown, rows: Rows) -> list[float | None]:
    """What a formula gives for each row."""
    read = {**rows.values, **rows.remotes}
    numbers = _computed(plan, each.formula, read, len(rows.keys))
    return _usable(plan, each.formula, numbers, read)


def _terms(rows: Rows, name: str) -> list[str | None]:
    """Terms of the stream as keys have them; a text of a service is a literal."""
    if name in rows.values:
        return [None if each is None else str(each) for each in rows.values[name]]
    return [None if each is None else text_of(Literal(str(each))) for each in rows.remotes[name]]


def _computed(
    plan: Plan, text: str, read: Mapping[str, Sequence[float | str | None]], count: int
) -> list[float | None]:
    formula = Expression(guarded(plan, parse_formula(text).tree))
    # A column that no formula names tells how many rows there are.
    columns = {name: _floats(read[name]) for name in formula.columns} or {"": np.zeros(count)}
    values = formula.evaluate(columns).tolist()
    return [value if math.isfinite(value) else None for value in values]


def _usable(
    plan: Plan,
    text: str,
    numbers: list[float | None],
    read: Mapping[str, Sequence[float | str | None]],
) -> list[float | None]:
    """The numbers that were computed of nothing but numbers."""
    needed = outside_if(parse_formula(text).tree)
    flags = {plan.errors[name] for name in needed if name in plan.errors}
    return [
        None if any(read[flag][row] for flag in flags) else number
        for row, number in enumerate(numbers)
    ]


def _floats(values: Sequence[float | str | None]) -> FloatArray:
    numbers = [math.nan if value is None or isinstance(value, str) else value for value in values]
    return np.array(numbers, np.float64)


def _bare(term: str) -> str:
    return term[1:-1] if term.startswith("<") else term


def constructed(plan: Plan, solutions: Sequence[Solution], window: str) -> list[str]:
    """The triples of ``CONSTRUCT``, as lines of N-Triples, each once.

    Parameters
    ----------
    plan
        With a template.
    solutions
        Of one window.
    window
        What the names of blank nodes begin with, so that each window has its own.
    """
    names = [each.name for each in plan.projection]
    lines: dict[str, None] = {}
    for number, solution in enumerate(solutions, 1):
        bound = {
            name: None if value is None else key_terms(value, 1)[0]
            for name, value in zip(names, solution, strict=True)
        }
        for triple in plan.template:
            terms = [_term(each, bound, f"{window}r{number}") for each in triple]
            if _is_triple(terms):
                lines[" ".join(str(term) for term in terms) + " ."] = None
    return list(lines)


def _term(term: Identifier, bound: Mapping[str, str | None], place: str) -> str | None:
    if isinstance(term, Variable):
        return bound.get(str(term))
    return f"_:w{place}{term}" if isinstance(term, BNode) else text_of(term)


def _is_triple(terms: Sequence[str | None]) -> bool:
    subject, predicate, value = terms
    if subject is None or predicate is None or value is None:
        return False
    return not subject.startswith('"') and predicate.startswith("<")


def difference(
    operator: str, now: Sequence[Any], before: Sequence[Any]
) -> tuple[list[int], list[int]]:
    """Which rows of this window and of the one before go out.

    A window is a bag: a row that is there twice and was there once is new once.

    Examples
    --------
    >>> difference("RSTREAM", "ab", "bc"), difference("ISTREAM", "abb", "bc")
    (([0, 1], []), ([0, 2], []))
    >>> difference("DSTREAM", "ab", "bcc")
    ([], [1, 2])
    """
    if operator == "RSTREAM":
        return list(range(len(now))), []
    if operator == "ISTREAM":
        return _left_over(now, before), []
    return [], _left_over(before, now)


def _left_over(rows: Sequence[Any], others: Sequence[Any]) -> list[int]:
    """The places of what is left when each of the others has taken one row like it."""
    there = Counter(others)
    left = []
    for place, each in enumerate(rows):
        if there[each]:
            there[each] -= 1
        else:
            left.append(place)
    return left


@dataclass(frozen=True, slots=True)
class WindowOutput:
    """What goes out of a query for a window.

    Attributes
    ----------
    answer
        The whole answer, whatever goes out of it.
    rows
        What ``SELECT`` shows, by variable.
    triples
        What ``CONSTRUCT`` says, as lines of N-Triples.
    """

    answer: Answer
    rows: list[dict[str, Any]]
    triples: list[str]


def window_outputs(plan: Plan, answers: Iterable[Answer]) -> Iterator[WindowOutput]:
    """What goes out of answers: all, or what is new in each, or what is gone."""
    names = [each.name for each in plan.projection]
    before: list[Any] = []
    for answer in answers:
        now: list[Any] = solutions_of(plan, answer)
        if plan.form == "construct":
            now = constructed(plan, now, str(answer.window.end))
        new, gone = difference(plan.operator, now, before)
        out = [now[place] for place in new] + [before[place] for place in gone]
        if plan.form == "construct":
            yield WindowOutput(answer, [], out)
        else:
            yield WindowOutput(answer, [dict(zip(names, each, strict=True)) for each in out], [])
        before = now
