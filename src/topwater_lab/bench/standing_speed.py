"""How fast thousands of standing queries are, by each algorithm, and how much they keep.

The yardstick is one pass that only computes the squared distances of the same objects and queries,
and there are two: a compiled loop, and the fastest that NumPy has. Everything is measured in the
steady state, after the windows are full, in the default scenario of the paper on the skyband
family (its Table IX). Who is too slow is measured on fewer objects, and if even the first window
would take too long, with fewer queries. The ratio is per object and query; yet with fewer queries
what all of them share weighs more, so that such rows are not compared with others.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from topwater.errors import TopwaterError
from topwater_lab.bench.harness import Ticker, ticking
from topwater_lab.bench.standing_data import Sample, score_pass
from topwater_lab.bench.standing_runs import (
    Contender,
    Effort,
    Point,
    ResultStream,
    TooSlow,
    contenders,
    differences,
    run,
    run_in_time,
    stream_at,
)
from topwater_lab.bench.standing_targets import check_targets

_KS = (1, 3, 9, 27, 81)
_GRID = [
    Point(data, d, k)
    for data in ("uniform", "clustered", "correlated")
    for d in (2, 4)
    for k in _KS
]
FULL = Effort(
    (*_GRID, Point("tight", 2, 9), Point("tight", 4, 9)),
    1_000_000,
    6.0,
    3.0,
    40,
    (100, 400, 1_000, 4_000, 10_000),
)
QUICK = Effort(
    (
        Point("uniform", 2, 9),
        Point("clustered", 4, 27),
        Point("correlated", 2, 9),
    ),
    40_000,
    0.3,
    0.1,
    20,
    (100, 1_000),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One contender at one point; ``skipped`` says why there are no numbers.

    Attributes
    ----------
    seconds
        Of CPU time, for ``objects_measured`` objects after the windows were full.
    ratio_to_scores, ratio_to_numpy
        To a pass that only computes the scores of the same objects and queries, without roots:
        by a compiled loop, and by a product of matrices in NumPy.
    references, objects
        How many objects a query refers to; how many different ones are kept, per query. The
        latter is not told where there were fewer queries, as queries share objects.
    indexed
        Whether queries look only into cells that they can want; ``"auto"`` where it is faster.
    results
        How many objects were reported.
    exact
        Whether the result stream equals that of another exact algorithm of the same run.
    missed, wrong
        Results per query that are in the other's stream only, and in this one only.
    load
        Of the machine, after the measurement.
    """

    algorithm: str
    data: str
    k: int
    d: int
    queries: int
    indexed: bool | str
    buffer: int | None
    seconds: float | None = None
    wall_seconds: float | None = None
    objects_measured: int | None = None
    ns_per_score: float | None = None
    ratio_to_scores: float | None = None
    ratio_to_numpy: float | None = None
    references: float | None = None
    objects: float | None = None
    results: int | None = None
    exact: bool | None = None
    missed: float | None = None
    wrong: float | None = None
    load: float | None = None
    skipped: str | None = None


def bench_standing(effort: Effort, *, seed: int = 7, quiet: bool = True) -> dict[str, Any]:
    """Measure all algorithms over a grid, and the growth with the number of queries.

    Returns
    -------
    dict
        ``bench``, ``rows``, ``growth`` and ``targets``, as they go into JSON.
    """
    chosen = contenders(effort)
    total = len(effort.grid) * len(chosen) + len(effort.growth) * len(_growing(effort)) + 1
    with ticking(total, quiet=quiet) as ticker:
        ticker.step("compiling")
        warm_up(effort)
        rows = [row for point in effort.grid for row in _at(point, effort, chosen, seed, ticker)]
        growth = list(_growth(effort, seed, ticker))
    told, grown = ([asdict(row) for row in these] for these in (rows, growth))
    return {
        "bench": "standing",
        "window": effort.window,
        "rows": told,
        "growth": grown,
        "targets": [asdict(target) for target in check_targets(told, grown)],
    }


