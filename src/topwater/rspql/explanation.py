"""A query in RSP-QL as a person would draw it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from rdflib.term import Identifier, URIRef, Variable

from topwater.query import TopKQuery
from topwater.replica import RefreshSettings
from topwater.replica.joins.join_settings import JoinSettings
from topwater.rspql.parser.cursor import KNOWN, shown
from topwater.rspql.plan.compilation import is_bounded, windows_of
from topwater.rspql.plan.condition_kinds import (
    Alike,
    AllOf,
    Among,
    AnyOf,
    Compare,
    Condition,
    Kind,
    Not,
    SameTerm,
    Text,
)
from topwater.rspql.plan.further_conditions import FURTHER
from topwater.rspql.plan.plan import (
    TEXT,
    Bind,
    Derived,
    EventPattern,
    Fixed,
    Holds,
    Plan,
    Service,
    Triple,
)
from topwater.rspql.query_text import parse
from topwater.show.explain import Explanation, Step, Wording, explanation, window_line

_OUT = {
    "RSTREAM": "all rows of every answer",
    "ISTREAM": "the rows that were not in the answer before",
    "DSTREAM": "the rows of the answer before that are gone",
}
_CAST = re.compile(r"`?\b(\w+)\^\^(\w+)(?:=[-+.\w]*)?`?")
_CHOICE = re.compile(r"=if [0-9a-f]{12}")
_NEVER = "matches nothing unless"
_UNLIKE = "unlike SPARQL over all triples of a window"


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
      score    value, the largest first; every solution is an item
         │
      list     panes: at most k of each pane: 3 × 2 = 6 items, however many events come
         │
      answer   ?sensor ?value
    <BLANKLINE>
    exact:
      - every answer: what is forgotten can be in no answer any more
    ...
    """
    return str(plan_explanation(parse(plan) if isinstance(plan, str) else plan))


def plan_explanation(plan: Plan) -> Explanation:
    """What a plan does and promises, as plain values."""
    query = plan.query()
    asked = [name for service in plan.services for name in service.names]
    value = ", ".join(f"?{name}" for name in asked)
    whole = explanation(query, Wording(_keys(plan), value, "WITH BUDGET UNLIMITED"))
    steps = (replace(e, lines=tuple(_spelt(e.lines, plan))) for e in _steps(plan, query))
    whole = replace(whole, title=_headline(plan)).with_steps(*steps)
    if plan.service is not None and plan.refresh.spare is not None and not is_bounded(plan):
        whole = whole.with_reasons(
            "approximate",
            [
                "SPARE does not bound the memory here: that takes one value of the stream, with "
                "which the score rises or falls whatever the others are, and no GROUP BY"
            ],
        )
    whole = whole.with_reasons(_NEVER, _crowded(plan))
    return whole.with_reasons(_UNLIKE, _differences(plan))


def _crowded(plan: Plan) -> Iterator[str]:
    """Which patterns need more in one event than events usually hold."""
    for pattern in (part for each in plan.patterns for part in each.blocks):
        apart = components(pattern)
        if len(apart) > 1:
            told = " and ".join(f"{{ {triple_text(part[0], plan)} … }}" for part in apart[:3])
            yield f"{told} are in one event: nothing joins them, and events are not joined"
        for predicate, subjects in _repeated(pattern).items():
            told = " and ".join(_term(each, plan) for each in subjects[:3])
            yield (
                f"one event says {_term(predicate, plan)} of each of {told}: two observations in "
                "two events do not match"
            )


def components(pattern: EventPattern) -> list[list[Triple]]:
    """The triples of a pattern, those that hang together by variables together."""
    parts: list[list[Triple]] = []
    for triple in pattern.triples:
        names = {term for term in triple if isinstance(term, Variable)}
        near = [each for each in parts if names & {term for part in each for term in part}]
        parts = [each for each in parts if each not in near]
        parts.append([part for each in near for part in each] + [triple])
    return parts


def _repeated(pattern: EventPattern) -> dict[Identifier, list[Identifier]]:
    """The predicates that several subjects have."""
    found: dict[Identifier, list[Identifier]] = {}
    for subject, predicate, _ in pattern.triples:
        if isinstance(predicate, URIRef) and subject not in found.setdefault(predicate, []):
            found[predicate].append(subject)
    return {predicate: each for predicate, each in found.items() if len(each) > 1}


def _keys(plan: Plan) -> str:
    """What tells items apart, as variables."""
    names = dict.fromkeys(name for name in plan.keys if not name.startswith(FURTHER))
    return " and ".join(f"?{name}" for name in names)


def _headline(plan: Plan) -> str:
    name = "" if plan.name is None else f"{shown(plan.name, plan.prefixes)}: "
    what = "triples" if plan.form == "construct" else "rows"
    out = _OUT[plan.operator].replace("rows", what)
    return f"{name}the {plan.k} best of each window; {out} go out ({plan.operator})"


