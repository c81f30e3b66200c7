"""Every policy in every world, through the product's own loop; and a bound that knows the truth.

A run is a query over the events of a world, in process, with a source that replays its remote
values. Nothing is known at the start. Every policy has the same budget.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from topwater.local import run
from topwater.model import Answer, FloatArray, IntArray
from topwater.query import TopKQuery
from topwater.remote.replay import Replay
from topwater.replica import WindowView
from topwater.replica.utility import Aim
from topwater.scoring.accuracy import ndcg, precision
from topwater_lab.bench.harness import ticking
from topwater_lab.experiments.oracle import Greedy, ranked
from topwater_lab.experiments.parallel_runs import on_cores
from topwater_lab.experiments.worlds import FEW, KINDS, WINDOWS, Kind, World, window_of

OURS = "worth"
SIMPLE = ("lru", "at-lru", "at-tsm", "at-bsm", "ttl")
POLICIES = ("wst", "rnd", "wbm", "at-wbm", *SIMPLE, OURS)
"""All that keep to a budget."""

AIMS: tuple[Aim, ...] = ("relevance", "accuracy")
_BUDGETS = (5, 15)
_COLD_KEYS, _COLD_BUDGETS = (2_000, 20_000), (10, 100)
_WORKERS = 2


class Contest(NamedTuple):
    """One world in which all policies are run, with each of some budgets."""

    kind: str
    keys: int
    seed: int
    windows: int
    budgets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """How one policy did with one budget in one kind of world: means over windows and seeds.

    Attributes
    ----------
    aim
        Of a policy that has a choice.
    precision, ndcg
        Of the answers, by the true ranking.
    said_precision, said_ndcg
        What the answers said of themselves.
    bound_precision, bound_ndcg
        Of one that knows the truth and aims at each.
    """

    world: str
    keys: int
    budget: int
    policy: str
    aim: Aim | None
    precision: float
    ndcg: float
    said_precision: float
    said_ndcg: float
    bound_precision: float
    bound_ndcg: float


class Verdict(NamedTuple):
    """How right answers are, and how right they said they were."""

    precision: float
    ndcg: float
    said_precision: float
    said_ndcg: float


def contests(seeds: Sequence[int], *, quick: bool = False) -> list[Contest]:
    """All worlds; the largest first, so that no process is left alone with one at the end."""
    cold = [kind for kind in KINDS.values() if kind.cold]
    warm = [kind for kind in KINDS.values() if not kind.cold]
    chosen = seeds[: 1 if quick else 3]
    found = [
        Contest(kind.name, keys, seed, 30, _cold_budgets(keys, quick=quick))
        for keys in reversed(_COLD_KEYS)
        for seed in chosen[:2]
        for kind in cold
        if not quick or keys < max(_COLD_KEYS) or kind.design
    ]
    windows, budgets = (80, _BUDGETS[:1]) if quick else (120, _BUDGETS)
    found += [Contest(kind.name, FEW, seed, windows, budgets) for seed in chosen for kind in warm]
    return found


def _cold_budgets(keys: int, *, quick: bool) -> tuple[int, ...]:
    return _COLD_BUDGETS[1:] if quick and keys == max(_COLD_KEYS) else _COLD_BUDGETS


def cells(held: Sequence[Contest], *, workers: int = _WORKERS, quiet: bool = False) -> list[Cell]:
    """All cells, in the order of the kinds of worlds, with a progress bar on stderr."""
    found: dict[tuple[Any, ...], list[Cell]] = {}
    with ticking(len(held), quiet=quiet) as ticker:
        for at, each in on_cores(work, held, min(workers, os.cpu_count() or 1)):
            for cell in each:
                named = (cell.world, cell.keys, cell.budget, cell.policy, cell.aim)
                found.setdefault(named, []).append(cell)
            ticker.step(held[at].kind)
    order = {name: place for place, name in enumerate(KINDS)}
    places = {policy: place for place, policy in enumerate(POLICIES)}
    means = [_mean(same) for same in found.values()]
    return sorted(
        means,
        key=lambda c: (order[c.world], c.keys, c.budget, places[c.policy], c.aim == AIMS[1]),
    )


def _mean(same: list[Cell]) -> Cell:
    """Over seeds."""
    first, figures = same[0], [*Verdict._fields, "bound_precision", "bound_ndcg"]
    # In a fixed order: processes end in any.
    means = {name: float(np.mean(sorted(getattr(c, name) for c in same))) for name in figures}
    return Cell(first.world, first.keys, first.budget, first.policy, first.aim, **means)


def work(contest: Contest) -> list[Cell]:
    """The cells of one world."""
    world = World(KINDS[contest.kind], contest.keys, contest.seed, contest.windows)
    truth = Truth(world)
    found = []
    for budget in contest.budgets:
        at_best = truth.bound(budget, "accuracy").precision, truth.bound(budget, "relevance").ndcg
        for policy, aim in contenders():
            verdict = truth.judge(answered(world, policy, budget, aim or AIMS[0]))
            named = (contest.kind, contest.keys, budget, policy, aim)
            found.append(Cell(*named, *verdict, *at_best))
    return found


def contenders() -> Iterator[tuple[str, Aim | None]]:
    """All policies; ours with each aim."""
    for policy in POLICIES:
        yield from ((policy, aim) for aim in (AIMS if policy == OURS else (None,)))


def query_of(kind: Kind, policy: str, budget: int, aim: Aim) -> TopKQuery:
    """What is asked in a world."""
    return TopKQuery(
        key="key",
        time="at",
        window=WINDOWS,
        take={"mentions": "count"},
        score=kind.score,
        k=kind.k,
        refresh={
            "remote": "remote",
            "policy": policy,
            "budget": budget,
            "aim": aim,
            "memory": None,
        },
    )


def answered(world: World, policy: str, budget: int, aim: Aim) -> list[Answer]:
    """The answers that are judged."""
    query = query_of(world.kind, policy, budget, aim)
    answers = run(query, world.batches(), source=Replay(world.remote))
    return [each for each in answers if world.kind.warm_up <= window_of(each.window.end)][
        : world.windows - world.kind.warm_up
    ]


class Truth:
    """What is true in a world, found once for all runs.

    Parameters
    ----------
    world
        The world.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._score = query_of(world.kind, OURS, 1, AIMS[0]).score

    @cached_property
    def windows(self) -> list[TrueWindow]:
        """The truth of each window."""
        return [self._true(view) for view in self._world.views]

    def judge(self, answers: Sequence[Answer]) -> Verdict:
        """How right answers are, and how right they said they were."""
        k, found = self._world.kind.k, []
        judged = self.windows[self._world.kind.warm_up :]
        for answer, true in zip(answers, judged, strict=True):
            assert answer.freshness is not None  # noqa: S101  for the type checker
            ranks = true.places[np.searchsorted(true.view.keys, np.array(answer.keys))]
            said = answer.freshness.precision, answer.freshness.ndcg
            found.append((*_right(ranks, len(true.places), k), *said))
        return Verdict(*np.mean(found, axis=0).tolist())

    def bound(self, budget: int, aim: Aim) -> Verdict:
        """What looking up the best keys would give, window by window.

        It starts as all do, with no value, but knows the mean of all of them; what it has read it
        remembers. Of those that the budget allows only as many are read as serve the window. It is
        greedy, and looks at one window at a time: hard to beat, but not a proven limit.
        """
        world, k = self._world, self._world.kind.k
        everything = np.arange(world.scene.keys)
        usual = float(world.remote.at(everything, 1).mean())
        remembered, found = np.full(world.scene.keys, usual), []
        for true in self.windows:
            rows = self._chosen(true, remembered, budget, aim)
            remembered[true.view.keys[rows]] = true.values[rows]
            scores = self._scores(true.view, remembered[true.view.keys])
            ranks = true.places[ranked(scores, true.view)[:k]]
            found.append(_right(ranks, len(true.places), k))
        right = np.mean(found[world.kind.warm_up :], axis=0).tolist()
        return Verdict(*right, *right)

    def _chosen(self, true: TrueWindow, remembered: FloatArray, budget: int, aim: Aim) -> IntArray:
        """Which rows to look up: of those that are shown, that would follow, or should be shown."""
        k = self._world.kind.k
        scores = self._scores(true.view, remembered[true.view.keys])
        near = ranked(scores, true.view)[: k + budget + 1]
        rows = np.union1d(near, np.flatnonzero(true.places < k))
        search = Greedy.among(rows, true.view, true.scores, true.places, k, aim)
        stale = np.flatnonzero(remembered[true.view.keys[rows]] != true.values[rows])
        return np.asarray(rows[search.choose(scores[rows], stale, budget)])

    def _true(self, view: WindowView) -> TrueWindow:
        values = self._world.remote.at(view.keys, view.end)
        scores = self._scores(view, values)
        return TrueWindow(view, values, scores, np.argsort(ranked(scores, view)))

    def _scores(self, view: WindowView, remote: FloatArray) -> FloatArray:
        return self._score.rank_scores({**view.values, "remote": remote})


class TrueWindow(NamedTuple):
    """A window, and of each of its rows the true value, score and place."""

    view: WindowView
    values: FloatArray
    scores: FloatArray
    places: IntArray


def _right(ranks: IntArray, n: int, k: int) -> tuple[float, float]:
    return float(precision(ranks, n, k)), float(ndcg(ranks, n, k))


def report(found: Sequence[Cell]) -> dict[str, Any]:
    """For JSON."""
    return {"experiment": "worlds", "cells": [asdict(cell) for cell in found]}
