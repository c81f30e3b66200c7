"""What an answer shows of its items, and what tells them apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NoReturn

from rdflib.term import Variable

from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.formula_names import columns, ordered
from topwater.rspql.plan.further_conditions import FURTHER
from topwater.rspql.plan.group_by import group_names
from topwater.rspql.plan.pattern_variables import variables
from topwater.rspql.plan.plan import TEXT, Service, Shown
from topwater.rspql.plan.service_clause import Far
from topwater.rspql.plan.solution_modifiers import Layers
from topwater.rspql.plan.unbound import fail_unbound
from topwater.rspql.plan.where_clause import Where
from topwater.scoring.expressions import Expression, Name, Node


class Showing:
    """Finds for each variable of an answer where its value comes from."""

    def __init__(
        self, document: Document, layers: Layers, where: Where, fars: Sequence[Far], score: Node
    ) -> None:
        self._document = document
        self._layers = layers
        self._where = where
        self._fars = fars
        self._score = score
        self._stream = where.stream_variables()
        self._remote = set().union(*(far.variables for far in fars))

    def score_name(self, projection: Iterable[Shown]) -> str | None:
        """The variable that shows the score; if none does, the one that the query ranks by."""
        rank_by = self._layers.rank_by
        own = [str(rank_by)] if self._is_written(rank_by) else []
        shown = [each.name for each in projection if each.role == "score"]
        found = [name for name in own if name in shown] or shown or own
        return found[0] if found else None

    def _is_written(self, rank_by: object) -> bool:
        """Is it a variable of the query? rdflib gives names of its own to aggregates."""
        return isinstance(rank_by, Variable) and any(
            token.kind == "variable" and token.text[1:] == str(rank_by)
            for token in self._document.tokens
        )

    def projection(
        self,
        outputs: Mapping[str, Node],
        take: Literal["each"] | Mapping[str, str],
        services: Sequence[Service],
    ) -> tuple[tuple[Shown, ...], tuple[str, ...]]:
        """What is shown, and the keys."""
        if isinstance(take, str):
            found = {name: self._of_solution(name, node) for name, node in outputs.items()}
            shown = [each.variable for each in found.values() if each.role == "key"]
            keys = list(dict.fromkeys(shown))
        else:
            keys = self.ranked_keys()
            numbers = {*take, *(each.name for one in services for each in one.numbers)}
            texts = {name for name, form in take.items() if form.endswith(f"{TEXT}`)")}
            texts |= {each.name for one in services for each in one.texts}
            found = {n: self._of_key(n, node, keys, numbers, texts) for n, node in outputs.items()}
        return tuple(found.values()), self._beside_numbers(keys, isinstance(take, str))

    def _of_solution(self, name: str, node: Node) -> Shown:
        passed = isinstance(node, Name) and node.name in self._stream
        # In triples a number is the term that it was.
        if node == self._score and not (passed and self._layers.template is not None):
            return Shown(name, "score")
        if isinstance(node, Name) and passed:
            return _key(name, node.name)
        self._require_bound(name)
        return self._fail_variable(
            name,
            f"?{name} is computed, but it is not the score",
            f"BIND it inside the WINDOW block: BIND(… AS ?{name})",
        )

    def _of_key(
        self, name: str, node: Node, keys: list[str], numbers: set[str], texts: set[str]
    ) -> Shown:
        if isinstance(node, Name) and node.name in keys:
            return _key(name, node.name)
        if isinstance(node, Name) and node.name in texts:
            return Shown(name, "text", node.name)
        if node == self._score:
            return Shown(name, "score")
        if columns(node) <= numbers:
            return Shown(name, "formula", str(Expression(node)))
        if name.startswith(FURTHER):
            self._document.fail(
                "ORDER BY goes on with what is neither ranked nor a part of the score",
                self._document.find("ORDER"),
                "order by what is grouped by, or by an aggregate, as MAX(?x)",
            )
        self._require_bound(name)
        return self._fail_variable(
            name,
            f"?{name} is neither what is ranked nor a part of the score",
            "leave it out, or use it in the score; an item has its key and numbers only",
        )

    def _beside_numbers(self, keys: list[str], each: bool) -> tuple[str, ...]:
        """The keys, such that their column has another name than those of numbers."""
        numbers = ordered(self._score)
        found = tuple(keys) or numbers[:1]
        if len(found) != 1 or found[0] not in numbers:
            return found
        if not each:
            self._fail_variable(
                found[0],
                f"?{found[0]} tells items apart, and can't be part of the score too",
                "rank by another variable",
            )
        return found * 2

    def ranked_keys(self) -> list[str]:
        """The variables whose values are ranked: those grouped by, or else looked up by."""
        if self._layers.groups is None:
            return list(dict.fromkeys(far.key for far in self._fars))
        groups = group_names(self._layers, self._where)
        own = [name for name in groups if name not in self._remote]
        for name in own:
            if name not in self._stream:
                problem = f"groups are made by ?{name}, which has no value in every solution"
                self._fail_variable(name, problem, "group by a variable of the WINDOW block")
        if not own:
            self._fail(
                "groups are made by a remote value, and values are looked up by keys",
                f"write GROUP BY ?{self._fars[0].key}",
            )
        return own

    def _require_bound(self, name: str) -> None:
        known = self._stream | self._remote | set(self._where.known)
        if name not in known:
            told = f"?{name} has no value in every solution"
            found = known.union(*map(variables, self._where.patterns))
            fail_unbound(self._document, name, found, told, "leave it out, or bind it")

    def _fail_variable(self, name: str, problem: str, fix: str) -> NoReturn:
        self._document.fail(problem, self._document.find(f"?{name}", f"${name}", "WHERE"), fix)

    def _fail(self, problem: str, fix: str) -> NoReturn:
        self._document.fail(problem, self._document.find("GROUP"), fix)


def _key(name: str, variable: str) -> Shown:
    return Shown(name, "key", "" if name == variable else variable)
