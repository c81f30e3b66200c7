"""A workload, a contender, and one record per window: what was answered, and what it cost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from topwater.model import IntArray
from topwater.remote.replay import Replay
from topwater.replica import Budget, Ranking, Refresher, RefreshSettings, WindowView
from topwater.replica.policies import resolve
from topwater.replica.utility import Aim
from topwater.scoring.accuracy import accuracy
from topwater_lab.experiments.oracle import Oracle, clairvoyant
from topwater_lab.experiments.workloads import REMOTE, Workload

CLAIRVOYANT = "clairvoyant"
CARRIED = "worth+carry"
AIMED = ("worth", CARRIED, CLAIRVOYANT)
"""The contenders that have a choice of aim."""

KNOWN = "known"


@dataclass(frozen=True, slots=True)
class Contender:
    """A policy with what it is allowed: the same budget for all.

    Attributes
    ----------
    policy
        By registry name, or ``"clairvoyant"`` for the bound.
    budget, k, n
        Fetches per window, rows of an answer, and candidates beyond them.
    aim
        What ``worth`` and the bound are after; the published policies have no choice.
    carry_over
        Keep what a window did not spend for the next ones.
    seed
        For the policies that draw at random.
    estimator
        Of change rates, for ``wbm``: a registry name, or ``"known"`` for the mean rate of each
        key over the whole recording. ACQUA's WBM is given the rates.
    """

    policy: str
    budget: int = 7
    k: int = 5
    n: int = 10
    aim: Aim = "relevance"
    carry_over: bool = False
    seed: int = 0
    estimator: str = KNOWN

    @property
    def name(self) -> str:
        """What records call it: one that carries over is another contender."""
        return f"{self.policy}+carry" if self.carry_over else self.policy


@dataclass(frozen=True, slots=True)
class Record:
    """What one contender did with one window.

    Attributes
    ----------
    ndcg, precision
        Of the answer, against the true ranking.
    accuracy
        The share of the window's keys whose remembered value is the true one.
    age
        The mean age of the values in the answer, in seconds.
    fetches
        How many keys were asked for.
    seconds
        What refreshing and ranking took, in CPU time.
    estimated_precision, estimated_ndcg
        What the answer said of itself.
    """

    policy: str
    aim: str | None
    counts: str
    budget: int
    ch: int
    k: int
    n: int
    seed: int
    window: int
    ndcg: float
    precision: float
    accuracy: float
    age: float
    fetches: int
    seconds: float
    estimated_precision: float
    estimated_ndcg: float


def run(workload: Workload, contender: Contender, oracle: Oracle | None = None) -> Iterator[Record]:
    """One record per window. The oracle of the workload may be passed in, to be found only once."""
    track = _bound if contender.policy == CLAIRVOYANT else _contest
    return track(workload, contender, oracle or Oracle.of(workload))


def build(workload: Workload, contender: Contender, source: Replay) -> Refresher:
    """The contender, with the replica that all start with."""
    settings = RefreshSettings(
        remote=REMOTE,
        policy=contender.policy,
        budget=Budget(fetches=contender.budget, carry_over=contender.carry_over),
        spare=contender.n,
        aim=contender.aim,
        seed=contender.seed,
        estimator=_estimator(workload, contender),
    )
    refresher = Refresher(
        settings, workload.score, workload.windows, contender.k, source, source.truth
    )
    refresher.seed_replica(*workload.initial(), workload.known_since)
    return refresher


def _estimator(
    workload: Workload, contender: Contender
) -> str | dict[str, dict[str, float]] | None:
    """Only for those who need rates: to list the known ones takes time."""
    if not resolve(contender.policy)[0].needs_rates:
        return None
    if contender.estimator != KNOWN:
        return contender.estimator
    keys, rates = workload.remote.distinct.tolist(), workload.remote.rates().tolist()
    return {KNOWN: dict(zip(map(str, keys), rates, strict=True))}


def _contest(workload: Workload, contender: Contender, oracle: Oracle) -> Iterator[Record]:
    source = Replay(workload.remote)
    refresher = build(workload, contender, source)
    for view in workload.views:
        source.now = view.end
        before, started = source.fetches, time.thread_time()
        ranking = refresher.refresh(view)
        seconds = time.thread_time() - started
        remembered = refresher.replica.remembered(view.keys)
        yield _record(
            workload,
            contender,
            oracle,
            view,
            ranking.rows,
            accuracy=accuracy(remembered, oracle.values[view.index]),
            age=_age(ranking),
            fetches=source.fetches - before,
            seconds=seconds,
            estimated=(ranking.freshness.precision, ranking.freshness.ndcg),
        )


def _bound(workload: Workload, contender: Contender, oracle: Oracle) -> Iterator[Record]:
    bounds = clairvoyant(workload, oracle, contender.budget, contender.k, contender.aim)
    for view, bound in zip(workload.views, bounds, strict=True):
        yield _record(workload, contender, oracle, view, bound.rows, fetches=len(bound.fetched))


def _record(
    workload: Workload,
    contender: Contender,
    oracle: Oracle,
    view: WindowView,
    rows: IntArray,
    *,
    accuracy: float = np.nan,
    age: float = np.nan,
    fetches: int,
    seconds: float = np.nan,
    estimated: tuple[float, float] = (np.nan, np.nan),
) -> Record:
    verdict = oracle.judge(view.index, rows, contender.k)
    return Record(
        policy=contender.name,
        aim=contender.aim if contender.name in AIMED else None,
        counts=workload.counts,
        budget=contender.budget,
        ch=workload.ch,
        k=contender.k,
        n=contender.n,
        seed=workload.seed,
        window=view.index,
        ndcg=verdict.ndcg,
        precision=verdict.precision,
        accuracy=accuracy,
        age=age,
        fetches=fetches,
        seconds=seconds,
        estimated_precision=estimated[0],
        estimated_ndcg=estimated[1],
    )


def _age(ranking: Ranking) -> float:
    known = ranking.age[ranking.age >= 0]
    return float(known.mean()) / 1_000 if len(known) else np.nan
