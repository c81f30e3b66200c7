"""What a query takes of its services: numbers to compute with, and texts that are only shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from topwater.rspql.parser.cursor import Names, shown
from topwater.rspql.parser.streaming_clauses import Streaming
from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.formula_names import columns, free_name
from topwater.rspql.plan.group_by import Grouping
from topwater.rspql.plan.pattern_variables import with_casts
from topwater.rspql.plan.plan import TEXT, Further, Plan, Service
from topwater.rspql.plan.service_clause import Far, Remote, join_variable
from topwater.rspql.plan.where_clause import Where
from topwater.rspql.rdf.term_values import variable_in
from topwater.scoring.expressions import Name, Node


class ServiceValues:
    """The services of one query, each looked up by one variable of the stream.

    Attributes
    ----------
    all
        One for each service and variable that it is looked up by, in the order of the query.
    """

    def __init__(self, document: Document, names: Names, where: Where) -> None:
        self._document = document
        self._names = names
        self._where = where
        self._stream = with_casts(where.stream_variables())
        self.all: list[Far] = []
        for remote in where.remotes:
            self._add(remote, join_variable(document, remote, self._stream))
        self._require_apart()

    def __bool__(self) -> bool:
        return bool(self.all)

    @property
    def variables(self) -> set[str]:
        """Those that come from services, and their casts."""
        return set().union(*(with_casts(far.variables) for far in self.all))

    @property
    def optional(self) -> set[str]:
        """Those that may be unbound."""
        return set().union(*(with_casts(f.variables) for f in self.all if f.remote.optional))

    @property
    def taken(self) -> set[str]:
        """The names that their values have in formulas."""
        return {name for far in self.all for name in (*far.values, *far.texts)}

    @property
    def renamed(self) -> dict[str, str]:
        """How casts and texts are called in formulas."""
        casts = {cast: variable_in(cast) for far in self.all for cast in far.cast}
        return casts | {f"{name}{TEXT}": name for far in self.all for name in far.texts}

    def _add(self, remote: Remote, key: str) -> None:
        """Clauses that ask one service by one variable are one."""
        for at, far in enumerate(self.all):
            if far.remote.name == remote.name and far.key == key:
                if far.remote.optional or remote.optional:
                    self._fail(
                        "OPTIONAL",
                        "a service is asked twice, once OPTIONAL",
                        "put all into one SERVICE",
                    )
                parts = (far.remote, remote)
                merged = replace(
                    far.remote,
                    pattern=" . ".join(each.pattern.rstrip(" .") for each in parts),
                    variables=far.remote.variables | remote.variables,
                )
                self.all[at] = Far(merged, join_variable(self._document, merged, self._stream))
                return
        self.all.append(Far(remote, key))

    def _require_apart(self) -> None:
        """Refuse what two services would have to agree on: look-ups are not joined."""
        for at, far in enumerate(self.all):
            for other in self.all[:at]:
                for name in sorted(far.variables & other.variables):
                    self._fail_variable(
                        name,
                        f"?{name} is in two SERVICE clauses, <{other.remote.name}> and "
                        f"<{far.remote.name}>, and what they say of it would have to agree",
                        "rename it in one of them, and compare: FILTER(?a = ?b); or let one "
                        "service ask the other: SERVICE inside SERVICE",
                    )

    def settle(self, needed: set[str], outputs: Mapping[str, Node]) -> dict[str, Node]:
        """Decide which values are numbers; what is shown, with texts told apart.

        Parameters
        ----------
        needed
            The names that the score and conditions use.
        outputs
            What is shown.
        """
        plain = {node.name for node in outputs.values() if isinstance(node, Name)}
        computed = {n for node in outputs.values() for n in columns(node) if node != Name(n)}
        for far in self.all:
            own = with_casts(far.variables)
            numbers = needed & own
            far.compared = {variable_in(name) for name in numbers}
            numbers |= (computed | {name for name in plain if name not in far.variables}) & own
            only = sorted((plain & own) - {variable_in(name) for name in numbers})
            only = [name for name in only if name in far.variables]
            if len(self.all) == 1 and not numbers and len(only) == 1:
                numbers, only = {*only}, []
            far.values = sorted({variable_in(name) for name in numbers})
            far.texts = [name for name in only if name not in far.values]
            far.cast = {name for name in numbers if variable_in(name) != name}
        texts = {name for far in self.all for name in far.texts}
        return {
            name: Name(f"{node.name}{TEXT}")
            if isinstance(node, Name) and node.name in texts
            else node
            for name, node in outputs.items()
        }

    def services(
        self, keys: Sequence[str], by: Mapping[str, str], grouping: Grouping | None
    ) -> tuple[Service, ...]:
        """What is looked up, where these are the keys; ``by`` has the others by their variable."""
        found = [self._service(far, keys, by, grouping) for far in self.all]
        (one, *rest) = found
        if not rest and not (one.more or one.texts or one.by):
            return (one,)
        names = [shown(each.name, self._names.prefixes) for each in found]
        return tuple(
            replace(each, label=name if names.count(name) == 1 else f"{name} by ?{each.key}")
            for each, name in zip(found, names, strict=True)
        )

    def _service(
        self, far: Far, keys: Sequence[str], by: Mapping[str, str], grouping: Grouping | None
    ) -> Service:
        remote, pattern = far.remote, far.remote.pattern
        picks = {} if grouping is None else grouping.picks
        defaults = self._where.defaults
        numbers = [Further(name, defaults.get(name), picks.get(name)) for name in far.values]
        for each in numbers:
            if remote.optional and each.default is None:
                self._fail(
                    "OPTIONAL",
                    f"?{each.name} is OPTIONAL and has no default, so there may be no score",
                    f"write COALESCE(?{each.name}, 0) in its place, or take SERVICE out of "
                    "OPTIONAL",
                )
        if remote.optional and not numbers and not far.texts:
            self._fail(
                "OPTIONAL",
                "an OPTIONAL service whose value is not used changes nothing",
                "use its value in the score, or leave it out",
            )
        if grouping is not None and far.key not in keys:
            self._require_samples(far, keys, grouping)
        if not far.compared & {each.name for each in numbers} and not (numbers and self._alone):
            free = free_name("found", self.variables | self._stream | {*by.values()})
            numbers = [Further(free, 0.0 if remote.optional else None), *numbers]
            pattern = f"{pattern.rstrip(' .')} BIND(1 AS ?{free})"
        first, *more = numbers
        return Service(
            name=remote.name,
            pattern=pattern,
            key=far.key,
            value=first.name,
            default=first.default,
            silent=remote.silent,
            typed=not far.cast,
            pick=first.pick,
            more=tuple(more),
            texts=tuple(Further(name, None, picks.get(name)) for name in far.texts),
            by=None if [*keys] == [far.key] else by[far.key],
        )

    @property
    def _alone(self) -> bool:
        """Whether one number by the key is all that is looked up."""
        return len(self.all) == 1 and len(self.all[0].values) == 1 and not self.all[0].texts

    def _require_samples(self, far: Far, keys: Sequence[str], grouping: Grouping) -> None:
        """A group has several of what is looked up by: the latest is asked for."""
        if not far.values and not far.texts:
            own = " and ".join(f"?{name}" for name in keys)
            self._document.fail(
                f"values are looked up by ?{far.key}, and groups are made by {own}",
                self._document.find("GROUP"),
                f"write GROUP BY ?{far.key}",
            )
        for name in (*far.values, *far.texts):
            if grouping.picks.get(name) != "sample" or not grouping.is_sampled(name):
                self._fail_variable(
                    name,
                    f"?{name} is looked up by ?{far.key}, of which a group may have several: the "
                    "latest is asked for",
                    f"write SAMPLE(?{name}), or GROUP BY ?{far.key} too",
                )

    def _fail_variable(self, name: str, problem: str, fix: str) -> NoReturn:
        self._document.fail(problem, self._document.find(f"?{name}", f"${name}", "WHERE"), fix)

    def _fail(self, token: str, problem: str, fix: str) -> NoReturn:
        places = [each.start for each in self._document.tokens if each.word == token]
        at = places[0] if places else self._document.find("WHERE", "{")
        self._document.fail(problem, at, fix)


def latest_terms(names: Iterable[str], taken: set[str]) -> dict[str, str]:
    """By variables, what the latest terms that they had are called in ``take``.

    Examples
    --------
    >>> latest_terms(["asset", "title"], {"title"})
    {'asset': 'asset', 'title': 'title_'}
    """
    found: dict[str, str] = {}
    for name in names:
        if name not in found:
            found[name] = free_name(name, taken | {*found.values()})
    return found


def require_worth(document: Document, plan: Plan, parts: Streaming) -> None:
    """Several values have one way to be chosen, and are all remembered."""
    said = plan.refresh
    if not plan.joins_services or parts.refresh is None:
        return
    refused = {
        "POLICY": (said.policy not in (None, "worth"), "chosen by worth", "leave POLICY out"),
        "SPARE": (said.spare is not None, "remembered of all keys", "leave SPARE out"),
        "AT": (said.at_most is not None, "given a number or a deadline", "leave AT MOST out"),
    }
    for word, (found, how, fix) in refused.items():
        if found:
            at = parts.refresh_at
            places = [t.start for t in document.tokens if t.word == word and t.start >= at]
            document.fail(
                f"where more than one number is looked up by the key, values are {how}",
                places[0] if places else at,
                fix,
            )
