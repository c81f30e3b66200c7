"""What dividing the keys among shards costs in precision, at the same budget for all of them.

Few keys have most events (Zipf), and values differ by orders of magnitude (log-normal) and change
at rates that differ as much. With ``even`` each shard spends its part of the budget; with ``joint``
the shards have one purse, as they have on Spark.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from topwater.model import Answer, FloatArray, IntArray
from topwater.monitor.shard_monitors import ShardedMonitor
from topwater.query import TopKQuery
from topwater.remote.known_changes import Steps
from topwater.remote.replay import Replay
from topwater.replica.utility import Aim
from topwater.scoring.accuracy import ndcg, precision
from topwater.windows import sliding
from topwater_lab.bench.core_targets import Measured, Target
from topwater_lab.bench.harness import ticking

Purse: TypeAlias = Literal["even", "joint"]
STEP = 60_000
_PANES = 5
_LEAST_RATIO = 0.98


@dataclass(frozen=True, slots=True)
class ShardPoint:
    """What is measured.

    Attributes
    ----------
    keys
        How many there are.
    budget
        How many look-ups a window has, over all shards.
    aim
        What the policy is to save.
    score
        Of ``n``, the number of events, and ``remote``.
    windows, warm_up
        How many windows are answered, and how many of them do not count.
    """

    keys: int = 500
    budget: int = 20
    aim: Aim = "accuracy"
    score: str = "n * remote"
    windows: int = 140
    warm_up: int = 30

    @property
    def query(self) -> TopKQuery:
        """What is asked."""
        return TopKQuery(
            key="who",
            time="at",
            window=sliding(_PANES * STEP, STEP),
            take={"n": "count"},
            score=self.score,
            k=10,
            refresh={"remote": "remote", "budget": self.budget, "aim": self.aim},
        )


class World:
    """A stream of a point, and the true values behind it.

    Parameters
    ----------
    point, seed
        What is measured, and with which draws.
    """

    def __init__(self, point: ShardPoint, seed: int) -> None:
        self.point = point
        rng = np.random.default_rng([seed, 16])
        keys = np.arange(point.keys)
        chance = 1.0 / (1.0 + keys) ** 1.1
        self._counts = rng.multinomial(
            3 * point.keys, chance / chance.sum(), size=point.windows + 1
        )
        # Hashes of neighbours differ, but which keys are busy must not follow from their numbers.
        self._names = rng.permutation(10 * point.keys)[: point.keys]
        self.remote = _changing(rng, self._names, point.windows)

    def batches(self) -> Iterator[pa.Table]:
        """One for each pane."""
        for pane, counts in enumerate(self._counts):
            who = np.repeat(self._names, counts)
            yield pa.table({"who": who, "at": np.full(len(who), pane * STEP + 1)})

    def accuracy(self, answer: Answer) -> tuple[float, float]:
        """Precision@k and nDCG@k of an answer."""
        last = answer.window.end // STEP
        counts = self._counts[max(0, last - _PANES) : last].sum(axis=0)
        here = np.flatnonzero(counts)
        values = self.remote.at(self._names[here], answer.window.end)
        scores = TRUE_SCORES[self.point.score](counts[here], values)
        order = self._names[here][np.argsort(-scores, kind="stable")]
        place = {int(key): at for at, key in enumerate(order.tolist())}
        ranks = np.array([place[int(str(key))] for key in answer.keys])
        k = self.point.query.k
        return float(precision(ranks, len(order), k)), float(ndcg(ranks, len(order), k))


TRUE_SCORES = {
    "n * remote": lambda n, remote: n * remote,
    "n + remote": lambda n, remote: n + remote,
}


def _changing(rng: np.random.Generator, names: IntArray, windows: int) -> Steps:
    """Each key has a level of its own, about which its values are drawn at times of its own."""
    size = len(names)
    level = rng.normal(3.0, 1.0, size)
    per_step = np.exp(rng.normal(-3.0, 1.5, size)).clip(0.001, 2.0)
    often = 1 + rng.poisson(per_step * (windows + _PANES))
    key = np.repeat(np.arange(size), often)
    times = rng.integers(0, (windows + _PANES) * STEP, len(key))
    times[np.cumsum(often) - often] = 0
    values: FloatArray = np.exp(rng.normal(level[key], 0.8))
    return Steps.of(times, names[key], values)


def answers_of(world: World, shards: int, purse: Purse) -> list[Answer]:
    """What is shown, window by window."""
    monitor = ShardedMonitor(
        world.point.query, shards, source=Replay(world.remote), joint=purse == "joint"
    )
    found: list[Answer] = []
    for pane, batch in enumerate(world.batches()):
        monitor.ingest(batch)
        found += monitor.close_until(pane * STEP + 1)
    return found


def shard_rows(
    points: list[ShardPoint], shards: tuple[int, ...], seeds: range
) -> Iterator[dict[str, Any]]:
    """A row for each point, purse and number of shards: means over the seeds."""
    for point in points:
        worlds = [World(point, seed) for seed in seeds]
        one: dict[str, float] | None = None
        for purse, count in _cases(shards):
            found = _means([_mean(world, count, purse) for world in worlds])
            one = one or found
            yield {
                "case": "shards",
                "keys": point.keys,
                "shards": count,
                "purse": purse,
                "budget": point.budget,
                "aim": point.aim,
                "score": point.score,
                **found,
                "ratio_to_one": found["precision"] / one["precision"],
                "ndcg_ratio_to_one": found["ndcg"] / one["ndcg"],
            }


def _cases(shards: tuple[int, ...]) -> Iterator[tuple[Purse, int]]:
    yield "joint", 1
    for count in shards:
        yield "even", count
        yield "joint", count


def _mean(world: World, shards: int, purse: Purse) -> dict[str, float]:
    answers = answers_of(world, shards, purse)[world.point.warm_up :]
    right = np.array([world.accuracy(answer) for answer in answers]).mean(axis=0)
    spent = [answer.freshness.fetched for answer in answers if answer.freshness is not None]
    said = [answer.freshness.precision for answer in answers if answer.freshness is not None]
    return {
        "precision": float(right[0]),
        "ndcg": float(right[1]),
        "said_precision": statistics.fmean(said),
        "fetched": statistics.fmean(spent),
        "most_fetched": float(max(spent)),
    }


def _means(rows: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.fmean(row[name] for row in rows) for name in rows[0]}


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure: which points, with how many shards, over how many seeds."""

    points: tuple[ShardPoint, ...]
    shards: tuple[int, ...]
    seeds: int