def _steps(plan: Plan, query: TopKQuery) -> Iterator[Step]:
    streams = dict.fromkeys(shown(window.stream, plan.prefixes) for window in plan.windows)
    yield Step("stream", (", ".join(streams),))
    yield Step("window", _window(plan, query))
    yield Step("match", tuple(_matches(plan)))
    if not isinstance(plan.take, str):
        yield Step("take", (f"{_taken(plan.take, plan)}, for each {_keys(plan)} of a window",))
    if query.single is not None:
        yield Step("remote", tuple(_remote(plan, query.single)))
    elif query.joins is not None:
        yield Step("remote", tuple(_several(plan, query.joins)))
    if plan.joins_services and plan.conditions:
        yield Step("where", tuple(condition_text(each, plan) for each in plan.conditions))
    yield Step("score", tuple(_score(plan)))
    if plan.by_window and not plan.services:
        yield Step("list", (_held(plan),))
    yield Step("answer", tuple(_answer(plan)))


def _held(plan: Plan) -> str:
    """What is remembered where windows are made whole before they are ranked."""
    if plan.joins_windows or plan.take != "each" or not plan.then:
        return "what the blocks find, until no window needs it: it grows with the solutions"
    panes = windows_of(plan.windows[0]).panes_per_window
    most = f"{plan.k} × {panes} = {plan.k * panes:,}"
    return f"at most k of each pane: {most} solutions, however many come"


def _window(plan: Plan, query: TopKQuery) -> tuple[str, ...]:
    lines = []
    for width in dict.fromkeys(each.width for each in plan.windows):
        mine = [each for each in plan.windows if each.width == width]
        names = ", ".join(shown(each.name, plan.prefixes) for each in mine)
        line = window_line(windows_of(mine[0]))
        if query.window.by == "count":
            line = f"{line.replace('events', 'solutions')} (in process only)"
        lines.append(f"{names}  {line}")
    return tuple(lines)


def _matches(plan: Plan) -> Iterator[str]:
    for number, pattern in enumerate(plan.patterns):
        if number:
            yield "or"
        yield from pattern_lines(pattern, plan)
    if plan.files:
        yield f"{_files(plan.files, plan)}: read once, when the query begins"
    beside = tuple(dict.fromkeys(g for each in plan.patterns for g in each.beside))
    if beside:
        yield f"inside each event together with {_files(beside, plan)}"
    elif plan.joins_windows:
        yield "each block inside each event, and joined over each window"
    else:
        yield "inside each event"


def _files(graphs: Iterable[URIRef], plan: Plan) -> str:
    return " and ".join(shown(graph, plan.prefixes) for graph in graphs)


def pattern_lines(pattern: EventPattern, plan: Plan) -> Iterator[str]:
    """A pattern as the query might write it."""
    for number, part in enumerate(pattern.parts):
        if number:
            yield "joined with"
        yield from pattern_lines(part, plan)
    for triple in () if pattern.parts else pattern.triples:
        yield " ".join(_term(term, plan) for term in triple)
    for fact in pattern.facts:
        yield f"{triple_text(fact.triple, plan)}  in {_files(fact.graphs, plan)}, a file"
    for bind in pattern.binds:
        if isinstance(bind, Fixed):
            stream = isinstance(bind.term, Variable)
            told = "the stream's name" if stream else _term(bind.term, plan)
            yield f"?{bind.variable} = {told}"
        elif isinstance(bind, Derived):
            yield f"?{bind.variable} = {bind.part.upper()}(?{bind.of})"
        elif isinstance(bind, Bind) and not bind.variable.startswith("="):
            yield f"?{bind.variable} = {bind.formula}"
    for condition in pattern.filters:
        yield f"where {condition_text(condition, plan)}"


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
    hidden = {*plan.kinds.values(), *plan.errors.values()}
    return ", ".join(f"{n} = {_readable(f)}" for n, f in take.items() if n not in hidden)


def _readable(formula: str) -> str:
    """A formula as SPARQL would write its casts."""
    return _CAST.sub(r"xsd:\2(\1)", formula).replace("`", "").replace(f"{TEXT})", ")")


def _score(plan: Plan) -> Iterator[str]:
    items = "; every solution is an item" if plan.take == "each" else ""
    yield f"{_readable(plan.score)}, the {plan.order} first{items}"
    if plan.then:
        yield f"then {'; '.join(_further(plan))}"
    for condition in () if plan.joins_services else plan.conditions:
        yield f"where {condition_text(condition, plan)}"


def _further(plan: Plan) -> Iterator[str]:
    """What decides between equal scores, and which of it comes first."""
    parts = [part for each in plan.patterns for part in (each, *each.parts)]
    made = {b.variable: b.formula for part in parts for b in part.binds if isinstance(b, Bind)}
    for by, largest in plan.then:
        if by.role == "key":
            name = by.variable
            told = _readable(made[name]) if name.startswith(FURTHER) else f"?{name}"
        else:
            told = plan.score if by.role == "score" else _readable(by.formula)
        yield f"{told}, the {'largest' if largest else 'smallest'} first"


