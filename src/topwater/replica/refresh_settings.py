"""RefreshSettings: how the remote side is kept fresh, in one frozen value."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, get_args

from topwater.errors import QueryError
from topwater.model import Frozen
from topwater.replica.budget import UNLIMITED, Budget
from topwater.replica.noise import Noise
from topwater.replica.policies import needs_truth, resolve
from topwater.replica.proposals import Proposer
from topwater.replica.rate_estimators import estimators
from topwater.replica.utility import Aim
from topwater.validation import (
    bytes_of,
    checked_call,
    choice_of,
    column_of,
    flag_of,
    made_from,
    number_of,
    whole_of,
)

_LEAVE = "leave it out for the default"
MEMORY = 64 * 2**20
"""What the replica of a ranking may take where nothing is said, in bytes."""


@checked_call("refresh")
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
        with which every key of a window is read for its answer. :class:`Budget` says what an
        omitted number means.
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
    memory
        How much the replica may take: bytes, a size such as ``"64 MB"``, or None (in files
        ``"unlimited"``). With groups it is for all of them together; each shard has as much. Only
        keys that were asked for are remembered. Beyond it, those longest out of the windows are
        forgotten, and counted in the answer.
    limit
        The same as a number of keys; None for what ``memory`` allows.
    seed
        For the policies that draw at random.
    audit
        What share of the look-ups goes to keys drawn at random, to measure how right answers are
        without trusting any belief: 0 to 0.5. See ``audited`` of
        :class:`~topwater.model.Freshness`.
    noise
        How far apart look-ups of the same remote value lie: a standard deviation, or a share of
        the value such as ``"2 %"``. What differs by no more than three of them is not taken for a
        change, and the remembered value stays. None if all differences are changes.
    hint
        Whether an event of a key is taken for a hint that its remote value changed. How good a
        hint is learnt; it serves ``worth`` and the estimates.
    """

    remote: str
    policy: str = "worth"
    budget: Budget = field(default_factory=Budget)
    spare: int = 10
    refresh_from: Proposer | None = None
    aim: Aim = "relevance"
    estimator: str | Mapping[str, Mapping[str, float]] | None = "irregular"
    default: float | None = None
    limit: int | None = None
    memory: int | None = MEMORY
    seed: int = 0
    hint: bool = False
    audit: float = 0.0
    noise: float | str | None = None

    def __post_init__(self) -> None:
        put = functools.partial(object.__setattr__, self)
        column_of(self.remote, "refresh.remote", "name the remote value")
        put("budget", Budget.of(self.budget))
        entry = resolve(self.policy)[0]
        if entry.needs_rates and self.estimator is None:
            raise QueryError(
                f"{self.policy!r} needs change rates",
                field="estimator",
                fix=f"use one of: {', '.join(estimators)}",
            )
        put("estimator", _estimator(self.estimator))
        if self.refresh_from is not None:
            choice_of(self.refresh_from, get_args(Proposer), "refresh_from")
        choice_of(self.aim, get_args(Aim), "aim")
        put("spare", whole_of(self.spare, "spare", 0, fix=_LEAVE))
        put("seed", whole_of(self.seed, "seed", 0, fix=_LEAVE))
        if self.limit is not None:
            put("limit", whole_of(self.limit, "limit", 1, fix=_LEAVE))
        put("memory", _memory(self.memory))
        if self.default is not None:
            fix = "leave it out to leave out keys that the remote side does not know"
            number_of(self.default, "default", fix=fix)
        flag_of(self.hint, "hint")
        fix = "0.02 spends one look-up of fifty on it"
        put("audit", number_of(self.audit, "refresh.audit", least=0, most=0.5, fix=fix))
        if self.noise is not None:
            Noise.of(self.noise)
        if self.audit and (not entry.refreshes or entry.unbounded or self.budget.unlimited):
            raise QueryError(
                "needs a limited number of look-ups, of which it takes a share",
                field="refresh.audit",
                fix="leave it out, or use a budget and a policy that keeps to it",
            )
        if entry.refreshes and self.budget.fetches == 0:
            raise QueryError(
                f"{self.policy!r} refreshes, but may fetch nothing",
                field="budget",
                fix='allow a fetch or more, or use policy="wst", which never refreshes',
            )
        if self.budget.set_point is not None and not entry.weighs:
            raise QueryError(
                f"{self.policy!r} does not say what look-ups are worth, so not how many are needed",
                field="budget.at_most",
                fix=f'use policy="worth", or budget={self.budget.at_most} for every window',
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

    def missed(self, precision: float, ndcg: float) -> bool:
        """Whether an answer that is estimated to be so right is less right than asked."""
        found = precision if self.measure == "accuracy" else ndcg
        return self.budget.accuracy is not None and found < self.budget.accuracy

    @property
    def measure(self) -> Aim:
        """By what an accuracy counts: precision; for a set-point, what the aim is for."""
        return "accuracy" if self.budget.set_point is None else self.aim

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
        if not isinstance(spec, Mapping) or "remote" not in spec:
            raise QueryError(
                "names no remote value",
                field="refresh",
                fix='write refresh={"remote": "followers"}',
            )
        return made_from(RefreshSettings, spec, "refresh")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        plain = asdict(self)
        if isinstance(self.estimator, Mapping):
            plain["estimator"] = {"known": dict(self.estimator["known"])}
        return plain


def _memory(given: Any) -> int | None:
    if given is None or (isinstance(given, str) and given == UNLIMITED):
        return None
    return bytes_of(given, "refresh.memory")


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
            f"{sorted(map(str, given))} are not known rates",
            field="estimator",
            fix=f'write {{"known": {{"key": 0.01}}}}, or use one of: {", ".join(estimators)}',
        )
    for key, rate in rates.items():
        number_of(rate, f"estimator.known.{key}", least=0, fix="give changes per second")
    return Frozen(known=Frozen({str(key): float(rate) for key, rate in rates.items()}))
