"""The parts of a query, put together to a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NoReturn

from rdflib.term import Variable

from topwater.rspql.parser.cursor import Names
from topwater.rspql.parser.streaming_clauses import Streaming
from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.choices import has_if, uses, variables_behind
from topwater.rspql.plan.condition_kinds import Condition, SameTerm
from topwater.rspql.plan.conditions import (
    Conditions,
    as_comparisons,
    conjuncts,
    guards,
    is_comparison,
    names_in,
)
from topwater.rspql.plan.formula_names import (
    columns,
    free_name,
    ordered,
    renamed_condition,
    renamed_tree,
)
from topwater.rspql.plan.further_conditions import FURTHER, bound_further, split_further
from topwater.rspql.plan.group_by import Grouping
from topwater.rspql.plan.joined_windows import windows_of
from topwater.rspql.plan.monotonicity import is_monotone, require_monotone
from topwater.rspql.plan.pattern_variables import variables, with_casts
from topwater.rspql.plan.plan import (
    TEXT,
    Bind,
    Derived,
    Fixed,
    Holds,
    Plan,
    Refresh,
)
from topwater.rspql.plan.score_formula import Formulas
from topwater.rspql.plan.service_values import ServiceValues, latest_terms, require_worth
from topwater.rspql.plan.shown_items import Showing
from topwater.rspql.plan.solution_modifiers import Layers
from topwater.rspql.plan.unbound import fail_unbound
from topwater.rspql.plan.where_clause import Walker
from topwater.rspql.plan.written_terms import require_written
from topwater.rspql.rdf.datatypes import with_kinds
from topwater.rspql.rdf.term_values import plain_cast, variable_in
from topwater.scoring.expressions import Name, Node, parse


class Composer:
    """Puts one plan together."""

    def __init__(self, document: Document, names: Names, parts: Streaming, layers: Layers) -> None:
        self.document = document
        self.names = names
        self.parts = parts
        self.layers = layers
        self.walker = Walker(document, names, parts)
        self.where = self.walker.where(layers.pattern)
        if not self.where.patterns:
            self._fail(
                "WHERE",
                "no WINDOW is read: there is nothing to rank",
                "write FROM NAMED WINDOW :w ON :stream [RANGE PT9M STEP PT3M] before WHERE, and "
                "WINDOW :w { … } in it",
            )
        self.stream = with_casts(self.where.stream_variables())
        self.remote = ServiceValues(document, names, self.where)
        self.distinct = layers.distinct and layers.groups is None and not self.remote
        if self.distinct:
            # Rows that differ are groups of those that do not.
            terms = self.where.stream_variables() - {*self.where.known}
            layers.groups = [Variable(name) for name in layers.shown if name in terms]
            if not layers.groups:
                self._fail(
                    "DISTINCT",
                    "DISTINCT rows show nothing but what is computed",
                    "show what it is computed of, too",
                )

    def plan(self) -> Plan:
        """The plan."""
        self._push_filters()
        self._require_bound()
        grouping = self._grouping()
        formulas = self._formulas(grouping)
        score = formulas.node(self.layers.rank_by)
        having = [self._condition(formulas, each) for each in self._conditions()]
        self._require_present(having)
        self.where.defaults |= formulas.defaults
        outputs = {name: formulas.node(Variable(name)) for name in self._output_names()}
        outputs |= self._further(formulas, grouping)
        if grouping is not None and self.distinct:
            score, outputs = grouping.of_distinct(score, outputs)
        self._bind_choices([*map(columns, (score, *outputs.values())), *map(names_in, having)])
        having = [self._numeric(each) for each in having]
        outputs = self.remote.settle(columns(score).union(*map(names_in, having)), outputs)
        showing = Showing(self.document, self.layers, self.where, self.remote.all, score)
        ranked = showing.ranked_keys() if grouping or self.remote else []
        take, renamed, by = self._take(score, having, outputs, grouping, ranked)
        services = self.remote.services(ranked, by, grouping) if self.remote else ()
        score = renamed_tree(score, renamed)
        trees = {name: renamed_tree(node, renamed) for name, node in outputs.items()}
        showing = Showing(self.document, self.layers, self.where, self.remote.all, score)
        projection, keys = showing.projection(trees, take, services)
        projection, then = split_further(projection, self.layers.then)
        conditions = tuple(self._item_condition(each, renamed) for each in having)
        plan = Plan(
            text=self.document.text,
            name=self.parts.name,
            operator=self.parts.operator,
            form="select" if self.layers.template is None else "construct",
            prefixes=self.names.prefixes,
            windows=windows_of(
                self.document, self.names, [*self.parts.windows.values()], self.where.patterns
            ),
            patterns=tuple(self.where.patterns),
            services=services,
            keys=keys,
            take=take,
            score=formulas.written(score),
            order="largest" if self.layers.descending else "smallest",
            k=self.layers.k,
            conditions=conditions,
            chosen=bool(services) and None in map(guards, conditions),
            score_name=showing.score_name(projection),
            group_by=self.layers.groups is not None and not self.distinct,
            distinct=self.distinct,
            projection=projection,
            template=tuple(self.layers.template or ()),
            refresh=self._refresh(bool(services)),
            errors={} if grouping is None else grouping.errors_of(take),
            then=then,
        )
        return with_kinds(self._checked(plan, score))

    def _further(self, formulas: Formulas, grouping: Grouping | None) -> dict[str, Node]:
        """What decides between equal scores, as if it were shown."""
        found = {
            f"{FURTHER}{number}": formulas.node(expression)
            for number, (expression, _) in enumerate(self.layers.then, 1)
        }
        if found and self.remote:
            self._fail(
                "ORDER",
                "ORDER BY has more than one condition, and values are looked up: which are worth "
                "it is weighed for one score",
                "put all into one expression; equal scores are ranked the younger first",
            )
        if grouping is None:
            for node in found.values():
                self._require_stream(columns(node) - {*self.walker.choices})
            self._bind_choices(map(columns, found.values()))
            terms = self.where.stream_variables()
            self.where.patterns, found = bound_further(self.where.patterns, found, terms)
            self.stream |= self.where.stream_variables()
        return found

    def _formulas(self, grouping: Grouping | None) -> Formulas:
        """Of what is ranked: of groups, or of single solutions."""
        return Formulas(
            self.document,
            self._known(grouping),
            self.remote.optional,
            choices=self.walker.choices,
            solution=self.stream if grouping is None else (),
        )

    def _checked(self, plan: Plan, score: Node) -> Plan:
        """The plan, if its score can be ranked by and its remote values be refreshed."""
        read = {*plan.files, *(each.name for each in plan.services)}
        plan = replace(plan, static=tuple(e for e in self.parts.static if e not in read))
        self._require_numbers(plan)
        require_written(self.document, plan.patterns)
        if plan.service is not None and has_if(score) and not is_monotone(plan):
            # Where values are joined, no list has to bound what a stale one can do.
            plan = replace(plan, chosen=True)
        if plan.service is not None:
            require_monotone(self.document, plan)
        require_worth(self.document, plan, self.parts)
        return plan

    def _bind_choices(self, used: Iterable[set[str]]) -> None:
        """Let solutions have what ``IF`` gives them, where the score or what is shown uses it."""
        names = sorted(set().union(*used))
        self.where.bind_choices(names, self.walker.choices)
        self.stream |= {name for name in names if name in self.walker.choices}

    def _push_filters(self) -> None:
        """Conditions on the stream alone are checked where solutions are found."""
        kept: list[Any] = []
        for expression in self.where.filters:
            for part in [expression] if isinstance(expression, SameTerm) else conjuncts(expression):
                about = self._about(part)
                if about & self.remote.variables:
                    self._require_apart(about)
                    kept.append(part)
                elif isinstance(part, SameTerm):
                    self.where.patterns = [
                        replace(each, filters=(*each.filters, part)) for each in self.where.patterns
                    ]
                else:
                    self.where.patterns = self.walker.filtered(self.where, part)
        self.where.filters = kept

    def _require_apart(self, about: set[str]) -> None:
        """Refuse what would be checked on each solution, when remote values come to groups."""
        stream = sorted(about & self.stream)
        if self.layers.groups is not None and stream:
            self._fail(
                "FILTER",
                f"FILTER compares ?{stream[0]} with a remote value, which groups get, and not what "
                "they are made of",
                f"compare an aggregate: HAVING(MAX(?{stream[0]}) > …)",
                last=True,
            )

    def _require_present(self, having: Iterable[Condition]) -> None:
        if self.remote.optional & set().union(*map(names_in, having)):
            word = "HAVING" if self.layers.having else "FILTER"
            self._fail(
                word,
                f"{word} is about an OPTIONAL value, which may be missing",
                "move it into SERVICE, or take SERVICE out of OPTIONAL",
                last=True,
            )

    def _require_bound(self) -> None:
        """Refuse what uses variables without a value: it never holds."""
        patterns = [(each, *each.parts) for each in self.where.patterns]
        for pattern in (each for one in patterns for each in one):
            bound = with_casts(variables(replace(pattern, binds=())))
            for bind in pattern.binds:
                if not isinstance(bind, Fixed):
                    word = "IF" if isinstance(bind, Holds) else "BIND"
                    self._require(bound, uses(bind), word)
                bound |= with_casts({bind.variable})
            for condition in pattern.filters:
                self._require(bound, names_in(condition), "the condition")

    def _require(self, bound: set[str], used: set[str], where: str) -> None:
        for name in sorted({plain_cast(each) for each in used} - bound):
            fail_unbound(
                self.document,
                name,
                self._bound(),
                f"?{variable_in(name)} has no value where {where} needs it",
                "bind it before, in each WINDOW block, or leave it out",
            )

    def _bound(self) -> set[str]:
        """All variables that have a value somewhere."""
        found = set().union(*map(variables, self.where.patterns))
        computed = {name for name, _ in self.layers.extends}
        return found | self.remote.variables | set(self.where.known) | computed

    def _about(self, expression: Any) -> set[str]:
        """The variables of patterns that an expression or a condition uses."""
        if isinstance(expression, SameTerm):
            return {expression.variable}
        formulas = Formulas(self.document, self.where.known, self.remote.optional)
        condition = Conditions(self.document, formulas).condition(expression)
        return variables_behind(names_in(condition), formulas.choices)

    def _grouping(self) -> Grouping | None:
        if self.layers.groups is None:
            return None
        remote = self.remote.variables
        choices = self.walker.choices
        return Grouping(self.document, self.layers, self.where, self.stream, remote, choices)

    def _known(self, grouping: Grouping | None) -> Mapping[str, Node]:
        return self.where.known if grouping is None else grouping.known

    def _conditions(self) -> list[Any]:
        return [*self.where.filters, *self.layers.having]

    def _condition(self, formulas: Formulas, expression: Any) -> Condition:
        if isinstance(expression, SameTerm):
            return expression
        return Conditions(self.document, formulas).condition(expression)

    def _output_names(self) -> tuple[str, ...]:
        template = self.layers.template
        if template is None:
            return self.layers.shown
        found = [str(term) for triple in template for term in triple if isinstance(term, Variable)]
        return tuple(dict.fromkeys(found))

    def _take(
        self,
        score: Node,
        having: Iterable[Condition],
        outputs: Mapping[str, Node],
        grouping: Grouping | None,
        keys: Sequence[str],
    ) -> tuple[Literal["each"] | dict[str, str], dict[str, str], dict[str, str]]:
        """What the stream contributes, the names of variables in it, and of those looked up by."""
        used = columns(score).union(*map(names_in, having))
        if grouping is None and not self.remote:
            self._require_stream(used)
            return "each", {}, {}
        renamed = dict(self.remote.renamed)
        if grouping is None:
            take = self._latest(score, used - self.remote.variables, renamed)
        else:
            take = grouping.take(used.union(*map(columns, outputs.values())))
        self._require_no_text(used)
        shown = self._shown_terms(outputs, take, keys, renamed)
        by = [far.key for far in self.remote.all if [far.key] != [*keys]]
        names = latest_terms([*by, *shown], {*take, *renamed.values(), *self.remote.taken})
        take |= {name: f"last(`{variable}{TEXT}`)" for variable, name in names.items()}
        renamed |= {f"{name}{TEXT}": names[name] for name in shown}
        renamed |= {name: names[name] for name in shown if grouping is None}
        return take, renamed, names

    def _latest(self, score: Node, used: set[str], renamed: dict[str, str]) -> dict[str, str]:
        """The latest numbers of a key; and how variables are called that can't be as they are."""
        self._require_stream(used)
        taken = self.remote.taken
        for name in sorted(used):
            label = "chosen" if name in self.walker.choices else variable_in(name)
            renamed[name] = free_name(label, {*renamed.values(), *taken})
        order = [name for name in ordered(score) if name in used] + sorted(used)
        take = {renamed[name]: f"last(`{name}`)" for name in dict.fromkeys(order)}
        return take or {free_name("seen", taken): "count"}

    def _shown_terms(
        self,
        outputs: Mapping[str, Node],
        take: Mapping[str, str],
        keys: Sequence[str],
        renamed: Mapping[str, str],
    ) -> list[str]:
        """The variables of the stream whose latest terms are shown."""
        found = []
        for node in outputs.values():
            if not isinstance(node, Name) or node.name in keys or node.name in take:
                continue
            plain = node.name.removesuffix(TEXT)
            if node.name in renamed or plain not in self.where.stream_variables():
                continue
            if plain != node.name or self.layers.groups is None:
                found.append(plain)
        return found

    def _require_no_text(self, used: set[str]) -> None:
        for name in sorted(used):
            if name.endswith(TEXT):
                plain = name.removesuffix(TEXT)
                self._fail_variable(
                    plain,
                    f"SAMPLE(?{plain}) is any of several, and can't be ranked by",
                    f"write MAX(?{plain}), MIN, AVG or SUM",
                )

    def _require_stream(self, used: set[str]) -> None:
        for name in sorted(used):
            if plain_cast(name) not in self.stream:
                fail_unbound(
                    self.document,
                    name,
                    self._bound(),
                    f"?{variable_in(name)} has no value in every solution",
                    "bind it in each WINDOW block, or use a variable that is bound there",
                )

    def _item_condition(self, condition: Condition, renamed: Mapping[str, str]) -> Condition:
        if guards(condition) is None and not (self.remote and is_comparison(condition)):
            self._fail(
                "HAVING" if self.layers.having else "FILTER",
                "a condition on groups or on remote values is more than a comparison of numbers",
                f"write comparisons and &&, ||, !{self._elsewhere()}"
                if self.remote
                else "write comparisons and &&, and || between comparisons that are all < > or all "
                "<= >=",
            )
        return renamed_condition(condition, renamed)

    def _elsewhere(self) -> str:
        """Where else a condition on remote values may be written, if there is such a place."""
        written = any(token.word == "SERVICE" for token in self.document.tokens)
        return "; or move the condition into SERVICE" if written else ""

    def _require_numbers(self, plan: Plan) -> None:
        """Refuse to rank by what can't be a number: the subject or the predicate of a triple."""
        nodes = [
            {str(term) for triple in pattern.triples for term in triple[:2]}
            for pattern in plan.patterns
        ]
        parts = [part for each in plan.patterns for part in (each, *each.parts)]
        made = {b.variable: b for each in parts for b in each.binds if isinstance(b, Bind)}
        texts = {b.variable for each in parts for b in each.binds if isinstance(b, Derived)}
        waiting = [variable_in(name) for name in plan.numbers]
        while waiting:
            name = waiting.pop()
            if name in texts:
                self._fail_variable(
                    name, f"?{name} is a text or an IRI, and never a number", "rank by a number"
                )
            if name in made:
                waiting += map(variable_in, parse(made.pop(name).formula).columns)
            elif all(name in each for each in nodes):
                self.document.fail(
                    f"?{name} is the subject of a triple, or its predicate, and so never a number",
                    self._last_place(name),
                    "rank by what stands for a number, as ?v in ?s :value ?v; to count, write "
                    f"COUNT(?{name}) with GROUP BY",
                )

    def _last_place(self, name: str) -> int:
        places = [token.start for token in self.document.tokens if token.text[1:] == name]
        return places[-1] if places else self.document.find("ORDER")

    def _numeric(self, condition: Condition) -> Condition:
        """``IN`` with numbers as comparisons, where remote values are compared."""
        return as_comparisons(condition) if self.remote else condition

    def _refresh(self, asked: bool) -> Refresh:
        said = self.parts.refresh
        if said is not None and not asked:
            self.document.fail(
                "WITH is about remote values, and the query has no SERVICE",
                self.parts.refresh_at,
                "leave WITH out",
            )
        return said or Refresh()

    def _fail_variable(self, name: str, problem: str, fix: str) -> NoReturn:
        name = variable_in(name)
        self.document.fail(problem, self.document.find(f"?{name}", f"${name}", "WHERE"), fix)

    def _fail(self, token: str, problem: str, fix: str, last: bool = False) -> NoReturn:
        places = [each.start for each in self.document.tokens if each.word == token]
        at = (places[-1] if last else places[0]) if places else self.document.find("WHERE", "{")
        self.document.fail(problem, at, fix)
