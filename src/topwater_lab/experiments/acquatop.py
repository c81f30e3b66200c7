"""AcquaTop's experiments 0 to 4, for every published policy, for ours, and for the bound.

Zahmatkesh and Della Valle vary one of four settings at a time around a default: the refresh
budget B, how many of 100 users change at each snapshot (CH), the answer's size K, and the number
N of spare candidates. Every cell is run on five data sets; medians are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Literal

import pyarrow as pa

from topwater.replica.utility import Aim
from topwater_lab.experiments.evening import EVALUATIONS, Counts
from topwater_lab.experiments.parallel_runs import Job, sums
from topwater_lab.experiments.tracks import AIMED, CARRIED, CLAIRVOYANT, Contender

Metric = Literal["ndcg", "precision"]
AIMS: Mapping[Metric, Aim] = {"ndcg": "relevance", "precision": "accuracy"}
"""What to aim for to do well by a metric."""

OURS = "worth"
UNLIMITED = "at-asm"
PUBLISHED = (
    "wst",
    "wsj-rnd",
    "wsj-lru",
    "wsj-wbm",
    "at-lru",
    "at-wbm",
    "at-tsm",
    "at-bsm",
)
"""Those that keep to the budget."""

DATA_SETS = 5
_LEAST_GAP = 0.5
"""Below half a window in 150, there is no gap to speak of, and its share would be noise."""


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One point of the grid."""

    budget: int = 7
    ch: int = 20
    k: int = 5
    n: int = 10


DEFAULT = Cell()
BUDGETS = (1, 3, 5, 7, 10, 15, 20, 25, 30)
QUICK_BUDGETS = (3, 7, 15)
CHANGES = (5, 10, 20, 40, 80)
SIZES = (5, 7, 10, 15, 20, 30)
SPARES = (0, 10, 20, 30, 40)
MIDDLE_BUDGETS = (7, 15)


@dataclass(frozen=True, slots=True)
class Sweep:
    """One line of cells: what is varied, and at which budget."""

    experiment: int
    varied: Literal["budget", "ch", "k", "n"]
    cells: tuple[Cell, ...]

    @property
    def budget(self) -> int | None:
        """The budget, unless it is what varies."""
        return None if self.varied == "budget" else self.cells[0].budget


def sweeps(*, quick: bool = False) -> tuple[Sweep, ...]:
    """Experiments 1 to 4; only a few budgets if ``quick``."""
    budgets = QUICK_BUDGETS if quick else BUDGETS
    first = Sweep(1, "budget", tuple(replace(DEFAULT, budget=b) for b in budgets))
    if quick:
        return (first,)
    return (
        first,
        Sweep(2, "ch", tuple(replace(DEFAULT, ch=ch) for ch in CHANGES)),
        *(Sweep(3, "k", tuple(Cell(budget=b, k=k) for k in SIZES)) for b in MIDDLE_BUDGETS),
        *(Sweep(4, "n", tuple(Cell(budget=b, n=n) for n in SPARES)) for b in MIDDLE_BUDGETS),
    )


def cells(*, quick: bool = False) -> list[Cell]:
    """All distinct points."""
    return sorted({cell for sweep in sweeps(quick=quick) for cell in sweep.cells})


def contenders(cell: Cell, seed: int) -> Iterator[Contender]:
    """All who take part in a cell."""
    for policy in (*PUBLISHED, UNLIMITED):
        yield Contender(policy, cell.budget, cell.k, cell.n, seed=seed)
    for aim in AIMS.values():
        for policy in (OURS, CLAIRVOYANT):
            yield Contender(policy, cell.budget, cell.k, cell.n, aim, seed=seed)
        yield Contender(OURS, cell.budget, cell.k, cell.n, aim, carry_over=True, seed=seed)


def jobs(
    data: str,
    counts: Counts,
    *,
    quick: bool = False,
    data_sets: int = DATA_SETS,
    evaluations: int = EVALUATIONS,
) -> list[Job]:
    """The whole grid."""
    return [
        Job(data, counts, cell.ch, seed, tuple(contenders(cell, seed)), evaluations)
        for cell in cells(quick=quick)
        for seed in range(data_sets)
    ]


@dataclass(frozen=True, slots=True)
class Standing:
    """How one contender did in one cell, one figure per data set.

    Attributes
    ----------
    ndcg, precision
        Summed over the windows.
    fetches
        The mean over the windows.
    """

    ndcg: tuple[float, ...]
    precision: tuple[float, ...]
    fetches: tuple[float, ...]

    def of(self, metric: Metric) -> float:
        """The median over the data sets."""
        return median(self.ndcg if metric == "ndcg" else self.precision)


