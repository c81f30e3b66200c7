"""``GROUP BY``: aggregates over the window → what the stream says of a key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from rdflib.term import Variable

from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.choices import Choices, variables_behind
from topwater.rspql.plan.formula_names import free_name, renamed_tree
from topwater.rspql.plan.pattern_variables import variables
from topwater.rspql.plan.plan import TEXT, Bind, Binding, Derived, Pick
from topwater.rspql.plan.score_formula import Formulas
from topwater.rspql.plan.solution_modifiers import Layers
from topwater.rspql.plan.unbound import fail_unbound
from topwater.rspql.plan.where_clause import Where
from topwater.rspql.rdf.term_values import ERROR, KIND, plain_cast, variable_in
from topwater.scoring.expressions import Call, Expression, Name, Node, parse

_FUNCTIONS = {"Sum": "sum", "Avg": "mean", "Min": "min", "Max": "max", "Count": "count"}
_PICKS: dict[str, Pick] = {"Min": "min", "Max": "max", "Avg": "mean", "Sample": "sample"}
"""Which of a key's remote values counts, if there are several."""


class Grouping:
    """The aggregates of a query.

    Attributes
    ----------
    known
        What stands for the variables that rdflib, and ``SELECT``, give to aggregates.
    """

    def __init__(
        self,
        document: Document,
        layers: Layers,
        where: Where,
        stream: set[str],
        remote: set[str],
        choices: Choices | None = None,
    ) -> None:
        self._document = document
        self._choices: Choices = {} if choices is None else choices
        self._where = where
        self._stream = set(stream)
        self._remote = remote
        self._groups = set(group_names(layers, where))
        self._optional = {n for each in where.remotes if each.optional for n in each.variables}
        self._taken: dict[str, str] = {}
        self._picks: dict[str, set[Pick]] = {}
        self._errors: dict[str, str] = {}
        self._flags: dict[str, str] = {}
        self._names = _result_names(layers)
        self.known: dict[str, Node] = dict(where.known)
        later = dict(self._aliases(layers))
        for aggregate in layers.aggregates:
            if str(aggregate.res) not in later:
                self.known[str(aggregate.res)] = self._aggregate(aggregate)
        for name, expression in layers.extends:
            formulas = Formulas(
                document, self.known, self._optional, choices=self._choices, solution=()
            )
            self.known[name] = formulas.node(expression)
            where.defaults |= formulas.defaults
            self.known |= {res: self.known[name] for res, own in later.items() if own == name}

    def _aliases(self, layers: Layers) -> Iterator[tuple[str, str]]:
        """Samples of what SELECT itself computes: rdflib takes ``?n`` in a later part for one."""
        grouped = {str(each) for each in layers.groups or ()}
        computed = {name for name, _ in layers.extends} - grouped - self._stream
        for aggregate in layers.aggregates:
            if aggregate.name == "Aggregate_Sample" and str(aggregate.vars) in computed:
                yield str(aggregate.res), str(aggregate.vars)

    @property
    def picks(self) -> dict[str, Pick]:
        """Which of several values counts, by the remote variables of which the query says one.

        With a condition on single values, that one is to be met first.
        """
        if self._where.filters:
            return {}
        return {name: next(iter(each)) for name, each in self._picks.items() if len(each) == 1}

    def take(self, used: set[str]) -> dict[str, str]:
        """The aggregates by their names; a count if none is used."""
        wanted = {name: form for name, form in self._taken.items() if name in used}
        wanted = wanted or self._taken or {self.free("seen"): "count"}
        return wanted | {flag: self._flags[flag] for flag in self.errors_of(wanted).values()}

    def of_distinct(self, score: Node, outputs: Mapping[str, Node]) -> tuple[Node, dict[str, Node]]:
        """A score and what is shown of rows that differ, where these are the groups.

        All solutions of a group have the same terms, so the greatest number is that of all.
        """
        ranked = self._of_group(score)
        found = {}
        for name, node in outputs.items():
            key = isinstance(node, Name) and node.name in self._groups
            found[name] = node if key and node != score else self._of_group(node)
        return ranked, found

    def _of_group(self, node: Node) -> Node:
        names = Expression(node).columns
        for name in sorted(variables_behind(names, self._choices)):
            if variable_in(name) not in self._groups:
                variable = variable_in(name)
                self._document.fail(
                    f"DISTINCT rows do not show ?{variable}, of which one row may have several",
                    self._document.find("DISTINCT"),
                    f"show ?{variable} too, or say which counts: MAX(?{variable}) and GROUP BY",
                )
        self._where.bind_choices(names, self._choices)
        self._stream |= {name for name in names if name in self._choices}
        return renamed_tree(node, {name: self._note("Max", Name(name), "") for name in names})

    def free(self, name: str) -> str:
        """A name that no aggregate and no remote value has."""
        return free_name(name, {*self._taken, *self._flags, *self._remote})

    def errors_of(self, names: Iterable[str]) -> dict[str, str]:
        """By the names of aggregates, those that say whether a value of theirs is not a number."""
        return {name: self._errors[name] for name in names if name in self._errors}

    def _aggregate(self, aggregate: Any) -> Node:
        kind = str(aggregate.name).removeprefix("Aggregate_")
        if aggregate.distinct:
            self._fail(
                kind,
                f"{kind.upper()}(DISTINCT …) would have to remember every value",
                f"write {kind.upper()}(…) without DISTINCT",
            )
        node = None if aggregate.vars == "*" else self._argument(aggregate.vars)
        used = set() if node is None else set(Expression(node).columns)
        if used & self._remote:
            return self._of_remote(kind, node)
        if kind == "Sample":
            return self._sample(node)
        if kind == "Count" and isinstance(node, Name) and node.name in self._derived():
            self._fail(
                kind,
                f"COUNT(?{node.name}) leaves out where ?{node.name} has no value",
                "count what it is made of, or COUNT(*)",
            )
        if kind == "Count" and node is not None and self._may_fail(node):
            return self._count_bound(node, str(aggregate.res))
        if kind not in _FUNCTIONS:
            word = "GROUP_CONCAT" if kind == "GroupConcat" else kind.upper()
            self._fail(word, f"{word} gives no number", "use COUNT, SUM, MIN, MAX or AVG")
        return Name(self._note(kind, node, str(aggregate.res)))

    def _may_fail(self, node: Node) -> bool:
        """Is it computed, so that it may be an error in some solutions? These are not counted."""
        if not isinstance(node, Name) or KIND in node.name:
            return True
        computed = {
            bind.variable
            for bind in self._binds()
            if isinstance(bind, Bind) and not isinstance(parse(bind.formula).tree, Name)
        }
        return node.name in computed

    def _derived(self) -> set[str]:
        return {bind.variable for bind in self._binds() if isinstance(bind, Derived)}

    def _binds(self) -> Iterator[Binding]:
        for pattern in self._where.patterns:
            for part in (pattern, *pattern.parts):
                yield from part.binds

    def _count_bound(self, node: Node, result: str) -> Node:
        column = self._column(node)
        label = self._names.get(result) or "count"
        every = self._named("count", label, self._taken)
        lost = self._named(f"sum(`{column}{ERROR}`)", f"{label}_unbound", self._taken)
        return Call("-", (Name(every), Name(lost)))

    def _argument(self, expression: Any) -> Node:
        formulas = Formulas(
            self._document,
            self._where.known,
            self._optional,
            choices=self._choices,
            solution=self._stream,
        )
        node = formulas.node(expression)
        self._where.defaults |= formulas.defaults
        self._where.bind_choices(Expression(node).columns, self._choices)
        self._stream |= {name for name in Expression(node).columns if name in self._choices}
        return node

    def _of_remote(self, kind: str, node: Node | None) -> Node:
        if isinstance(node, Name) and kind in _PICKS:
            self._picks.setdefault(variable_in(node.name), set()).add(_PICKS[kind])
            return node
        return self._fail(
            kind,
            f"{kind.upper()} of a remote value: a row has one for its key",
            "use it without an aggregate, or MAX, MIN, AVG or SAMPLE of it alone",
        )

    def _sample(self, node: Node | None) -> Node:
        if isinstance(node, Name) and node.name in self._groups:
            return node
        if isinstance(node, Name) and node.name in self._stream and self.is_sampled(node.name):
            return Name(f"{node.name}{TEXT}")  # the latest one will do
        name = node.name if isinstance(node, Name) else "…"
        return self._document.fail(
            f"?{name} is neither grouped by nor inside an aggregate",
            self._document.find(f"?{name}", f"${name}", "GROUP"),
            f"write MAX(?{name}), or leave it out",
        )

    def is_sampled(self, name: str) -> bool:
        """Does the query say so? rdflib samples whatever is not grouped by."""
        tokens = self._document.tokens
        return any(
            word.text.upper() == "SAMPLE" and after.text == "(" and variable.text[1:] == name
            for word, after, variable in zip(tokens, tokens[1:], tokens[2:], strict=False)
        )

    def _note(self, kind: str, node: Node | None, result: str) -> str:
        """A name in ``take`` for an aggregate."""
        function = _FUNCTIONS[kind]
        column = "" if kind == "Count" else self._column(node)
        name = self._named(
            "count" if kind == "Count" else f"{function}(`{column}`)",
            self._names.get(result) or _label(function, node),
            self._taken,
        )
        if column:
            flag = self._named(f"max(`{column}{ERROR}`)", f"{name}_errors", self._flags)
            self._errors[name] = flag
        return name

    def _named(self, form: str, label: str, among: dict[str, str]) -> str:
        """The name of an aggregate, which may have one already."""
        for name, known in among.items():
            if known == form:
                return name
        name = self.free(label)
        among[name] = form
        return name

    def _column(self, node: Node | None) -> str:
        """The column of a binding table with an aggregate's argument."""
        assert node is not None  # noqa: S101
        for name in map(plain_cast, Expression(node).columns):
            if name not in self._stream:
                fail_unbound(
                    self._document,
                    name,
                    self._stream.union(*map(variables, self._where.patterns), self._remote),
                    f"?{variable_in(name)} has no value in every solution",
                    "bind it in each WINDOW block",
                )
        if isinstance(node, Name):
            return node.name
        formula = str(Expression(node))
        name = f"={formula}".replace("`", "'")
        bind = Bind(name, formula)
        self._where.patterns = [
            each if bind in each.binds else replace(each, binds=(*each.binds, bind))
            for each in self._where.patterns
        ]
        return name

    def _fail(self, kind: str, problem: str, fix: str) -> NoReturn:
        self._document.fail(problem, self._document.find(kind, "GROUP"), fix)


def group_names(layers: Layers, where: Where) -> list[str]:
    """The variables of patterns that are grouped by; another name for one counts as that one."""
    found = ((str(each), where.known.get(str(each))) for each in layers.groups or ())
    return [node.name if isinstance(node, Name) else name for name, node in found]


def _result_names(layers: Layers) -> dict[str, str]:
    """The names that SELECT gives to aggregates themselves."""
    return {
        str(expression): name
        for name, expression in layers.extends
        if isinstance(expression, Variable)
    }


def _label(function: str, node: Node | None) -> str:
    if isinstance(node, Name) and not node.name.startswith("="):
        return f"{function}_{variable_in(node.name)}"
    return function
