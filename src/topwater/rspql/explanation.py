"""A plan as a person would draw it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from rdflib.term import Identifier, URIRef, Variable

from topwater.candidates.rescorable import changing
from topwater.query import TopKQuery
from topwater.replica import Budget, RefreshSettings
from topwater.rspql.parser.cursor import KNOWN, shown
from topwater.rspql.plan.exactness import approximate, differences, exact, keys_text
from topwater.rspql.plan.plan import (
    Alike,
    AllOf,
    Among,
    AnyOf,
    Compare,
    Condition,
    EventPattern,
    Kind,
    Not,
    Plan,
    Text,
    Triple,
)
from topwater.rspql.query_text import parse
from topwater.windows import span

_OUT = {
    "RSTREAM": "all rows of every answer",
    "ISTREAM": "the rows that were not in the answer before",
    "DSTREAM": "the rows of the answer before that are gone",
}


def explain(plan: Plan | str) -> str:
    """What runs, step by step; what is exact, what is approximate, and why.

    Examples
    --------
    >>> text = '''
    ...     PREFIX : <http://example.org/>
    ...     SELECT ?sensor ?value
    ...     FROM NAMED WINDOW :w ON :readings [RANGE 10s STEP 5s]
    ...     WHERE { WINDOW :w { ?sensor :value ?value } } ORDER BY DESC(?value) LIMIT 3
    ... '''
    >>> print(explain(text))  # doctest: +ELLIPSIS
    the 3 best of each window; all rows of every answer go out (RSTREAM)
    <BLANKLINE>
      stream   :readings
         │
      window   :w  the last 10 s, every 5 s: 2 panes of 5 s
         │
      match    ?sensor :value ?value
         │     inside each event
      score    value  the largest first; every solution is an item
         │
      list     panes  at most k of each pane: 3 × 2 = 6 items, however many events come
         │
      answer   ?sensor ?value
    <BLANKLINE>
    exact:
      - every answer: what is forgotten can be in no answer any more
    ...
    """
    if isinstance(plan, str):
        plan = parse(plan)
    parts = [_headline(plan), *_drawing(plan)]
    for title, reasons in (
        ("exact", exact(plan)),
        ("approximate", approximate(plan)),
        ("unlike SPARQL over all triples of a window", differences(plan)),
    ):
        parts += _paragraph(title, list(reasons))
    return "\n".join(parts)


def _paragraph(title: str, reasons: list[str]) -> Iterator[str]:
    if reasons:
        yield ""
        yield f"{title}:"
        for reason in reasons:
            yield textwrap.fill(
                reason, 96, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False
            )


def _headline(plan: Plan) -> str:
    name = "" if plan.name is None else f"{shown(plan.name, plan.prefixes)}: "
    what = "triples" if plan.form == "construct" else "rows"
    out = _OUT[plan.operator].replace("rows", what)
    return f"{name}the {plan.k} best of each window; {out} go out ({plan.operator})"


def _drawing(plan: Plan) -> Iterator[str]:
    boxes = list(_boxes(plan))
    for number, (title, lines) in enumerate(boxes):
        yield f"\n  {title:<8} {lines[0]}" if number == 0 else f"  {title:<8} {lines[0]}"
        last = number == len(boxes) - 1
        for line in lines[1:] or ([] if last else [""]):
            yield f"     {' ' if last else '│'}     {line}".rstrip()


def _boxes(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    query = plan.query()
    streams = dict.fromkeys(shown(window.stream, plan.prefixes) for window in plan.windows)
    yield "stream", [", ".join(streams)]
    yield "window", [_window(plan, query)]
    yield "match", list(_matches(plan))
    if not isinstance(plan.take, str):
        yield "take", [f"{_taken(plan.take, plan)}  for each {keys_text(plan)} of a window"]
    yield "score", list(_score(plan))
    if query.refresh is not None:
        yield "remote", list(_remote(plan, query.refresh))
    yield "list", list(_list(plan, query))
    yield "answer", list(_answer(plan))


def _window(plan: Plan, query: TopKQuery) -> str:
    window = plan.windows[0]
    names = ", ".join(shown(each.name, plan.prefixes) for each in plan.windows)
    slid = query.window
    if window.by == "count":
        return f"{names}  the last {window.width} solutions, every {window.step} (in process only)"
    panes = slid.panes_per_window
    cut = f"{panes} panes of {span(slid.pane)}" if panes > 1 else "one pane"
    return f"{names}  the last {span(window.width)}, every {span(window.step)}: {cut}"


def _matches(plan: Plan) -> Iterator[str]:
    for number, pattern in enumerate(plan.patterns):
        if number:
            yield "or"
        yield from pattern_lines(pattern, plan)
    yield "inside each event"


def pattern_lines(pattern: EventPattern, plan: Plan) -> Iterator[str]:
    """A pattern as the query might write it."""
    for triple in pattern.triples:
        yield " ".join(_term(term, plan) for term in triple)
    for bind in pattern.binds:
        if not bind.variable.startswith("="):
            yield f"?{bind.variable} = {bind.formula}"
    for condition in pattern.filters:
        yield f"where {told(condition, plan)}"


def _term(term: Identifier, plan: Plan) -> str:
    if isinstance(term, Variable):
        return str(term) if term.startswith("_:") else f"?{term}"
    if isinstance(term, URIRef):
        if str(term) == f"{KNOWN['rdf']}type":
            return "a"
        return shown(term, plan.prefixes)
    return str(term.n3())


def triple_text(triple: Triple, plan: Plan) -> str:
    """A triple as the query might write it."""
    return " ".join(_term(term, plan) for term in triple)


def _taken(take: Mapping[str, str], plan: Plan) -> str:
    kinds = plan.kinds.values()
    return ", ".join(f"{n} = {f.replace('`', '')}" for n, f in take.items() if n not in kinds)


def _score(plan: Plan) -> Iterator[str]:
    items = "; every solution is an item" if plan.take == "each" else ""
    yield f"{plan.score}  the {plan.order} first{items}"
    for condition in plan.conditions:
        yield f"where {told(condition, plan)}"


def _remote(plan: Plan, refresh: RefreshSettings) -> Iterator[str]:
    service = plan.services[0]
    yield f"{shown(service.name, plan.prefixes)}  gives ?{service.value} for ?{service.key}"
    yield service.pattern
    if service.default is not None:
        yield f"{service.default:g} for those that it does not know"
    yield f"policy {refresh.policy}: {_spent(refresh.budget)}"
    if refresh.budget.accuracy is not None:
        yield f"answers estimated to be less than {refresh.budget.accuracy:g} right are marked"


def _spent(budget: Budget) -> str:
    if budget.deadline is not None:
        return f"as many fetches as end {span(budget.deadline)} after a window's close"
    return "no limit on fetches" if budget.unlimited else f"{budget.fetches} fetches a window"


def _list(plan: Plan, query: TopKQuery) -> Iterator[str]:
    panes = query.window.panes_per_window
    if plan.take == "each":
        most = f"{plan.k} × {panes} = {plan.k * panes} items"
        yield f"{query.list}  at most k of each pane: {most}, however many events come"
    elif query.list in changing and query.refresh is not None:
        spare, opened = query.refresh.spare, query.window.overlap
        yield (
            f"{query.list}  at most k + spare of each open window: "
            f"({plan.k} + {spare}) × {opened} = {(plan.k + spare) * opened} keys"
        )
    else:
        yield f"one row for each {keys_text(plan)} in each of {panes} panes: it grows with the keys"
    if query.refresh is not None:
        yield "and a replica: one remembered value for each key"


def _answer(plan: Plan) -> Iterator[str]:
    if plan.form == "select":
        yield " ".join(f"?{each.name}" for each in plan.projection)
        return
    for triple in plan.template:
        yield triple_text(triple, plan)


def told(condition: Condition, plan: Plan) -> str:
    """A condition in words and signs."""
    if isinstance(condition, Compare):
        return f"{condition.left} {condition.op} {condition.right}"
    if isinstance(condition, Among):
        terms = ", ".join(_term(term, plan) for term in condition.terms)
        one = len(condition.terms) == 1
        return f"?{condition.variable} = {terms}" if one else f"?{condition.variable} in ({terms})"
    if isinstance(condition, Alike):
        return f"?{condition.left} = ?{condition.right}"
    if isinstance(condition, AllOf | AnyOf):
        word = " and " if isinstance(condition, AllOf) else " or "
        return f"({word.join(told(part, plan) for part in condition.parts)})"
    if isinstance(condition, Not):
        return f"not {told(condition.part, plan)}"
    return _told_of_text(condition)


def _told_of_text(condition: Text | Kind) -> str:
    if isinstance(condition, Kind):
        return f"?{condition.variable} is {condition.kind}"
    case = ", in any case" if condition.ignore_case else ""
    return f"?{condition.variable} {condition.test} {condition.text!r}{case}"
