"""RefreshSettings: how the remote side is kept fresh, in one frozen value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, get_args

from topwater.errors import QueryError
from topwater.model import Frozen
from topwater.replica.budget import Budget
from topwater.replica.policies import needs_truth, resolve
from topwater.replica.proposals import Proposer
from topwater.replica.rate_estimators import estimators
from topwater.replica.utility import Aim


@dataclass(frozen=True, slots=True)
class RefreshSettings:
    """How the remote side is kept fresh.

    Parameters
    ----------
    remote
        The name that the score uses for the remote value.
    policy
        Which keys to refresh, by registry name.
    budget
        What it may cost: a number of fetches per window, named settings, or None for no limit,
        with which every key of a window is read for its answer (see :class:`Budget`).
    spare
        How many keys beyond the k best count as candidates: the N of AcquaTop.
    refresh_from
        Where keys are proposed from; None for what the policy's name says.
    aim
        What ``worth`` is to save: ``"relevance"`` or ``"accuracy"``.
    estimator
        Of change rates, for the policies that need them: a registry name, or the rates if they
        are known, in changes per second by key: ``{"known": {"a": 0.01}}``.
    default
        The value of keys that the remote side does not know; None leaves them out.
    limit
        How many keys the replica remembers; None for all.
    seed
        For the policies that draw at random.
    hint
        Whether an event of a key is taken for a hint that its remote value changed. How good a
        hint is learnt; it serves ``worth`` and the estimates.
    """

    remote: str
    policy: str = "worth"
    budget: Budget = field(default_factory=lambda: Budget(fetches=7))
    spare: int = 10
    refresh_from: Proposer | None = None
    aim: Aim = "relevance"
    estimator: str | Mapping[str, Mapping[str, float]] | None = "irregular"
    default: float | None = None
    limit: int | None = None
    seed: int = 0
    hint: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", Budget.of(self.budget))
        entry = resolve(self.policy)[0]
        if entry.needs_rates and self.estimator is None:
            raise QueryError(
                f"{self.policy!r} needs change rates",
                field="estimator",
                fix=f"use one of: {', '.join(estimators)}",
            )
        object.__setattr__(self, "estimator", _estimator(self.estimator))
        if type(self.remote) is not str or not self.remote:
            raise QueryError(
                f"{self.remote!r} is no name", field="refresh.remote", fix="name the remote value"
            )
        self._check_choices()
        if entry.refreshes and self.budget.fetches == 0:
            raise QueryError(
                f"{self.policy!r} refreshes, but may fetch nothing",
                field="budget",
                fix='allow a fetch or more, or use policy="wst", which never refreshes',
            )

    def _check_choices(self) -> None:
        for name, choices in (("refresh_from", Proposer), ("aim", Aim)):
            value = getattr(self, name)
            if value is not None and value not in get_args(choices):
                raise QueryError(
                    f"{value!r} is unknown",
                    field=name,
                    fix=f"use one of: {', '.join(get_args(choices))}",
                )
        for name, least in (("spare", 0), ("limit", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is None and name == "limit":
                continue
            if type(value) is not int or value < least:
                raise QueryError(
                    f"must be a whole number of at least {least}, not {value!r}",
                    field=name,
                    fix="leave it out for the default",
                )
        if self.default is not None and not _is_number(self.default):
            raise QueryError(
                f"must be a finite number, not {self.default!r}",
                field="default",
                fix="leave it out to leave out keys that the remote side does not know",
            )
        if type(self.hint) is not bool:
            raise QueryError(
                f"must be true or false, not {self.hint!r}", field="hint", fix="leave it out"
            )

    @property
    def reads_nothing(self) -> bool:
        """Whether no value is ever looked up."""
        return not resolve(self.policy)[0].refreshes

    @property
    def reads_every_key(self) -> bool:
        """Whether each key that is known of a window is looked up for its answer."""
        entry, proposer = resolve(self.policy)
        whole = (self.refresh_from or proposer) != "candidates"
        return entry.refreshes and (self.budget.unlimited or (entry.unbounded and whole))

    @property
    def reads_all_candidates(self) -> bool:
        """Whether the k + spare best, at least, are looked up whatever the budget is."""
        return resolve(self.policy)[0].unbounded

    def refuse_truth(self) -> None:
        """Raise if the policy is one for evaluations only."""
        if resolve(self.policy)[0].needs_truth:
            raise needs_truth(self.policy)

    @staticmethod
    def of(spec: Any) -> RefreshSettings:
        """Settings from the remote value's name, or from named settings."""
        if isinstance(spec, RefreshSettings):
            return spec
        if isinstance(spec, str):
            return RefreshSettings(spec)
        known = [each.name for each in fields(RefreshSettings)]
        if not isinstance(spec, Mapping) or "remote" not in spec:
            raise QueryError(
                "names no remote value",
                field="refresh",
                fix='write refresh={"remote": "followers"}',
            )
        if unknown := sorted(set(spec) - set(known)):
            raise QueryError(
                "no such setting", field=f"refresh.{unknown[0]}", fix=f"use: {', '.join(known)}"
            )
        return RefreshSettings(**spec)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        plain = asdict(self)
        if isinstance(self.estimator, Mapping):
            plain["estimator"] = {"known": dict(self.estimator["known"])}
        return plain


def _estimator(given: Any) -> str | Mapping[str, Mapping[str, float]] | None:
    """An estimator's name as it is; known rates with their keys as text, as JSON has them."""
    if not isinstance(given, Mapping):
        if given is None:
            return None
        estimators[given]
        return str(given)
    rates = given.get("known")
    if set(given) != {"known"} or not isinstance(rates, Mapping):
        raise QueryError(
            f"{sorted(map(str, given))} are no known rates",
            field="estimator",
            fix=f'write {{"known": {{"key": 0.01}}}}, or use one of: {", ".join(estimators)}',
        )
    for key, rate in rates.items():
        if not _is_number(rate) or rate < 0:
            raise QueryError(
                f"must be at least 0, not {rate!r}",
                field=f"estimator.known.{key}",
                fix="give changes per second",
            )
    return Frozen(known=Frozen({str(key): float(rate) for key, rate in rates.items()}))


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int) and type(value) is not bool and math.isfinite(value)
