"""How fast thousands of standing queries are, by each algorithm, and how much they keep.

The yardstick is one compiled pass that only computes the squared distances of the same objects
and queries: no query that is not indexed can be answered with less. Everything is measured in the
steady state, after the windows are full, in the default scenario of the paper on the skyband
family (its Table IX). Who is too slow is measured on fewer objects, and if even the first window
would take too long, with fewer queries: the ratio is per object and query.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from topwater.errors import TopwaterError
from topwater.evaluate.bench_standing_data import Sample, numpy_pass, sample, score_pass
from topwater.evaluate.bench_standing_targets import check_targets
from topwater.evaluate.benching import Spent, Ticker, ticking, timed
from topwater.model import IntArray
from topwater.standing import Results, Standing
from topwater.standing.standing import Settings, algorithms

WINDOW = 40_000
BUFFER = 2_000
RIVALS = ("cpm/w", "snn")
APPROXIMATE = ("pa",)
_FIRST = 500
_MOST = 100_000
_LEAST = 1_000
_SURE = 4_000


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """Where all algorithms are measured."""

    data: str
    d: int
    k: int
    queries: int = 400


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to spend; the seconds are of CPU time, per algorithm and point.

    Attributes
    ----------
    objects
        How many objects come after the windows are full, unless the time is over before.
    fill_seconds, steady_seconds
        For the first windows, and for what comes after.
    fewer
        With how many queries to try again if the first windows take too long.
    growth
        The numbers of queries over which growth is measured.
    numpy_objects
        On how many objects the pass in NumPy is measured, once per point.
    """

    grid: tuple[Point, ...]
    objects: int
    fill_seconds: float
    steady_seconds: float
    fewer: int
    growth: tuple[int, ...]
    numpy_objects: int
    window: int = WINDOW
    buffer: int = BUFFER


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
    10.0,
    5.0,
    40,
    (100, 400, 1_000, 4_000, 10_000),
    100_000,
)
QUICK = Effort(
    (
        Point("uniform", 2, 9),
        Point("uniform", 2, 81),
        Point("clustered", 4, 9),
        Point("correlated", 2, 9),
    ),
    60_000,
    0.4,
    0.2,
    40,
    (100, 1_000),
    20_000,
)


@dataclass(frozen=True, slots=True)
class Contender:
    """An algorithm with its settings; ``buffer`` in objects, None where there is none."""

    algorithm: str
    buffer: int | None = None
    indexed: bool = False

    @property
    def exact(self) -> bool:
        """Must its result stream equal that of every other such one?"""
        return self.algorithm not in APPROXIMATE

    def standing(self, columns: list[str]) -> Standing:
        """With no queries yet."""
        options: dict[str, Any] = {"algorithm": self.algorithm, "buffer": self.buffer}
        if _INDEXES and self.algorithm not in RIVALS:
            options["indexed"] = self.indexed
        return Standing(columns, **options)


_INDEXES = any(field.name == "indexed" for field in fields(Settings))


def contenders(effort: Effort) -> list[Contender]:
    """All algorithms, with the buffers and with and without the index, where they have them.

    The first one is what the others are compared with.
    """
    largest = (effort.window + 1) // 2
    made = []
    for name in algorithms:
        filtered = name.endswith("f")
        buffers = (effort.buffer, largest) if name.endswith("pf") else (effort.buffer,)
        for buffer in buffers if filtered else (None,):
            if name in RIVALS:
                made.append(Contender(name, indexed=True))
            else:
                made.append(Contender(name, buffer))
                if _INDEXES:
                    made.append(Contender(name, buffer, indexed=True))
    first = Contender("rapf", largest)
    return [first, *(one for one in made if one != first)]


