"""Join: some values of one source, by what they are looked up, and what that costs."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from topwater.errors import QueryError
from topwater.model import Frozen
from topwater.replica.joins.quota import NO_LIMITS, limits_of
from topwater.replica.noise import Noise
from topwater.validation import (
    checked_call,
    column_of,
    flag_of,
    made_from,
    number_of,
    require_known,
    setting_names,
    shown,
    suggestion,
)

SOURCE = "source"
"""The name of the only source, where none is said."""

_COST = "leave it out for 1: it is what one look-up costs, in the unit of the budget"


@checked_call("refresh")
@dataclass(frozen=True, slots=True)
class Join:
    """Some values that come with one look-up of one source.

    Parameters
    ----------
    remote
        The names that ``score`` and ``where`` use for the values: one, or several. What neither
        uses is shown in answers only, and may be text.
    source
        The name of the source, as in ``sources``. In mappings and files it is ``from``.
    key
        By what a value is looked up: the name of a ``last(…)`` in ``take``; None for the ranked
        key. Many ranked keys may have the same.
    cost
        What one look-up costs, in the unit of the budget.
    request_cost
        What a request costs beside that, however many keys it has.
    per
        How many look-ups there may be in a span of time: ``{"1 day": 50_000, "1 min": 600}``.
    default
        The value of keys that the source does not know: a number for all names, or one for each
        of some; None leaves such keys out.
    hint
        Whether an event is taken for a hint that the values changed.
    noise
        By how much looks at an unchanged value differ: a standard deviation, or a share of the
        value as ``"2 %"``. Differences of up to three of them are not taken for changes.
    """

    remote: tuple[str, ...]
    source: str = SOURCE
    key: str | None = None
    cost: float = 1.0
    request_cost: float = 0.0
    per: Frozen[float] = NO_LIMITS
    default: float | Frozen[float] | None = None
    hint: bool = False
    noise: float | str | None = None

    def __post_init__(self) -> None:
        put = functools.partial(object.__setattr__, self)
        put("remote", _names(self.remote))
        column_of(self.source, "refresh.from", 'name the source, as {"from": "shop"}')
        if self.key is not None:
            column_of(self.key, "refresh.key", "name what it is looked up by")
        put("cost", number_of(self.cost, "refresh.cost", above=0, fix=_COST))
        fix = "leave it out where a request costs nothing by itself"
        put("request_cost", number_of(self.request_cost, "refresh.request_cost", least=0, fix=fix))
        put("per", limits_of(self.per, "refresh.per", least=1.0))
        put("default", _default(self.default, self.remote))
        flag_of(self.hint, "refresh.hint")
        if self.noise is not None:
            Noise.of(self.noise)

    @property
    def label(self) -> str:
        """What it is called in errors and in states."""
        return f"{self.source} by {self.key}" if self.key is not None else self.source

    def default_of(self, name: str) -> float | None:
        """What is taken for a value that the source does not know."""
        return self.default.get(name) if isinstance(self.default, Mapping) else self.default

    def costs(self, look_ups: int, most: int | None) -> float:
        """What a number of look-ups costs, if a request has at most ``most`` keys.

        Examples
        --------
        >>> Join("price", cost=2, request_cost=10).costs(5, most=2)
        40.0
        """
        requests = -(-look_ups // (most or max(1, look_ups)))
        return look_ups * self.cost + requests * self.request_cost

    @staticmethod
    def of(given: Any) -> Join:
        """A join from a remote value's name, or from named settings."""
        if isinstance(given, Join):
            return given
        if isinstance(given, str):
            return Join((given,))
        if not isinstance(given, Mapping) or "remote" not in given:
            raise QueryError(
                f"{shown(given)} names no remote value",
                field="refresh",
                fix='write {"remote": ["price", "stock"], "from": "shop"}',
            )
        settings = dict(given)
        names = ["from" if each == "source" else each for each in setting_names(Join)]
        require_known(settings, [*names, "source"], "refresh")
        if "from" in settings:
            settings["source"] = settings.pop("from")
        return made_from(Join, settings, "refresh")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        default = dict(self.default) if isinstance(self.default, Mapping) else self.default
        return {
            "remote": [*self.remote],
            "from": self.source,
            "key": self.key,
            "cost": self.cost,
            "request_cost": self.request_cost,
            "per": dict(self.per),
            "default": default,
            "hint": self.hint,
            "noise": self.noise,
        }


def _names(given: Any) -> tuple[str, ...]:
    """The remote values' names, each once."""
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Iterable) or isinstance(names, Mapping) or not (names := [*names]):
        raise QueryError(
            f"{shown(given)} names no remote value",
            field="refresh.remote",
            fix='name one, or several as ["price", "stock"]',
        )
    for name in names:
        column_of(name, "refresh.remote", "name the remote value")
        if names.count(name) > 1:
            raise used_twice(name)
    return tuple(names)


def used_twice(name: str) -> QueryError:
    """The error for a remote value that is named more than once."""
    return QueryError(
        f"{name!r} names two remote values",
        field="refresh.remote",
        fix="name each value once: one look-up brings all values of its source",
    )


def _default(given: Any, names: tuple[str, ...]) -> float | Frozen[float] | None:
    fix = "leave it out to leave out keys that the source does not know"
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return number_of(given, "refresh.default", fix=fix)
    for name in given:
        if name not in names:
            raise QueryError(
                f"{shown(name)} is not among the remote values {', '.join(names)}",
                field="refresh.default",
                fix=suggestion(name, names),
            )
    return Frozen(
        {name: number_of(each, f"refresh.default.{name}", fix=fix) for name, each in given.items()}
    )
