"""Set-points in made-up worlds: how right answers are that ask for an accuracy, at what cost.

Beside each run stands the best fixed budget in hindsight: the fewest look-ups a window with which
the same policy is as right as was asked, in truth.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from topwater.local import run
from topwater.model import Answer
from topwater.remote.replay import Replay
from topwater_lab.bench.harness import ticking
from topwater_lab.experiments.parallel_runs import on_cores
from topwater_lab.experiments.world_runs import OURS, Truth, answered, query_of
from topwater_lab.experiments.worlds import FEW, KINDS, World

ACCURACY = 0.9
BUDGETS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 35, 50, 70, 100)
"""What is tried, until one is as right as asked."""

_COLD_KEYS = 2_000
_AT_MOST = {True: 100, False: 50}
_NEAR, _TIMES = 0.03, 1.3
_WORKERS = 2


class Trial(NamedTuple):
    """One world with a set-point."""

    kind: str
    keys: int
    seed: int
    windows: int


@dataclass(frozen=True, slots=True)
class Row:
    """How a set-point did in one kind of world: means over windows and seeds.

    Attributes
    ----------
    accuracy, at_most
        What was asked, and how many look-ups were allowed.
    precision, said
        How right answers were in truth, and by their estimates.
    look_ups
        A window.
    best
        The best fixed budget in hindsight; None if none that is tried is as right as asked.
    bound
        The precision of one that knows the truth, with ``at_most`` look-ups.
    """

    world: str
    keys: int
    accuracy: float
    at_most: int
    precision: float
    said: float
    look_ups: float
    best: float | None
    bound: float

    @property
    def near(self) -> bool:
        """Whether answers are as right as asked, but for a little."""
        return abs(self.precision - self.accuracy) <= _NEAR

    @property
    def times(self) -> float | None:
        """The look-ups, by those of the best fixed budget."""
        return None if self.best is None else self.look_ups / self.best


def trials(seeds: Sequence[int], *, quick: bool = False) -> list[Trial]:
    """All kinds of worlds."""
    windows = 80 if quick else 120
    return [
        Trial(kind.name, _COLD_KEYS if kind.cold else FEW, seed, 40 if kind.cold else windows)
        for seed in seeds[: 1 if quick else 3]
        for kind in KINDS.values()
        if not (quick and kind.cold)
    ]


def rows(held: Sequence[Trial], *, workers: int = _WORKERS, quiet: bool = False) -> list[Row]:
    """All rows, in the order of the kinds of worlds, with a progress bar on stderr."""
    found: dict[str, list[Row]] = {}
    with ticking(len(held), quiet=quiet) as ticker:
        for at, row in on_cores(work, held, min(workers, os.cpu_count() or 1)):
            found.setdefault(row.world, []).append(row)
            ticker.step(held[at].kind)
    return [_mean(found[name]) for name in KINDS if name in found]


def work(trial: Trial) -> Row:
    """One world."""
    kind = KINDS[trial.kind]
    world = World(kind, trial.keys, trial.seed, trial.windows)
    truth, at_most = Truth(world), _AT_MOST[kind.cold]
    answers = with_set_point(world, ACCURACY, at_most)
    verdict = truth.judge(answers)
    spent = [0 if each.freshness is None else each.freshness.fetched for each in answers]
    return Row(
        trial.kind,
        trial.keys,
        ACCURACY,
        at_most,
        verdict.precision,
        verdict.said_precision,
        float(np.mean(spent)),
        best_budget(world, truth, ACCURACY, at_most),
        truth.bound(at_most, "accuracy").precision,
    )


def with_set_point(world: World, accuracy: float, at_most: int, **more: Any) -> list[Answer]:
    """The answers that are judged, of a query that asks for so much precision."""
    query = query_of(world.kind, OURS, 1, "accuracy")
    assert query.refresh is not None  # noqa: S101  for the type checker
    budget = {"accuracy": accuracy, "at_most": at_most}
    settings: Any = query.refresh.to_dict() | {"budget": budget} | more
    query = replace(query, refresh=settings)
    answers = list(run(query, world.batches(), source=Replay(world.remote)))
    return answers[world.kind.warm_up : world.windows]


def best_budget(world: World, truth: Truth, accuracy: float, most: int) -> float | None:
    """The fewest look-ups a window that are as right as asked; between two that were tried, evenly.

    None if so many are not enough.
    """
    before = (0, 0.0)
    for budget in BUDGETS:
        if budget > most:
            break
        right = truth.judge(answered(world, OURS, budget, "accuracy")).precision
        if right >= accuracy:
            fewer, less = before
            return fewer + (budget - fewer) * (accuracy - less) / (right - less)
        before = budget, right
    return None


def _mean(same: Sequence[Row]) -> Row:
    """Over seeds."""
    names = ("precision", "said", "look_ups", "bound")
    # In a fixed order: processes end in any.
    means: dict[str, Any] = {
        name: float(np.mean(sorted(getattr(row, name) for row in same))) for name in names
    }
    best = sorted(row.best for row in same if row.best is not None)
    means["best"] = float(np.mean(best)) if len(best) == len(same) else None
    return replace(same[0], **means)


def lines(found: Sequence[Row]) -> Iterator[str]:
    """A table, and what it comes to."""
    yield f"{'world':22} precision   says  bound  look-ups   best  times"
    for row in found:
        best, times = ("–" if each is None else f"{each:.2f}" for each in (row.best, row.times))
        yield (
            f"{row.world:22}{row.precision:10.3f}{row.said:7.3f}{row.bound:7.3f}"
            f"{row.look_ups:10.2f}{best:>7}{times:>7}"
        )
    within = [row for row in found if row.bound >= row.accuracy]
    near = sum(row.near for row in within)
    cheap = sum(row.times is not None and row.times <= _TIMES for row in within)
    yield f"within {_NEAR:g} of {ACCURACY:g} in {near} of {len(within)} worlds where that can be"
    yield f"with at most {_TIMES:g} times the look-ups of the best fixed budget in {cheap}"


def report(found: Sequence[Row]) -> dict[str, Any]:
    """For JSON."""
    told = [asdict(row) | {"times": row.times} for row in found]
    return {"experiment": "worlds", "track": "setpoint", "rows": told}