def warm_up(effort: Effort) -> None:
    """Compile all that is compiled on first use."""
    small = replace(effort, window=200, buffer=50, objects=600, fill_seconds=60)
    for point in (Point("uniform", 2, 2, 5), Point("uniform", 4, 2, 5)):
        stream = stream_at(point, small, 0)
        score_pass(stream, 0, 100, 5)
        for contender in contenders(small):
            with contextlib.suppress(TopwaterError):  # The row will say so.
                run(contender, point, stream, small)


def _at(
    point: Point, effort: Effort, chosen: list[Contender], seed: int, ticker: Ticker
) -> Iterator[Row]:
    """All contenders at one point. The first is judged by the others, so it comes at last."""
    stream = stream_at(point, effort, seed)
    rows: list[tuple[Row, Contender]] = []
    truth: ResultStream | None = None
    for contender in chosen:
        ticker.step(_where(contender, point))
        row, told = measured(contender, point, stream, effort)
        if truth is None:
            truth = told
        elif told is not None:
            row = _judged(row, told, truth)
        rows.append((row, contender))
    (first, _), others = rows[0], rows[1:]
    equal = [row.exact for row, contender in others if contender.exact and row.exact is not None]
    yield replace(first, exact=any(equal) if equal and first.seconds is not None else None)
    yield from (row for row, _ in others)


def _where(contender: Contender, point: Point) -> str:
    index = f" indexed {contender.indexed}" if contender.indexed else ""
    return f"{point.data} d {point.d} k {point.k} {contender.algorithm}{index}"


def measured(
    contender: Contender, point: Point, stream: Sample, effort: Effort
) -> tuple[Row, ResultStream | None]:
    """One contender at one point: its row, not yet compared, and its result stream."""
    row = Row(
        contender.algorithm,
        point.data,
        point.k,
        point.d,
        point.queries,
        contender.indexed,
        contender.buffer,
    )
    try:
        found, queries = run_in_time(contender, point, stream, effort)
    except (TooSlow, TopwaterError) as reason:
        return replace(row, skipped=str(reason).splitlines()[0]), None
    numbers = replace(
        row,
        queries=queries,
        seconds=found.spent.cpu,
        wall_seconds=found.spent.wall,
        objects_measured=found.objects,
        ns_per_score=found.spent.cpu / (found.objects * queries) * 1e9,
        ratio_to_scores=found.spent.cpu / found.score_seconds,
        ratio_to_numpy=found.spent.cpu / found.numpy_seconds,
        references=found.references / queries,
        objects=found.stored / queries if queries == point.queries else None,
        results=len(found.told.at),
        load=os.getloadavg()[0],
    )
    return numbers, found.told


def _judged(row: Row, told: ResultStream, truth: ResultStream) -> Row:
    """Compare two result streams as far as both go."""
    last, queries = min(told.last, truth.last), min(told.queries, truth.queries)
    ours, theirs = told.upto(last, queries), truth.upto(last, queries)
    same = all(
        np.array_equal(getattr(ours, name), getattr(theirs, name))
        for name in ("query", "position", "at")
    )
    if same:
        return replace(row, exact=True, missed=0.0, wrong=0.0)
    missed, wrong = differences(ours, theirs)
    return replace(row, exact=False, missed=missed / queries, wrong=wrong / queries)


def _growth(effort: Effort, seed: int, ticker: Ticker) -> Iterator[Row]:
    """The two fastest with ever more queries, not indexed, k 9 in the plane."""
    for queries in effort.growth:
        point = Point("uniform", 2, 9, queries)
        stream = stream_at(point, effort, seed)
        for contender in _growing(effort):
            ticker.step(f"{contender.algorithm} with {queries:,} queries")
            allowed = replace(effort, fill_seconds=np.inf)
            yield measured(contender, point, stream, allowed)[0]


def _growing(effort: Effort) -> list[Contender]:
    both = (Contender("pa"), Contender("rapf", (effort.window + 1) // 2))
    wanted = effort.algorithms or ("pa", "rapf")
    return [contender for contender in both if contender.algorithm in wanted]