@dataclass(frozen=True, slots=True)
class Row:
    """One contender at one point; ``skipped`` says why there are no numbers.

    Attributes
    ----------
    seconds
        Of CPU time, for ``objects_measured`` objects after the windows were full.
    ratio_to_scores, ratio_to_numpy
        To a pass that only computes the scores of the same objects and queries, compiled and
        without roots; to one in NumPy with them.
    references, objects
        How many objects a query refers to; how many different ones are kept, per query. The
        latter is not told where there were fewer queries, as queries share objects.
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
    indexed: bool
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


class TooSlow(Exception):
    """The first windows would take longer than allowed."""


@dataclass(frozen=True, slots=True)
class Told:
    """A result stream in the order of its steps, and the last position it knows of."""

    query: IntArray
    position: IntArray
    at: IntArray
    last: int
    queries: int

    def upto(self, last: int, queries: int) -> Told:
        """The part of the first queries, up to a position."""
        chosen = (self.at <= last) & (self.query < queries)
        parts = (self.query[chosen], self.position[chosen], self.at[chosen])
        return Told(*parts, last, queries)

    def pairs(self) -> IntArray:
        """Each object and query as one number."""
        return self.position * 2**20 + self.query


@dataclass(frozen=True, slots=True)
class Run:
    """What was measured of one contender."""

    spent: Spent
    scores: Spent
    objects: int
    told: Told
    references: float
    stored: float


def bench_standing(effort: Effort, *, seed: int = 7, quiet: bool = True) -> dict[str, Any]:
    """Measure all algorithms over a grid, and the growth with the number of queries.

    Returns
    -------
    dict
        ``bench``, ``rows``, ``growth`` and ``targets``, as they go into JSON.
    """
    chosen = contenders(effort)
    total = len(effort.grid) * len(chosen) + 2 * len(effort.growth) + 1
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
        stream = _stream(point, small, 0)
        score_pass(stream, 0, 100, 5)
        for contender in contenders(small):
            with contextlib.suppress(TopwaterError):  # The row will say so.
                run(contender, point, stream, small)


def _stream(point: Point, effort: Effort, seed: int) -> Sample:
    objects = filled(effort) + effort.objects
    return sample(point.data, point.d, objects, point.queries, effort.window, seed)


def filled(effort: Effort) -> int:
    """With how many objects all windows and buffers are full."""
    return effort.window + effort.buffer


def _at(
    point: Point, effort: Effort, chosen: list[Contender], seed: int, ticker: Ticker
) -> Iterator[Row]:
    """All contenders at one point. The first is judged by the others, so it comes at last."""
    stream = _stream(point, effort, seed)
    numpy_ns = _numpy_ns(point, stream, effort)
    rows: list[tuple[Row, Contender]] = []
    truth: Told | None = None
    for contender in chosen:
        ticker.step(_where(contender, point))
        row, told = _measured(contender, point, stream, effort, numpy_ns)
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
    index = " indexed" if contender.indexed else ""
    return f"{point.data} d {point.d} k {point.k} {contender.algorithm}{index}"


def _measured(
    contender: Contender, point: Point, stream: Sample, effort: Effort, numpy_ns: float
) -> tuple[Row, Told | None]:
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
        found, queries = _run_in_time(contender, point, stream, effort)
    except (TooSlow, TopwaterError) as reason:
        return replace(row, skipped=str(reason).splitlines()[0]), None
    scores = found.objects * queries
    ns = found.spent.cpu / scores * 1e9
    measured = replace(
        row,
        queries=queries,
        seconds=found.spent.cpu,
        wall_seconds=found.spent.wall,
        objects_measured=found.objects,
        ns_per_score=ns,
        ratio_to_scores=found.spent.cpu / found.scores.cpu,
        ratio_to_numpy=ns / numpy_ns,
        references=found.references / queries,
        objects=found.stored / queries if queries == point.queries else None,
        results=len(found.told.at),
        load=os.getloadavg()[0],
    )
    return measured, found.told


def _run_in_time(
    contender: Contender, point: Point, stream: Sample, effort: Effort
) -> tuple[Run, int]:
    """A run with all queries, or with fewer if that takes too long; with how many it was."""
    try:
        return run(contender, point, stream, effort), point.queries
    except TooSlow:
        if effort.fewer >= point.queries:
            raise
        fewer = replace(point, queries=effort.fewer)
        return run(contender, fewer, stream, effort), effort.fewer


def run(contender: Contender, point: Point, stream: Sample, effort: Effort) -> Run:
    """Fill the windows, and then measure; each batch of objects next to a pass of its scores."""
    held = contender.standing(stream.columns)
    for query in stream.queries(point.queries, point.k, effort.window):
        held.register(query)
    start = filled(effort)
    per_object = _fill(held, stream, start, effort.fill_seconds)
    batch = int(effort.steady_seconds / 4 / per_object)
    batch = min(effort.objects, max(_LEAST, min(batch, _MOST)))
    spent, scores, done = Spent(), Spent(), 0
    results: list[Results] = []
    kept: list[tuple[int, int]] = []
    while done < effort.objects and spent.cpu < effort.steady_seconds:
        first = start + done
        last = min(first + batch, start + effort.objects)
        found, took = timed(partial(held.add, stream.part(first, last)))
        _, least = timed(partial(score_pass, stream, first, last, point.queries))
        spent, scores, done = spent + took, scores + least, last - start
        results.append(found)
        kept.append((held.references, held.objects))
    references, stored = np.mean(kept, axis=0).tolist()
    return Run(
        spent, scores, done, told_by(results, start + done, point.queries), references, stored
    )


def told_by(results: list[Results], last: int, queries: int) -> Told:
    """The result stream of several batches as one; the queries' names are their numbers."""
    query, position, at = (
        np.concatenate([getattr(part, name) for part in results])
        for name in ("query", "position", "at")
    )
    return Told(query.astype(np.int64), position, at, last, queries)


