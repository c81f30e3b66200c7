"""Allowance: what may be spent on all look-ups of a window, and in a span of time."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from topwater.errors import QueryError
from topwater.model import Frozen, Millis
from topwater.replica.budget import FETCHES, UNLIMITED, Budget
from topwater.replica.joins.quota import NO_LIMITS, limits_of
from topwater.validation import (
    checked_call,
    choice_of,
    made_from,
    millis,
    number_of,
    span,
    whole_of,
)

Over = Literal["each", "all"]


class _Usual(float):
    """The usual cost where none was given: a deadline or a quota may take its place."""


@checked_call("budget")
@dataclass(frozen=True, slots=True)
class Allowance:
    """What look-ups may cost, in a unit of your own: the costs of the sources are in it.

    Without any number it is 7 for each window, as for one remote value. There is no limit only
    where that is said: ``budget=None``, or ``"unlimited"`` in a file. Every entry that can matter
    for an answer is then read for it.

    Parameters
    ----------
    cost
        How much for each window; None for what deadline and quotas allow.
    deadline
        So long after a window's close its answer must be out, whatever the sources do.
    per
        How much in a span of event time: ``{"1 day": 50_000}``. An even share of it becomes free
        as time passes; what is not spent is kept, and in no span more than that is spent.
    over
        With ``group_by``: whether each group of a window may cost that much, or all together.
    accuracy
        The precision@k that answers should have; one that is estimated to miss it is marked.

    Examples
    --------
    >>> Allowance.of(100).cost, Allowance.of(None).unlimited
    (100.0, True)
    >>> Allowance.of({"cost": 100, "deadline": "2 s", "per": {"1 day": 50_000}}).in_words
    '100 a window, 50,000 in 1 d, what can be looked up within 2 s'
    """

    cost: float | None = _Usual(FETCHES)
    deadline: Millis | None = None
    per: Frozen[float] = NO_LIMITS
    over: Over = "each"
    accuracy: float | None = None

    def __post_init__(self) -> None:
        put = functools.partial(object.__setattr__, self)
        if self.deadline is not None:
            fix = "how long after its close may a window's answer come?"
            length = millis(self.deadline, field="budget.deadline")
            put("deadline", whole_of(length, "budget.deadline", 1, fix=fix))
        put("per", limits_of(self.per, "budget.per", least=0.0))
        if isinstance(self.cost, _Usual):
            limited = self.deadline is not None or bool(self.per)
            put("cost", None if limited else float(self.cost))
        if self.cost is not None:
            fix = "how much may the look-ups of a window cost? None means no limit"
            put("cost", number_of(self.cost, "budget.cost", above=0, fix=fix))
        choice_of(self.over, get_args(Over), "budget.over")
        if self.accuracy is not None:
            fix = "0.9 asks for nine of ten right"
            number_of(self.accuracy, "budget.accuracy", above=0, most=1, fix=fix)

    @property
    def unlimited(self) -> bool:
        """Whether look-ups may cost anything."""
        return self.cost is None and self.deadline is None and not self.per

    @property
    def seconds(self) -> float | None:
        """The deadline in seconds, if there is one."""
        return None if self.deadline is None else self.deadline / 1_000

    @property
    def in_words(self) -> str:
        """What may be spent."""
        words = [] if self.cost is None else [f"{self.cost:,g} a window"]
        words += [f"{amount:,g} in {each}" for each, amount in self.per.items()]
        if self.deadline is not None:
            words.append(f"what can be looked up within {span(self.deadline)}")
        return ", ".join(words) or "no limit on look-ups"

    @staticmethod
    def of(given: Any) -> Allowance:
        """An allowance from a number, from named settings, or from None for no limit."""
        if isinstance(given, Allowance):
            return given
        if isinstance(given, Budget):
            return _of_budget(given)
        if isinstance(given, Mapping):
            settings = {name: _number(each, name) for name, each in given.items()}
            _require_for_several(settings)
            if "fetches" in settings:
                settings["cost"] = settings.pop("fetches")
            return made_from(Allowance, settings, "budget")
        return Allowance(cost=_number(given, "cost"))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "cost": self.cost,
            "deadline": self.deadline,
            "per": dict(self.per),
            "over": self.over,
            "accuracy": self.accuracy,
        }


def _number(given: Any, name: str) -> Any:
    whole = name in ("cost", "fetches")
    return None if whole and isinstance(given, str) and given == UNLIMITED else given


def _require_for_several(settings: Mapping[str, Any]) -> None:
    """Raise for what only a budget for one remote value can have."""
    if settings.get("carry_over"):
        raise QueryError(
            "only a quota keeps what was not spent, where there are several remote values",
            field="budget.carry_over",
            fix='write budget={"per": {"1 h": 400}}, which keeps up to the whole amount',
        )
    if settings.get("at_most") is not None:
        raise QueryError(
            "only a query with one remote value spends as little as an accuracy needs",
            field="budget.at_most",
            fix='write budget={"cost": 50, "accuracy": 0.95}, which marks what is less right',
        )
    if {"cost", "fetches"} <= settings.keys():
        raise QueryError(
            "is given twice: as cost, and as fetches",
            field="budget.cost",
            fix="leave out fetches",
        )


def _of_budget(budget: Budget) -> Allowance:
    """The same for several values: a look-up costs 1."""
    _require_for_several({"carry_over": budget.carry_over, "at_most": budget.at_most})
    return Allowance(budget.fetches, budget.deadline, accuracy=budget.accuracy)
