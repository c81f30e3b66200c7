"""One algorithm of standing queries over one stream: fill the windows, then measure."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from topwater.errors import QueryError
from topwater.model import IntArray
from topwater.standing import Results, Standing
from topwater.standing.algorithms import Settings, algorithms
from topwater_lab.bench.harness import Spent, timed
from topwater_lab.bench.standing_data import Sample, numpy_pass, sample, score_pass
from topwater_lab.bench.standing_targets import APPROXIMATE
from topwater_lab.rivals import RIVALS

WINDOW = 40_000
BUFFER = 2_000
_FIRST = 500
_MOST = 100_000
_LEAST = 1_000
_SURE = 4_000
_SCORES = 4_000_000


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
    algorithms
        Which of them; all if empty. ``rapf`` with the largest buffer is always there, as the
        others are compared with it.
    """

    grid: tuple[Point, ...]
    objects: int
    fill_seconds: float
    steady_seconds: float
    fewer: int
    growth: tuple[int, ...]
    window: int = WINDOW
    buffer: int = BUFFER
    algorithms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Contender:
    """An algorithm with its settings; ``buffer`` in objects, None where there is none."""

    algorithm: str
    buffer: int | None = None
    indexed: bool | str = False

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
    for name in effort.algorithms or algorithms:
        filtered = name.endswith("f")
        buffers = (effort.buffer, largest) if name.endswith("pf") else (effort.buffer,)
        for buffer in buffers if filtered else (None,):
            if name in RIVALS:
                made.append(Contender(name, indexed=True))
            else:
                made += [Contender(name, buffer, indexed) for indexed in _indexing(name)]
    first = Contender("rapf", largest)
    return [first, *(one for one in made if one != first)]


def _indexing(name: str) -> tuple[bool | str, ...]:
    """Without the index, with it, and as it is by default for those that one would choose."""
    if not _INDEXES:
        return (False,)
    return (False, True, "auto") if name in ("pa", "rapf", "auto") else (False, True)


def part_of(
    effort: Effort, data: str = "", k: str = "", d: str = "", algorithms_: str = ""
) -> Effort:
    """The part of an effort that has these words, with commas between; all for an empty text.

    Growth is measured on uniform data in the plane with k 9, so only if these are in the part.

    Examples
    --------
    >>> many = Effort((Point("uniform", 2, 9), Point("uniform", 4, 9)), 1, 1.0, 1.0, 1, (5,))
    >>> part_of(many, d="4").grid
    (Point(data='uniform', d=4, k=9, queries=400),)
    >>> part_of(many, d="3")
    Traceback (most recent call last):
    topwater.errors.QueryError: d: '3' is unknown
      fix: choose from: 2, 4
    """
    grid = effort.grid
    for name, wanted in (("data", data), ("k", k), ("d", d)):
        known = dict.fromkeys(str(getattr(point, name)) for point in effort.grid)
        chosen = _words(wanted, list(known), name)
        grid = tuple(point for point in grid if str(getattr(point, name)) in chosen)
    named = tuple(_words(algorithms_, list(algorithms), "algorithms")) if algorithms_ else ()
    where = {(point.data, point.d, point.k) for point in grid}
    growth = effort.growth if ("uniform", 2, 9) in where else ()
    return replace(effort, grid=grid, growth=growth, algorithms=named)


def _words(text: str, known: list[str], field: str) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in known:
            fix = f"choose from: {', '.join(known)}"
            raise QueryError(f"{word!r} is unknown", field=field, fix=fix)
    return words or known


class TooSlow(Exception):
    """The first windows would take longer than allowed."""


@dataclass(frozen=True, slots=True)
class ResultStream:
    """A result stream in the order of its steps, and the last position it knows of."""

    query: IntArray
    position: IntArray
    at: IntArray
    last: int
    queries: int

    def upto(self, last: int, queries: int) -> ResultStream:
        """The part of the first queries, up to a position."""
        chosen = (self.at <= last) & (self.query < queries)
        parts = (self.query[chosen], self.position[chosen], self.at[chosen])
        return ResultStream(*parts, last, queries)

    def pairs(self) -> IntArray:
        """Each object and query as one number."""
        return self.position * 2**20 + self.query


@dataclass(frozen=True, slots=True)
class Run:
    """What was measured of one contender."""

    spent: Spent
    score_seconds: float
    numpy_seconds: float
    objects: int
    told: ResultStream
    references: float
    stored: float


def differences(ours: ResultStream, theirs: ResultStream) -> tuple[int, int]:
    """How many results only they have, and only we."""
    mine, other = np.unique(ours.pairs()), np.unique(theirs.pairs())
    missed = np.setdiff1d(other, mine, assume_unique=True)
    wrong = np.setdiff1d(mine, other, assume_unique=True)
    return len(missed), len(wrong)


def stream_at(point: Point, effort: Effort, seed: int) -> Sample:
    """The stream that all are measured on at a point."""
    objects = filled(effort) + effort.objects
    return sample(point.data, point.d, objects, point.queries, effort.window, seed)


def filled(effort: Effort) -> int:
    """With how many objects all windows and buffers are full."""
    return effort.window + effort.buffer


def run_in_time(
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
    """Fill the windows, and then measure; each batch of objects next to passes of its scores."""
    held = contender.standing(stream.columns)
    for query in stream.queries(point.queries, point.k, effort.window):
        held.register(query)
    start = filled(effort)
    per_object = _fill(held, stream, start, effort.fill_seconds)
    batch = int(effort.steady_seconds / 4 / per_object)
    batch = min(effort.objects, max(_LEAST, min(batch, _MOST)))
    spent, scores, done = Spent(), np.zeros(2), 0
    results: list[Results] = []
    kept: list[tuple[int, int]] = []
    while done < effort.objects and spent.cpu < effort.steady_seconds:
        first = start + done
        last = min(first + batch, start + effort.objects)
        found, took = timed(partial(held.add, stream.part(first, last)))
        spent, done = spent + took, last - start
        scores += [
            pass_seconds(computed, stream, first, last, point.queries)
            for computed in (score_pass, numpy_pass)
        ]
        results.append(found)
        kept.append((held.references, held.objects))
    references, stored = np.mean(kept, axis=0).tolist()
    told = joined_results(results, start + done, point.queries)
    compiled, numpy = scores.tolist()
    return Run(spent, compiled, numpy, done, told, references, stored)


def pass_seconds(
    computed: Callable[[Sample, int, int, int], float],
    stream: Sample,
    first: int,
    last: int,
    queries: int,
) -> float:
    """CPU seconds of one pass of scores; of several passes if one is too short for the clock."""
    times = math.ceil(_SCORES / ((last - first) * queries))
    spent = Spent()
    for _ in range(times):
        spent += timed(partial(computed, stream, first, last, queries))[1]
    return spent.cpu / times


def joined_results(results: list[Results], last: int, queries: int) -> ResultStream:
    """The result stream of several batches as one; the queries' names are their numbers."""
    query, position, at = (
        np.concatenate([getattr(part, name) for part in results])
        for name in ("query", "position", "at")
    )
    return ResultStream(query.astype(np.int64), position, at, last, queries)


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
        expected = spent / fed * upto if fed >= _SURE else spent
        if expected > seconds:
            raise TooSlow(f"the first windows would take {expected:.1f} s or more")
    return max(per_object, 1e-9)