def _remote(plan: Plan, refresh: RefreshSettings) -> Iterator[str]:
    yield from _service_lines(plan.services[0], plan)
    yield f"{refresh.budget.in_words}, chosen by {refresh.policy}"
    if refresh.budget.accuracy is not None and refresh.budget.set_point is None:
        yield f"answers estimated to be less than {refresh.budget.accuracy:g} right are marked"


def _several(plan: Plan, joins: JoinSettings) -> Iterator[str]:
    for service in plan.services:
        yield from _service_lines(service, plan)
    budget = joins.budget
    yield f"{budget.in_words}, of all together: where knowing is worth most"
    if budget.accuracy is not None:
        yield f"answers estimated to be less than {budget.accuracy:g} right are marked"


def _service_lines(service: Service, plan: Plan) -> Iterator[str]:
    """What a service is asked."""
    names = [f"?{name}" for name in service.names]
    told = " and ".join([", ".join(names[:-1]), names[-1]] if names[:-1] else names)
    latest = "" if service.by is None or service.key in plan.keys else "the latest "
    yield f"{shown(service.name, plan.prefixes)}  gives {told} for {latest}?{service.key}"
    yield service.pattern
    for each in service.numbers:
        if each.default is not None:
            whose = "" if len(service.numbers) == 1 else f"?{each.name} = "
            yield f"{whose}{each.default:g} for those that it does not know"


def _answer(plan: Plan) -> Iterator[str]:
    if plan.form == "select":
        yield " ".join(f"?{each.name}" for each in plan.projection)
        return
    for triple in plan.template:
        yield triple_text(triple, plan)


def condition_text(condition: Condition, plan: Plan) -> str:
    """A condition in words and signs."""
    if isinstance(condition, Compare):
        return _readable(f"{condition.left} {condition.op} {condition.right}")
    if isinstance(condition, Among | SameTerm):
        terms = ", ".join(_term(term, plan) for term in condition.terms)
        one = len(condition.terms) == 1
        return f"?{condition.variable} = {terms}" if one else f"?{condition.variable} in ({terms})"
    if isinstance(condition, Alike):
        return f"?{condition.left} = ?{condition.right}"
    if isinstance(condition, AllOf | AnyOf):
        word = " and " if isinstance(condition, AllOf) else " or "
        return f"({word.join(condition_text(part, plan) for part in condition.parts)})"
    if isinstance(condition, Not):
        return f"not {condition_text(condition.part, plan)}"
    return _text_condition(condition)


def _spelt(lines: Iterable[str], plan: Plan) -> Iterator[str]:
    """Lines in which what IF asks is written out."""
    parts = [part for each in plan.patterns for part in (each, *each.parts)]
    known = {bind.variable: bind for part in parts for bind in part.binds}

    def written(found: re.Match[str]) -> str:
        bind = known[found[0]]
        if isinstance(bind, Holds):
            return _CHOICE.sub(written, condition_text(bind.condition, plan))
        return _CHOICE.sub(written, _readable(bind.formula)) if isinstance(bind, Bind) else ""

    return (_CHOICE.sub(written, line) for line in lines)


def _text_condition(condition: Text | Kind) -> str:
    if isinstance(condition, Kind):
        return f"?{condition.variable} is {condition.kind}"
    if condition.of in ("lang", "datatype"):
        test = "in the range" if condition.test == "range" else condition.test
        return f"{condition.of.upper()}(?{condition.variable}) {test} {condition.text!r}"
    case = ", in any case" if condition.ignore_case else ""
    return f"?{condition.variable} {condition.test} {condition.text!r}{case}"


def _repeats(plan: Plan) -> str:
    """What becomes of a triple that is said twice."""
    if plan.take == "each":
        return "a triple that is in two events gives two items, where a set of triples has it once"
    if plan.group_by:
        return "a triple that is in two events counts twice, where a set of triples has it once"
    keys = " and ".join(f"?{name}" for name in plan.keys)
    return (
        f"a {keys} counts once in a window, with its latest solution, where SPARQL gives a row "
        "for each"
    )


def _differences(plan: Plan) -> Iterator[str]:
    """Where the answer is another one than SPARQL gives over all triples of a window."""
    blocks = [part for pattern in plan.patterns for part in pattern.blocks]
    if any(len(block.triples) > 1 for block in blocks):
        yield "the triples of a block join inside one event, and not across events"
    if not plan.distinct:
        yield _repeats(plan)
    for service in plan.services:
        if service.by is not None and service.key not in plan.keys:
            yield (
                f"of several ?{service.key} of a {_keys(plan)} the latest is looked up; whether "
                "the others are known there counts for nothing"
            )
        for each in service.numbers:
            if each.pick is not None:
                yield (
                    f"of several ?{each.name} of a ?{service.key} one is taken first, so that "
                    "counts and sums are those of the stream, where SPARQL counts each combination"
                )
    if plan.windows[0].by == "count":
        yield "windows count solutions of the pattern, not triples"
    equal = "what is equal in all of ORDER BY is" if plan.then else "equal scores are"
    yield f"{equal} ranked by age, the younger first, where SPARQL leaves it open"
    for graph in plan.static:
        yield f"FROM {shown(graph, plan.prefixes)} is read by no pattern"