@dataclass(slots=True)
class Results:
    """All standings, by counts, cell, policy and aim."""

    counts: Counts
    standings: dict[tuple[Cell, str, str], Standing] = field(default_factory=dict)

    @staticmethod
    def of(records: pa.Table, counts: Counts) -> Results:
        """From records."""
        results = Results(counts)
        runs: dict[tuple[Cell, str, str], list[dict[str, Any]]] = {}
        for run in sums(records):
            cell = Cell(*(run[name] for name in ("budget", "ch", "k", "n")))  # type: ignore[arg-type]
            runs.setdefault((cell, str(run["policy"]), str(run["aim"] or "")), []).append(run)
        for key, group in sorted(runs.items()):
            group.sort(key=lambda run: run["seed"])
            results.standings[key] = Standing(
                tuple(run["ndcg"] for run in group),
                tuple(run["precision"] for run in group),
                tuple(run["fetches"] / run["windows"] for run in group),
            )
        return results

    @property
    def cells(self) -> list[Cell]:
        """All cells that were run."""
        return sorted({cell for cell, _, _ in self.standings})

    def standing(self, cell: Cell, policy: str, metric: Metric) -> Standing:
        """Of a policy; those with a choice of aim are taken with the one that fits the metric."""
        aim = AIMS[metric] if policy in AIMED else ""
        return self.standings[cell, policy, aim]

    def score(self, cell: Cell, policy: str, metric: Metric) -> float:
        """The median over the data sets."""
        return self.standing(cell, policy, metric).of(metric)

    def best_published(self, cell: Cell, metric: Metric) -> tuple[str, float]:
        """The best of the published policies that keep to the budget."""
        return max(
            ((policy, self.score(cell, policy, metric)) for policy in PUBLISHED),
            key=lambda found: found[1],
        )

    def closure(self, cell: Cell, metric: Metric, policy: str = OURS) -> float | None:
        """The share of the gap, from the best published policy to the bound, that ours closes.

        One that carries over may close more than all of it: the bound does not carry over.
        """
        best = self.best_published(cell, metric)[1]
        gap = self.score(cell, CLAIRVOYANT, metric) - best
        if gap < _LEAST_GAP:
            return None
        return (self.score(cell, policy, metric) - best) / gap

    def closures(self, metric: Metric, policy: str = OURS) -> list[float]:
        """Of the cells that have a gap. N is left at its default: ours does not depend on it."""
        found = [self.closure(cell, metric, policy) for cell in self.judged_cells]
        return [closure for closure in found if closure is not None]

    def mean_closure(self, metric: Metric, policy: str = OURS) -> float | None:
        """The mean over the cells that have a gap: cells where all are near perfect don't count."""
        known = self.closures(metric, policy)
        return sum(known) / len(known) if known else None

    def pooled_closure(self, metric: Metric) -> float | None:
        """The share of all gaps taken together: every cell counts, by the size of its gap."""
        gap = gained = 0.0
        for cell in self.judged_cells:
            best = self.best_published(cell, metric)[1]
            gap += self.score(cell, CLAIRVOYANT, metric) - best
            gained += self.score(cell, OURS, metric) - best
        return gained / gap if gap > 0 else None

    @property
    def judged_cells(self) -> list[Cell]:
        """The cells with the default N."""
        return [cell for cell in self.cells if cell.n == DEFAULT.n]

    def summary(self) -> dict[str, Any]:
        """For JSON: every cell and policy, and how much of the gap is closed."""
        rows = [
            {
                "counts": self.counts,
                "budget": cell.budget,
                "ch": cell.ch,
                "k": cell.k,
                "n": cell.n,
                "policy": policy,
                "aim": aim or None,
                "ndcg": standing.of("ndcg"),
                "precision": standing.of("precision"),
            }
            for (cell, policy, aim), standing in self.standings.items()
        ]
        return {
            "cells": rows,
            "closure": {metric: self.mean_closure(metric) for metric in AIMS},
            "closure_carry_over": {metric: self.mean_closure(metric, CARRIED) for metric in AIMS},
        }

    def spent(self, policy: str) -> list[float]:
        """The mean fetches of each run, as a share of its budget."""
        return [
            fetches / cell.budget
            for (cell, name, _), standing in self.standings.items()
            if name == policy
            for fetches in standing.fetches
        ]


def shortfalls(results: Results, allowed: float = 0.5) -> Iterable[tuple[Cell, Metric, float]]:
    """Where ours is below the best published policy by more than is allowed."""
    for cell in results.cells:
        for metric in AIMS:
            short = results.best_published(cell, metric)[1] - results.score(cell, OURS, metric)
            if short > allowed:
                yield cell, metric, short
