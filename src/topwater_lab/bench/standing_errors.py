"""How often the probabilistic skyband errs, next to its bound, and where the bound does not hold.

In a stream of random order, ``pa`` misses at most ``sigma · N / n`` results per query among N
objects and windows of n, and reports at most 1.5 times as many wrong ones (Lemma 4.6 of the paper
on the skyband family). Here both are counted against an exact algorithm over many streams. The
windows are full before the N objects come, and only results among those N are counted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from topwater.model import FloatArray
from topwater.standing.algorithms import algorithms
from topwater_lab.bench.core_targets import Target
from topwater_lab.bench.harness import Ticker, ticking
from topwater_lab.bench.standing_data import RANDOM_ORDER, Sample, sample
from topwater_lab.bench.standing_runs import Contender, ResultStream, differences, joined_results

SIGMA = 1e-3
_BATCH = 100_000
_WRONG = 1.5
_TRUTH = "rapf"


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of stream, and how many of them."""

    data: str
    k: int
    runs: int
    d: int = 2
    window: int = 40_000
    objects: int = 1_000_000
    queries: int = 400

    @property
    def bound(self) -> float:
        """How many results per query may be missed."""
        return SIGMA * self.objects / self.window


@dataclass(frozen=True, slots=True)
class Row:
    """The errors of one algorithm in one case, as means per query over the runs.

    Attributes
    ----------
    missed, missed_error, missed_bound
        Results that are in the exact stream only; the standard error of the mean over runs; the
        most that may be expected.
    wrong, wrong_error, wrong_bound
        The same for those that are in this stream only.
    worst
        The most that one run missed, per query.
    results
        In the exact stream, per query.
    kept
        Whether both means are within their bounds.
    """

    algorithm: str
    data: str
    k: int
    d: int
    window: int
    objects: int
    queries: int
    runs: int
    missed: float
    missed_error: float
    missed_bound: float
    wrong: float
    wrong_error: float
    wrong_bound: float
    worst: float
    results: float
    kept: bool
    load: float


def full(runs: int = 200) -> list[Case]:
    """The default scenario ``runs`` times, others a tenth as often; a few in other orders."""
    fewer = max(2, runs // 10)
    return [
        Case("uniform", 9, runs),
        *(Case("uniform", k, fewer) for k in (1, 3, 27, 81)),
        Case("clustered", 9, fewer),
        *_ordered(max(2, runs // 40), 4_000),
    ]


def quick() -> list[Case]:
    """The same with few and short streams."""
    random = [Case("uniform", k, 3, objects=200_000) for k in (1, 9, 81)]
    return [*random, *_ordered(2, 1_000)]


def _ordered(runs: int, window: int) -> Iterator[Case]:
    """Streams not in random order, smaller: in some of them every object becomes a result."""
    for data in ("correlated", "falling", "wave"):
        yield Case(data, 9, runs, window=window, objects=25 * window, queries=40)


def candidates() -> list[str]:
    """The algorithm that may err, and the one that takes its place where it would."""
    return [name for name in ("pa", "auto") if name in algorithms]


def bench_errors(cases: Iterable[Case], *, seed: int = 7, quiet: bool = True) -> dict[str, Any]:
    """Count the errors in all cases.

    Returns
    -------
    dict
        ``bench``, ``sigma``, ``rows`` and ``targets``, as they go into JSON.
    """
    chosen = list(cases)
    with ticking(sum(case.runs for case in chosen), quiet=quiet) as ticker:
        rows = [row for case in chosen for row in count_errors(case, seed, ticker)]
    told = [asdict(row) for row in rows]
    return {
        "bench": "standing errors",
        "sigma": SIGMA,
        "rows": told,
        "targets": [asdict(target) for target in _targets(rows)],
    }


def count_errors(case: Case, seed: int = 7, ticker: Ticker | None = None) -> list[Row]:
    """Run a case; a row for each algorithm."""
    names = candidates()
    counted = np.zeros((case.runs, len(names), 2))
    results = np.zeros(case.runs)
    for at in range(case.runs):
        if ticker is not None:
            ticker.step(f"{case.data} k {case.k}, run {at + 1}")
        counted[at], results[at] = one_run(case, names, seed + 1_000 * at)
    return [_row(case, name, counted[:, at], results) for at, name in enumerate(names)]


def one_run(case: Case, names: list[str], seed: int) -> tuple[FloatArray, float]:
    """Missed and wrong results per query of each algorithm; results per query of the exact one."""
    total = case.window + case.objects
    stream = sample(case.data, case.d, total, case.queries, case.window, seed)
    truth = _results(Contender(_TRUTH), case, stream)
    counted = [differences(_results(Contender(name), case, stream), truth) for name in names]
    return np.array(counted) / case.queries, len(truth.at) / case.queries


def _results(contender: Contender, case: Case, stream: Sample) -> ResultStream:
    """What is reported of the objects that come after the windows are full."""
    held = contender.standing(stream.columns)
    for query in stream.queries(case.queries, case.k, case.window):
        held.register(query)
    total = case.window + case.objects
    parts = [
        held.add(stream.part(first, min(first + _BATCH, total)))
        for first in range(0, total, _BATCH)
    ]
    told = joined_results(parts, total, case.queries)
    late = told.position > case.window
    return ResultStream(told.query[late], told.position[late], told.at[late], total, case.queries)


def _row(case: Case, name: str, counted: FloatArray, results: FloatArray) -> Row:
    missed, wrong = counted.mean(axis=0).tolist()
    errors = counted.std(axis=0, ddof=1) / np.sqrt(case.runs) if case.runs > 1 else np.zeros(2)
    return Row(
        name,
        case.data,
        case.k,
        case.d,
        case.window,
        case.objects,
        case.queries,
        case.runs,
        missed,
        float(errors[0]),
        case.bound,
        wrong,
        float(errors[1]),
        _WRONG * case.bound,
        float(counted[:, 0].max()),
        float(results.mean()),
        missed <= case.bound and wrong <= _WRONG * case.bound,
        os.getloadavg()[0],
    )


def _targets(rows: list[Row]) -> list[Target]:
    random = [row for row in rows if row.algorithm == "pa" and row.data in RANDOM_ORDER]
    others = [row for row in rows if row.algorithm == "pa" and row.data not in RANDOM_ORDER]
    auto = [row for row in rows if row.algorithm == "auto"]
    return [
        _kept("pa keeps its bound in random order", random),
        replace(
            _kept("pa breaks its bound in other orders", others),
            reached=not any(row.kept for row in others) if others else None,
            missed=[_where(row) for row in others if row.kept],
        ),
        _kept("auto keeps the bound in every order", auto),
    ]


def _kept(target: str, rows: list[Row]) -> Target:
    """The worst is what was missed, as a multiple of the bound."""
    if not rows:
        return Target(target, None, 0)
    worst = max(rows, key=lambda row: row.missed / row.missed_bound)
    missed = [
        f"{_where(row)}: missed {row.missed:.3g}, wrong {row.wrong:.3g}"
        for row in rows
        if not row.kept
    ]
    times = worst.missed / worst.missed_bound
    return Target(target, not missed, len(rows), times, _where(worst), missed)


def _where(row: Row) -> str:
    return f"{row.data} k {row.k}"