def _fill(held: Standing, stream: Sample, upto: int, seconds: float) -> float:
    """Bring the first objects; seconds per object at the end.

    A query's candidates grow in number until the window is full, so that what the first objects
    took tells what all of them will take at least.
    """
    fed, size, spent, per_object = 0, _FIRST, 0.0, 0.0
    while fed < upto:
        last = min(fed + size, upto)
        _, took = timed(partial(held.add, stream.part(fed, last)))
        per_object = took.cpu / (last - fed)
        spent, fed, size = spent + took.cpu, last, min(2 * size, 8_000)
        if fed >= _SURE and (expected := spent / fed * upto) > seconds:
            raise TooSlow(f"the first windows would take {expected:.1f} s or more")
    return max(per_object, 1e-9)


def _numpy_ns(point: Point, stream: Sample, effort: Effort) -> float:
    """Nanoseconds per score of a pass in NumPy."""
    last = min(stream.objects.shape[1], effort.numpy_objects)
    _, spent = timed(partial(numpy_pass, stream, 0, last, point.queries))
    nanoseconds: float = spent.cpu / (last * point.queries) * 1e9
    return nanoseconds


def _judged(row: Row, told: Told, truth: Told) -> Row:
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


def differences(ours: Told, theirs: Told) -> tuple[int, int]:
    """How many results only they have, and only we."""
    mine, other = np.unique(ours.pairs()), np.unique(theirs.pairs())
    missed = np.setdiff1d(other, mine, assume_unique=True)
    wrong = np.setdiff1d(mine, other, assume_unique=True)
    return len(missed), len(wrong)


def _growth(effort: Effort, seed: int, ticker: Ticker) -> Iterator[Row]:
    """The two fastest with ever more queries, not indexed, k 9 in the plane."""
    largest = (effort.window + 1) // 2
    for queries in effort.growth:
        point = Point("uniform", 2, 9, queries)
        stream = _stream(point, effort, seed)
        numpy_ns = _numpy_ns(replace(point, queries=min(effort.growth)), stream, effort)
        for contender in (Contender("pa"), Contender("rapf", largest)):
            ticker.step(f"{contender.algorithm} with {queries:,} queries")
            allowed = replace(effort, fill_seconds=np.inf)
            yield _measured(contender, point, stream, allowed, numpy_ns)[0]
