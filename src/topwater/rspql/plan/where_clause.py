"""The algebra of a ``WHERE`` clause, as rdflib gives it → patterns, services, filters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NoReturn

from rdflib.paths import InvPath, Path, SequencePath
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import BNode, Identifier, URIRef, Variable

from topwater.rspql.parser.cursor import Names
from topwater.rspql.parser.streaming_clauses import Streaming, default_graph, has_blocks
from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.choices import Choices, with_choices
from topwater.rspql.plan.condition_kinds import SameTerm
from topwater.rspql.plan.conditions import Conditions, names_in
from topwater.rspql.plan.pattern_variables import derived_of, variables, with_casts
from topwater.rspql.plan.plan import (
    Bind,
    Binding,
    Derived,
    EventPattern,
    Fact,
    Fixed,
    Named,
    Triple,
)
from topwater.rspql.plan.score_formula import Formulas
from topwater.rspql.plan.service_clause import Remote, remote_of, triples_text
from topwater.rspql.plan.solution_modifiers import takes_all
from topwater.rspql.plan.static_clause import require_of_facts, with_facts
from topwater.scoring.expressions import Node
from topwater.scoring.expressions import parse as parse_formula

_REFUSED = {
    "Minus": ("MINUS", "MINUS is not supported", "use FILTER(?x != …) or FILTER(!(…))"),
    "LeftJoin": (
        "OPTIONAL",
        "OPTIONAL is for a SERVICE only: a solution without a part has no score",
        "put the SERVICE alone into it: OPTIONAL { SERVICE :s { … } }",
    ),
    "Graph": (
        "GRAPH",
        "GRAPH inside WINDOW is not supported: an event is one graph",
        "leave GRAPH out: its triples are matched in any graph of the event",
    ),
    "ServiceGraphPattern": (
        "SERVICE",
        "SERVICE can't stand inside WINDOW or UNION",
        "put it after the WINDOW block",
    ),
    "ToMultiSet": (
        "SELECT",
        "a subquery can't be joined with anything",
        "make the subquery the whole of WHERE, or write one query without it",
    ),
}


@dataclass(slots=True)
class Where:
    """What a pattern was found to say.

    Attributes
    ----------
    patterns
        Alternatives. A solution is one of any of them.
    remotes
        What is joined with them.
    filters
        Expressions that have to hold, about solutions with remote values.
    known
        What stands for variables that were bound outside the windows.
    defaults
        What ``COALESCE`` gives for variables that may be unbound.
    facts
        Static data that are joined with whatever stands beside them.
    """

    patterns: list[EventPattern] = field(default_factory=list)
    remotes: list[Remote] = field(default_factory=list)
    filters: list[Any] = field(default_factory=list)
    known: dict[str, Node] = field(default_factory=dict)
    defaults: dict[str, float] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)

    def bind_choices(self, names: Iterable[str], choices: Choices) -> None:
        """Let each solution have what some formulas need of ``IF``."""
        self.patterns = [with_choices(each, names, choices) for each in self.patterns]

    def stream_variables(self) -> set[str]:
        """The variables that every alternative binds."""
        found = [variables(pattern) for pattern in self.patterns]
        return set.intersection(*found) if found else set()


class Walker:
    """Walks down the algebra of one query.

    Attributes
    ----------
    choices
        What ``IF`` asks, as far as was walked.
    """

    def __init__(self, document: Document, names: Names, parts: Streaming) -> None:
        self._document = document
        self._names = names
        self._parts = parts
        # Where a stream has blocks, what is in none is not of a stream.
        self._default = [] if has_blocks(document) else parts.default
        self._blanks: dict[BNode, int] = {}
        self._services = 0
        self.choices: Choices = {}

    def where(self, node: Any) -> Where:
        """A pattern outside of windows."""
        if self._default and node.name in ("BGP", "Join", "Union") and _is_plain(node):
            return self._of_default(node)
        handle = getattr(self, f"_{node.name.lower()}", None)
        if handle is None:
            self._refuse(node)
        found: Where = handle(node)
        return found

    def _of_default(self, node: Any) -> Where:
        """Triples in no block, where the stream itself is what is asked: ``FROM STREAM``."""
        streams = self._default
        if len(streams) > 1:
            names = [each.n3() for each in streams]
            self._document.fail(
                f"which triples are from {' and which from '.join(names[:3])} is unclear",
                self._names.place(streams[-1], "WHERE", "{"),
                f"put those of a stream into a block: WINDOW {names[0]} {{ … }}",
            )
        found = self._in_window(node, streams)
        graphs = default_graph(self._parts)
        found.patterns = [replace(each, beside=graphs) for each in found.patterns]
        return found

    def _join(self, node: Any) -> Where:
        left, right = self.where(node.p1), self.where(node.p2)
        patterns = left.patterns + right.patterns
        if left.patterns and right.patterns:
            patterns = [self._pair(a, b) for a in left.patterns for b in right.patterns]
        facts = left.facts + right.facts
        if patterns and facts:
            patterns, facts = (
                [with_facts(self._document, e, variables(e), facts) for e in patterns],
                [],
            )
        return Where(
            patterns,
            left.remotes + right.remotes,
            left.filters + right.filters,
            left.known | right.known,
            left.defaults | right.defaults,
            facts,
        )

    def _pair(self, one: EventPattern, other: EventPattern) -> EventPattern:
        """Two blocks, joined over a window; triples of ``FROM STREAM`` join inside one event."""
        if one.window == other.window and one.window in self._default:
            return one.joined(other)
        for name in sorted(variables(one) & variables(other)):
            computed = {b.variable for each in (one, other) for b in each.binds if _computes(b)}
            if name in computed:
                self._fail(
                    "BIND",
                    f"?{name} is computed in one WINDOW block, and joined with another",
                    "compute it under another name, and compare: FILTER(?a = ?b)",
                )
        both = (one, other)
        loose = [each if each.parts else EventPattern(each.window, ()) for each in both]
        return EventPattern(
            one.window,
            one.triples + other.triples,
            loose[0].filters + loose[1].filters,
            loose[0].binds + loose[1].binds,
            one.blocks + other.blocks,
            loose[0].facts + loose[1].facts,
        )

    def _union(self, node: Any) -> Where:
        left, right = self.where(node.p1), self.where(node.p2)
        for side in (left, right):
            if side.remotes:
                self._refuse_by(*_REFUSED["ServiceGraphPattern"])
            if side.facts:
                self._document.fail(
                    "static data are an alternative of their own: they are joined with a window",
                    self._place(side.facts[0].triple[1]),
                    "put a WINDOW block into each part of UNION",
                )
            if side.known:
                self._fail("BIND", "BIND is in UNION, but outside WINDOW", "move it inside")
        return Where(left.patterns + right.patterns)

    def _leftjoin(self, node: Any) -> Where:
        left, right = self.where(node.p1), self.where(node.p2)
        if right.facts:
            self._fail(
                "OPTIONAL",
                "static data are OPTIONAL: a solution without them has no score",
                "leave OPTIONAL out, or write both cases: { … } UNION { … }",
            )
        if right.patterns or right.known or len(right.remotes) != 1:
            self._refuse_optional(bool(right.remotes))
        if right.filters or getattr(node.expr, "name", "") != "TrueFilter":
            self._fail("OPTIONAL", "a FILTER is in OPTIONAL, but outside SERVICE", "move it inside")
        (remote,) = right.remotes
        return replace(left, remotes=[*left.remotes, replace(remote, optional=True)])

    def _graph(self, node: Any) -> Where:
        if node.term in self._parts.windows:
            return self._in_window(node.p, [node.term])
        if node.term in self._parts.static and node.p.name == "BGP":
            return self._static(node.p.triples, node.term)
        if not isinstance(node.term, Variable) or not self._parts.windows:
            self._unknown_window(node.term)
        found = self._in_window(node.p, list(self._parts.windows))
        if self._is_used(node.term):
            named = str(node.term)
            found.patterns = [
                replace(each, binds=(Fixed(named, each.window), *each.binds))
                for each in found.patterns
            ]
        return found

    def _in_window(self, node: Any, windows: list[Named]) -> Where:
        """What stands in a block for one of some windows."""
        found = [body for window in windows for body in self._bodies(node, window)]
        if not all(body.triples for body in found):
            self._fail("WINDOW", "the WINDOW block has no triples", "write WINDOW :w { ?s ?p ?o }")
        return Where([self._with_stream(each) for each in found])

    def _with_stream(self, pattern: EventPattern) -> EventPattern:
        """The same, with the stream bound to the variable that stands for its name, if used."""
        stream = self._parts.windows[pattern.window].stream
        if not isinstance(stream, Variable) or not self._is_used(stream):
            return pattern
        return replace(pattern, binds=(Fixed(str(stream), stream), *pattern.binds))

    def _is_used(self, variable: Variable) -> bool:
        """Is a variable anywhere but in this one place?"""
        tokens = self._document.tokens
        there = [t for t in tokens if t.kind == "variable" and t.text[1:] == str(variable)]
        return len(there) > 1 or takes_all(self._document)

    def _servicegraphpattern(self, node: Any) -> Where:
        self._services += 1
        return Where(remotes=[remote_of(self._document, self._names, node, self._services - 1)])

    def _bgp(self, node: Any) -> Where:
        if not node.triples:
            return Where()
        graphs = default_graph(self._parts)
        if self._parts.files & set(map(str, graphs)):
            return self._facts(node.triples, graphs)
        if len(self._parts.static) != 1:
            self._document.fail(
                "the triples are in no WINDOW and in no SERVICE",
                self._place(node.triples[0][1]),
                "put them into WINDOW :w { … } or SERVICE :s { … }",
            )
        return self._static(node.triples, self._parts.static[0])

    def _static(self, triples: list[Any], name: URIRef) -> Where:
        """Data that are not in the stream: a file, or looked up as those of a service are."""
        if str(name) in self._parts.files:
            return self._facts(triples, (name,))
        names = {str(t) for triple in triples for t in triple if isinstance(t, Variable)}
        return Where(remotes=[Remote(name, triples_text(triples), frozenset(names))])

    def _facts(self, triples: list[Any], graphs: tuple[URIRef, ...]) -> Where:
        return Where(facts=[Fact(each, graphs) for each in self._expanded(triples)])

    def _filter(self, node: Any) -> Where:
        found = self.where(node.p)
        if found.facts:
            there = {name for remote in found.remotes for name in remote.variables}
            formulas = Formulas(self._document, found.known, set())
            require_of_facts(self._document, formulas, found.facts, there, node.expr)
        if found.remotes or not found.patterns:
            return replace(found, filters=[*found.filters, node.expr])
        return replace(found, patterns=self.filtered(found, node.expr))

    def filtered(self, found: Where, expression: Any) -> list[EventPattern]:
        """The patterns, each with one more condition, which is about the stream only."""
        formulas = Formulas(self._document, found.known, set(), choices=self.choices)
        condition = Conditions(self._document, formulas).condition(expression)
        return [
            replace(
                with_choices(each, names_in(condition), self.choices),
                filters=(*each.filters, condition),
            )
            for each in found.patterns
        ]

    def _extend(self, node: Any) -> Where:
        found = self.where(node.p)
        derived = derived_of(node)
        if derived is not None and derived.of in found.stream_variables():
            found.patterns = [replace(e, binds=(*e.binds, derived)) for e in found.patterns]
            return found
        optional = {name for each in found.remotes if each.optional for name in each.variables}
        formulas = Formulas(
            self._document,
            found.known,
            optional,
            choices=self.choices,
            solution=with_casts(found.stream_variables()),
        )
        found.known[str(node.var)] = formulas.node(node.expr)
        found.defaults |= formulas.defaults
        return found

    def _tomultiset(self, node: Any) -> Where:
        """``VALUES`` of one variable; the rest is refused."""
        if node.p.name != "values":
            self._refuse(node)
        rows = node.p.res
        names = {str(name) for row in rows for name in row}
        if len(names) != 1 or any(len(row) != 1 for row in rows):
            self._fail("VALUES", "VALUES has another number of variables than one", "use FILTER")
        (name,) = names
        terms = tuple(term for row in rows for term in row.values())
        if not all(isinstance(term, Identifier) for term in terms):
            self._fail("VALUES", f"UNDEF in VALUES lets ?{name} be anything", "name its terms only")
        if len({*terms}) < len(terms):
            self._fail("VALUES", "VALUES names a term twice", "name each term once")
        return Where(filters=[SameTerm(name, terms)])

    def _bodies(self, node: Any, window: Named) -> list[EventPattern]:
        """What stands inside a WINDOW block: alternatives."""
        if node.name == "BGP":
            return [EventPattern(window, tuple(self._expanded(node.triples)))]
        if node.name == "Union":
            return self._bodies(node.p1, window) + self._bodies(node.p2, window)
        if node.name == "Join":
            left, right = self._bodies(node.p1, window), self._bodies(node.p2, window)
            return [one.joined(other) for one in left for other in right]
        if node.name == "Filter":
            found = Where(self._bodies(node.p, window))
            return self.filtered(found, node.expr)
        if node.name == "Extend" and (derived := derived_of(node)) is not None:
            return [replace(e, binds=(*e.binds, derived)) for e in self._bodies(node.p, window)]
        if node.name == "Extend":
            text = Formulas(self._document, {}, set(), choices=self.choices).text(node.expr)
            bind = Bind(str(node.var), text)
            names = parse_formula(text).columns
            bodies = (with_choices(e, names, self.choices) for e in self._bodies(node.p, window))
            return [replace(each, binds=(*each.binds, bind)) for each in bodies]
        return self._refuse(node)

    def _expanded(self, triples: list[Any]) -> Iterator[Triple]:
        """Sequences of predicates as triples of their own; blank nodes as variables."""
        for subject, predicate, obj in triples:
            steps = predicate.args if isinstance(predicate, SequencePath) else [predicate]
            ends = [self._open(BNode()) for _ in steps[1:]]
            for step, start, end in zip(steps, [subject, *ends], [*ends, obj], strict=True):
                yield self._single(start, step, end)

    def _single(self, start: Any, step: Any, end: Any) -> Triple:
        if isinstance(step, InvPath) and isinstance(step.arg, Identifier):
            start, step, end = end, step.arg, start
        if isinstance(step, Path):
            self._document.fail(
                "the property path is not a sequence of predicates",
                self._path_place(),
                "write :a/:b, ^:a, or triples",
            )
        return self._open(start), step, self._open(end)

    def _open(self, term: Any) -> Any:
        """A blank node as a variable that nobody else uses."""
        if not isinstance(term, BNode):
            return term
        return Variable(f"_:{self._blanks.setdefault(term, len(self._blanks))}")

    def _path_place(self) -> int:
        """Where a property path has a sign that no sequence has."""
        tokens = self._document.tokens
        for before, token in pairwise(tokens):
            sign = token.text in ("|", "+", "*", "?", "!", "^") and token.level > 0
            if sign and (before.kind in ("iri", "name") or before.text in ")(^|/"):
                return token.start
        return self._document.find("WHERE", "{")

    def _place(self, term: Any) -> int:
        """Where a term of a pattern is first, if it can be found."""
        if isinstance(term, URIRef):
            return self._names.place(term, "WHERE", "{")
        return self._document.find(f"?{term}", f"${term}", "WHERE", "{")

    def _unknown_window(self, name: Any) -> NoReturn:
        known = ", ".join(each.n3() for each in self._parts.windows) or "none"
        self._document.fail(
            f"no window is called {name.n3()}",
            self._place(name),
            f"declare it: FROM NAMED WINDOW :w ON :s [RANGE PT9M STEP PT3M]; declared: {known}",
        )

    def _refuse_optional(self, asked: bool) -> NoReturn:
        """OPTIONAL with more in it than a service, or without one."""
        if asked:
            self._refuse_by(*_REFUSED["LeftJoin"])
        self._fail(
            "OPTIONAL",
            "triples of the stream are OPTIONAL: a solution without them has no score",
            "leave OPTIONAL out, or write both cases: { … } UNION { … }",
        )

    def _refuse(self, node: Any) -> NoReturn:
        if node.name == "LeftJoin":
            self._refuse_optional(False)
        unknown = (node.name, f"{node.name} is not supported", "leave it out")
        self._refuse_by(*_REFUSED.get(node.name, unknown))

    def _refuse_by(self, token: str, problem: str, fix: str) -> NoReturn:
        self._fail(token, problem, fix)

    def _fail(self, token: str, problem: str, fix: str) -> NoReturn:
        self._document.fail(problem, self._last(token), fix)

    def _last(self, word: str) -> int:
        """Where a token is last: windows are declared before they are read."""
        found = [token.start for token in self._document.tokens if token.text.upper() == word]
        return found[-1] if found else self._document.find("WHERE", "{")


def _computes(bind: Binding) -> bool:
    return isinstance(bind, Bind | Derived)


def _is_plain(node: Any) -> bool:
    """Is there nothing but triples in it, and what is said of them?"""
    if node.name in ("Graph", "ServiceGraphPattern", "ToMultiSet"):
        return False
    parts = [getattr(node, name, None) for name in ("p", "p1", "p2")]
    return all(_is_plain(part) for part in parts if isinstance(part, CompValue))