_AIMS: tuple[tuple[Aim, str], ...] = (("accuracy", "n * remote"), ("relevance", "n + remote"))
FULL = Effort(
    tuple(
        ShardPoint(keys, budget, aim, score)
        for keys, budget in ((500, 20), (2_000, 64))
        for aim, score in _AIMS
    ),
    (4, 16),
    seeds=6,
)
QUICK = Effort((ShardPoint(), ShardPoint(aim="relevance")), (16,), seeds=2)


def bench_shards(effort: Effort, seed: int = 100, *, quiet: bool = False) -> dict[str, Any]:
    """Measure all points.

    Parameters
    ----------
    effort
        How much to measure.
    seed
        The first of the seeds.
    quiet
        Whether to show no progress.
    """
    rows: list[Measured] = []
    with ticking(len(effort.points), quiet=quiet) as ticker:
        for point in effort.points:
            ticker.step(f"{point.score}, {point.aim}, budget {point.budget}")
            rows += shard_rows([point], effort.shards, range(seed, seed + effort.seeds))
    targets = [asdict(target) for target in check_targets(rows)]
    return {"bench": "shards", "seed": seed, "rows": rows, "targets": targets}


def check_targets(rows: list[Measured]) -> list[Target]:
    """How precise shards with one purse must be, and that none overspends."""
    joint = [row for row in rows if row["purse"] == "joint" and row["shards"] > 1]
    ratios = [(row["ratio_to_one"], _where(row)) for row in joint]
    over = [(row["most_fetched"] - row["budget"], _where(row)) for row in rows]
    missed = [f"{at}: {ratio:.3f}" for ratio, at in ratios if ratio < _LEAST_RATIO]
    worst = min(ratios, default=None)
    spent = max(over, default=None)
    told = f"precision with one purse >= {_LEAST_RATIO} of that of one shard"
    return [
        _judged(told, worst, len(joint), missed),
        _judged(
            "no window costs more than its budget",
            spent,
            len(over),
            [f"{at}: {more:g} more" for more, at in over if more > 0],
        ),
    ]


def _judged(told: str, worst: tuple[float, str] | None, points: int, missed: list[str]) -> Target:
    if worst is None:
        return Target(told, None, 0)
    return Target(told, not missed, points, *worst, missed)


def _where(row: Measured) -> str:
    return f"{row['score']}, {row['aim']}, budget {row['budget']}, {row['shards']} shards"


def show(report: dict[str, Any], console: Console) -> None:
    """Print all but the targets."""
    table = Table(
        title="means over seeds; each next to one shard with the same budget",
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
    )
    names = ("score", "aim", "budget", "purse", "shards")
    numbers = ("precision", "ratio_to_one", "ndcg", "ndcg_ratio_to_one", "fetched")
    for name in (*names, *numbers):
        table.add_column(name.replace("_", " "), justify="left" if name in names else "right")
    for row in report["rows"]:
        table.add_row(*(str(row[name]) for name in names), *(f"{row[n]:.3f}" for n in numbers))
    console.print(table)
