"""How right answers are with one purse for two services, next to what costs as much without it.

All contenders meet the same streams and the same values, and may spend the same. Those that have a
setting have the best one that there is, found in hindsight: the share that each service gets of
the budget, and how long entries of a cache live.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from topwater.replica.utility import Aim
from topwater_lab.bench.harness import ticking
from topwater_lab.bench.wallet_rivals import (
    Fare,
    by_copies,
    by_ranked_key,
    by_split,
    by_ttl,
    by_worth,
    ttls_within,
)
from topwater_lab.bench.wallet_targets import check_targets
from topwater_lab.bench.wallet_worlds import CASES, REPORTING_SEEDS, Case, World

OURS = "worth"


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure.

    Attributes
    ----------
    cases
        Which worlds.
    seeds
        How many of each.
    windows, warm_up
        How many windows are answered, and how many of them do not count.
    shares
        Of the first service, for fixed splits.
    """

    cases: tuple[Case, ...]
    seeds: int
    windows: int
    warm_up: int
    shares: tuple[float, ...]


_FEW = ("equal", "costs 1:5", "rates 5:1 by turns", "filter, costs 1:5", "shared, costs 1:5")
FULL = Effort(CASES, 4, 120, 40, (0.1, 0.3, 0.5, 0.7, 0.9))
QUICK = Effort(tuple(case for case in CASES if case.name in _FEW), 1, 56, 26, (0.3, 0.5, 0.7))


def bench_wallet(
    effort: Effort, seed: int = REPORTING_SEEDS[0], aim: Aim = "accuracy", *, quiet: bool = False
) -> dict[str, Any]:
    """Measure all worlds.

    Parameters
    ----------
    effort
        How much to measure.
    seed
        The first of the seeds.
    aim
        What look-ups are to save.
    quiet
        Whether to show no progress.
    """
    rows: list[dict[str, Any]] = []
    with ticking(len(effort.cases), quiet=quiet) as ticker:
        for case in effort.cases:
            ticker.step(case.name)
            worlds = [World(case, seed + each, effort.windows) for each in range(effort.seeds)]
            rows += case_rows(worlds, effort, aim)
    targets = [asdict(target) for target in check_targets(rows)]
    return {"bench": "wallet", "seed": seed, "aim": aim, "rows": rows, "targets": targets}


def case_rows(worlds: Sequence[World], effort: Effort, aim: Aim) -> Iterator[dict[str, Any]]:
    """A row for each contender in the worlds of one case: means over them."""
    warm_up, case = effort.warm_up, worlds[0].case
    plain: dict[str, Callable[[World, Aim, int], Fare]] = {OURS: by_worth}
    if case.kind == "shared":
        plain |= {"ranked key alone": by_ranked_key, "a copy for each key": by_copies}
    found = {
        name: [spend(world, aim, warm_up) for world in worlds] for name, spend in plain.items()
    }
    ours = found[OURS]
    for name, fares in found.items():
        yield _row(case, name, "", fares, ours)
    splits = {
        share: [by_split(world, aim, warm_up, share) for world in worlds] for share in effort.shares
    }
    best = max(splits, key=lambda share: statistics.fmean(f.precision for f in splits[share]))
    yield _row(case, "fixed split", f"{best:.0%}", splits[best], ours)
    caches = [_best_cache(world, warm_up) for world in worlds]
    lives = ", ".join(f"{first}/{second}" for (first, second), _ in caches)
    yield _row(case, "TTL caches", lives, [fare for _, fare in caches], ours)


def _best_cache(world: World, warm_up: int) -> tuple[tuple[int, int], Fare]:
    """The TTLs that are best for one world, of those that cost no more than the budget."""
    tried = {ttls: by_ttl(world, warm_up, ttls) for ttls in ttls_within(world, warm_up)}
    best = max(tried, key=lambda ttls: tried[ttls].precision)
    return best, tried[best]


def _row(
    case: Case, contender: str, setting: str, fares: Sequence[Fare], ours: Sequence[Fare]
) -> dict[str, Any]:
    """Means over the seeds, and by how much ours is ahead: the same seeds, side by side."""
    ahead = [mine.precision - fare.precision for mine, fare in zip(ours, fares, strict=True)]
    error = statistics.stdev(ahead) / len(ahead) ** 0.5 if len(ahead) > 1 else None
    means = Fare(*(statistics.fmean(each) for each in zip(*fares, strict=True)))
    return {
        "case": case.name,
        "kind": case.kind,
        "differs": case.differs,
        "contender": contender,
        "setting": setting,
        "precision": means.precision,
        "ahead": statistics.fmean(ahead),
        "ahead_error": error,
        "ndcg": means.ndcg,
        "said_precision": None if contender == "TTL caches" else means.said,
        "cost": means.cost,
        "most_cost": max(fare.most for fare in fares),
        "budget": case.budget,
    }


def show(report: dict[str, Any], console: Console) -> None:
    """Print all but the targets."""
    table = Table(
        title=f"means over seeds, aim {report['aim']}; sweeps at their best in hindsight",
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
    )
    texts, numbers = ("case", "contender", "setting"), ("precision", "ndcg", "cost", "budget")
    for name in (*texts, *numbers, "we are ahead by"):
        table.add_column(name, justify="left" if name in texts else "right")
    for row in report["rows"]:
        figures = [f"{row[n]:.3f}" for n in numbers]
        table.add_row(*(row[name] for name in texts), *figures, _with_scatter(row))
    console.print(table)


def _with_scatter(row: dict[str, Any]) -> str:
    """By how much ours is ahead of another, with the standard error of that."""
    if row["contender"] == OURS:
        return ""
    error = row["ahead_error"]
    return f"{row['ahead']:+.3f}" + ("" if error is None else f" ± {error:.3f}")
