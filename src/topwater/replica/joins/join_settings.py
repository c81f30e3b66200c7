"""JoinSettings: several remote values, and how they are kept fresh, in one frozen value."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args

from topwater.errors import QueryError
from topwater.replica.budget import UNLIMITED
from topwater.replica.joins.allowance import Allowance
from topwater.replica.joins.join import Join, used_twice
from topwater.replica.joins.quota import require_room
from topwater.replica.refresh_settings import MEMORY, RefreshSettings
from topwater.replica.utility import Aim
from topwater.validation import bytes_of, checked_call, choice_of, made_from, shown, whole_of

_ONLY = ("from", "source", "key", "cost", "request_cost", "per")
"""Settings that only a join has."""


@checked_call("refresh")
@dataclass(frozen=True, slots=True)
class JoinSettings:
    """Several remote values, or one with a key, a cost or a filter of its own.

    Parameters
    ----------
    joins
        What comes with one look-up each, and from where.
    budget
        What all look-ups together may cost.
    aim
        What look-ups are to save: ``"relevance"`` or ``"accuracy"``.
    seed
        For what is drawn at random.
    memory
        How much the replicas may take, all together: bytes, a size, or None for no limit.
    """

    joins: tuple[Join, ...]
    budget: Allowance = field(default_factory=Allowance)
    aim: Aim = "relevance"
    seed: int = 0
    memory: int | None = MEMORY

    def __post_init__(self) -> None:
        put = functools.partial(object.__setattr__, self)
        put("joins", _joins(self.joins))
        put("budget", Allowance.of(self.budget))
        choice_of(self.aim, get_args(Aim), "refresh.aim")
        put("seed", whole_of(self.seed, "refresh.seed", 0, fix="leave it out for the default"))
        put("memory", _memory(self.memory))
        self._check_room()

    def _check_room(self) -> None:
        """The dearest look-up must be possible."""
        dearest = max(join.costs(1, None) for join in self.joins)
        if self.budget.cost is not None:
            require_room(self.budget.cost, dearest, "budget.cost")
        for each, amount in self.budget.per.items():
            require_room(amount, dearest, f"budget.per.{each}")

    @property
    def names(self) -> tuple[str, ...]:
        """All remote values."""
        return tuple(name for join in self.joins for name in join.remote)

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of all sources, each once."""
        return tuple(dict.fromkeys(join.source for join in self.joins))

    @property
    def keys(self) -> tuple[str, ...]:
        """What of the stream values are looked up by, beside the ranked key; each once."""
        return tuple(dict.fromkeys(join.key for join in self.joins if join.key is not None))

    @property
    def by_columns(self) -> frozenset[str]:
        """The sources that are asked by a column of the stream."""
        return frozenset(join.source for join in self.joins if join.key is not None)

    def ranked_by(self, key: str) -> JoinSettings:
        """The same where what is looked up by this name is looked up by the ranked key."""
        joins = [replace(join, key=None) if join.key == key else join for join in self.joins]
        return self if tuple(joins) == self.joins else replace(self, joins=tuple(joins))

    @staticmethod
    def meant(given: Any) -> bool:
        """Whether what was given as ``refresh`` is more than one value of one source."""
        if isinstance(given, JoinSettings | list | tuple):
            return True
        if not isinstance(given, Mapping):
            return False
        several = isinstance(given.get("remote"), list | tuple)
        return "joins" in given or several or any(name in given for name in _ONLY)

    @staticmethod
    def of(given: Any, budget: Any = ...) -> JoinSettings:
        """Settings from a list of joins, from one, or from named settings.

        ``budget`` is what stands beside them in the query, if anything does.
        """
        if isinstance(given, RefreshSettings):
            given = _of_one(given)
        if isinstance(given, JoinSettings):
            given = {each.name: getattr(given, each.name) for each in fields(given)}
            given |= {} if budget is ... else {"budget": budget}
            return JoinSettings(**given)
        settings = _settings(given)
        if budget is not ...:
            if "budget" in settings:
                what = "is set both in the query and in refresh"
                raise QueryError(what, field="budget", fix="leave one of them out")
            settings["budget"] = budget
        return made_from(JoinSettings, settings, "refresh")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "joins": [join.to_dict() for join in self.joins],
            "budget": self.budget.to_dict(),
            "aim": self.aim,
            "seed": self.seed,
            "memory": self.memory,
        }


def _memory(given: Any) -> int | None:
    free = given is None or (isinstance(given, str) and given == UNLIMITED)
    return None if free else bytes_of(given, "refresh.memory")


def _settings(given: Any) -> dict[str, Any]:
    """As a mapping with the joins in a list."""
    if isinstance(given, Mapping) and "joins" in given:
        return dict(given)
    if not isinstance(given, Mapping):
        return {"joins": given if isinstance(given, list | tuple) else [given]}
    shared = {name: given[name] for name in ("budget", "aim", "seed", "memory") if name in given}
    return {"joins": [{n: each for n, each in given.items() if n not in shared}], **shared}


def _joins(given: Any) -> tuple[Join, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise QueryError(
            f"{shown(given)} are not joins",
            field="refresh",
            fix='write [{"remote": "price", "from": "shop"}, …]',
        )
    joins = tuple(Join.of(each) for each in given)
    names = [name for join in joins for name in join.remote]
    for name in names:
        if names.count(name) > 1:
            raise used_twice(name)
    places = [(join.source, join.key) for join in joins]
    for source, key in places:
        if places.count((source, key)) > 1:
            raise QueryError(
                f"{source!r} is asked twice for the same key",
                field="refresh",
                fix='ask once for all its values, as {"remote": ["price", "stock"], …}',
            )
    return joins


def _of_one(given: RefreshSettings) -> JoinSettings:
    """One value's settings, for a query that has a filter."""
    usual = RefreshSettings(given.remote)
    for name in ("policy", "spare", "refresh_from", "estimator", "limit", "audit"):
        if getattr(given, name) != getattr(usual, name):
            raise QueryError(
                f"a filter goes with the policy 'worth' alone, and {name!r} belongs to others",
                field=f"refresh.{name}",
                fix="leave it out, or leave out the filter",
            )
    join = Join((given.remote,), default=given.default, hint=given.hint, noise=given.noise)
    budget = Allowance.of(given.budget)
    return JoinSettings((join,), budget, given.aim, given.seed, given.memory)
