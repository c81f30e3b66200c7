"""How right `worth` is in made-up worlds, and how far off what it says: with standard errors.

One seed of a world is good to some 0.03, which is more than most changes to what is believed bring.
So each world is run with many seeds, and no other policy; two versions are compared seed by seed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from topwater.errors import QueryError
from topwater.replica.utility import Aim
from topwater_lab.bench.harness import ticking
from topwater_lab.experiments.parallel_runs import on_cores
from topwater_lab.experiments.set_points import ACCURACY, with_set_point
from topwater_lab.experiments.world_report import AIMED
from topwater_lab.experiments.world_runs import OURS, Truth, answered
from topwater_lab.experiments.worlds import FEW, KINDS, World

_FEW_BUDGET, _COLD_BUDGET, _COLD_KEYS = 5, 100, 2_000
_AT_MOST = 50
_WORKERS = 2
_QUICK = 4


class Trial(NamedTuple):
    """One world, one aim, and a budget: None for as few look-ups as an accuracy needs."""

    kind: str
    keys: int
    budget: int | None
    aim: Aim
    seed: int
    windows: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one trial, by the measure that its aim is for.

    Attributes
    ----------
    right, said
        Of the answers, in truth and by their estimates.
    look_ups
        A window.
    """

    world: str
    keys: int
    budget: int | None
    aim: Aim
    seed: int
    right: float
    said: float
    look_ups: float


def trials(
    seeds: Sequence[int], *, set_point: bool = False, quick: bool = False, only: str = ""
) -> list[Trial]:
    """All worlds of 73 keys, and the cold ones of 2,000; or those named, between semicolons."""
    named = {name.strip() for name in only.split(";") if name.strip()} or set(KINDS)
    if strange := sorted(named - set(KINDS)):
        raise QueryError(
            f"there is no world called {strange[0]!r}",
            field="only",
            fix=f"use some of: {'; '.join(KINDS)}",
        )
    aims: tuple[Aim, ...] = ("accuracy",) if set_point else ("accuracy", "relevance")
    found = []
    for kind in (each for each in KINDS.values() if each.name in named):
        keys, budget, windows = FEW, _FEW_BUDGET, 80 if quick else 120
        if kind.cold:
            keys, budget, windows = _COLD_KEYS, _COLD_BUDGET, 30
        for seed in seeds[: _QUICK if quick else None]:
            spent = None if set_point else budget
            found += [Trial(kind.name, keys, spent, aim, seed, windows) for aim in aims]
    return found


def outcomes(
    held: Sequence[Trial], *, workers: int = _WORKERS, quiet: bool = False
) -> list[Outcome]:
    """Of all trials, in their order, with a progress bar on stderr."""
    found: dict[int, Outcome] = {}
    with ticking(len(held), quiet=quiet) as ticker:
        for at, outcome in on_cores(work, held, min(workers, os.cpu_count() or 1)):
            found[at] = outcome
            ticker.step(outcome.world)
    return [found[at] for at in range(len(held))]


def work(trial: Trial) -> Outcome:
    """One trial."""
    world = World(KINDS[trial.kind], trial.keys, trial.seed, trial.windows)
    if trial.budget is None:
        answers = with_set_point(world, ACCURACY, _AT_MOST)
    else:
        answers = answered(world, OURS, trial.budget, trial.aim)
    verdict = Truth(world).judge(answers)
    figures = verdict.precision, verdict.said_precision
    if trial.aim == "relevance":
        figures = verdict.ndcg, verdict.said_ndcg
    spent = [0 if each.freshness is None else each.freshness.fetched for each in answers]
    named = trial.kind, trial.keys, trial.budget, trial.aim, trial.seed
    return Outcome(*named, *figures, float(np.mean(spent)))


def lines(found: Sequence[Outcome]) -> Iterator[str]:
    """A table: means over seeds, each with its standard error."""
    yield f"{'world':22}{'keys':>6}  {'':10}{'right':>15}{'said more by':>16}{'look-ups':>10}"
    same: dict[tuple[str, int, Aim], list[Outcome]] = {}
    for each in found:
        same.setdefault((each.world, each.keys, each.aim), []).append(each)
    for (world, keys, aim), alike in same.items():
        right = _with_error([each.right for each in alike])
        more = _with_error([each.said - each.right for each in alike])
        look_ups = float(np.mean([each.look_ups for each in alike]))
        yield f"{world:22}{keys:6}  {AIMED[aim]:10}{right:>15}{more:>16}{look_ups:10.1f}"
    off = [abs(np.mean([each.said - each.right for each in alike])) for alike in same.values()]
    yield f"what answers say is off by {np.mean(off):.3f} on average over {len(off)} rows"


def _with_error(numbers: Sequence[float]) -> str:
    apart = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else float("nan")
    return f"{np.mean(numbers):.3f} ± {apart / np.sqrt(len(numbers)):.3f}"


def report(found: Sequence[Outcome]) -> dict[str, Any]:
    """For JSON."""
    return {
        "experiment": "worlds",
        "track": "errors",
        "outcomes": [asdict(outcome) for outcome in found],
    }
