"""How fast each list is, how much it keeps, and how far `panes` is from the targets.

The yardstick is one ``numpy.max`` over the same scores: nothing that looks at every score is
faster. Every contender answers every window, k items each, in the steady state: the first
window is filled, and answered, before the clock starts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

from topwater.candidates import build, lists, one_by_one, sweep
from topwater.errors import QueryError
from topwater.model import IntArray
from topwater.protocols import CandidateList, Sweeps
from topwater_lab.bench.core_grid import Point, Stream, paper_grid, quick_grid
from topwater_lab.bench.core_targets import check_targets
from topwater_lab.bench.harness import NEVER, Spent, Ticker, peak_memory, ticking, timed
from topwater_lab.bench.peer_engines import ENGINES, compete

_BATCH = 1_000_000
# The items of all answers of one call: more would not fit into memory that is used again, and
# the time would go into new pages.
_ANSWERS = 500_000
_FEW = 3


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to spend on one contender at one point; the seconds are of CPU time."""

    grid: tuple[Point, ...]
    spare_objects: int
    fill_seconds: float
    steady_seconds: float
    total_seconds: float
    repeats: int
    engine_rows: int
    memory_objects: int

    @property
    def objects(self) -> int:
        """How long the stream must be: the longest window, and what slides over it."""
        return max(point.window for point in self.grid) + self.spare_objects


FULL = Effort(tuple(paper_grid()), 5_000_000, 0.8, 0.3, 1.2, 12, 5_000_000, 100_000_000)
QUICK = Effort(tuple(quick_grid()), 3_000_000, 0.08, 0.04, 0.25, 4, 500_000, 10_000_000)


@dataclass(frozen=True, slots=True)
class Row:
    """One contender at one point; ``skipped`` says why there are no numbers."""

    list: str
    window: int
    step: int
    k: int
    expected_candidates: float
    objects_per_s: float | None = None
    ratio_to_max: float | None = None
    candidates: int | None = None
    mean_candidates: float | None = None
    objects: int | None = None
    slides: int | None = None
    cpu_ns_per_object: float | None = None
    wall_objects_per_s: float | None = None
    recomputations: int | None = None
    form: str | None = None
    same_answers: bool | None = None
    skipped: str | None = None

    @property
    def point(self) -> Point:
        """Where it was measured."""
        return Point(self.window, self.step, self.k)


class Skipped(Exception):
    """A contender can't be measured here in the time allowed."""


def contenders() -> list[str]:
    """All lists that take whole columns, and the engines they are compared with."""
    return [*(name for name in lists if name not in one_by_one), *ENGINES]


def bench_core(
    effort: Effort, names: Sequence[str] = (), *, seed: int = 7, quiet: bool = True
) -> dict[str, Any]:
    """Measure contenders over a grid, check the targets, and measure memory.

    Parameters
    ----------
    effort
        ``FULL`` or ``QUICK``, or one of your own.
    names
        Which contenders; all if empty. The targets that need others are then left out.
    seed
        Another seed, another stream.
    quiet
        Show no progress.

    Returns
    -------
    dict
        ``bench``, ``rows``, ``targets`` and ``memory``, as they go into JSON.
    """
    chosen = list(names) or contenders()
    for name in chosen:
        if name not in contenders():
            fix = f"use one of: {', '.join(contenders())}"
            raise QueryError(f"{name!r} is unknown", field="list", fix=fix)
    with ticking(len(effort.grid) * len(chosen) + 2, quiet=quiet) as ticker:
        ticker.step("memory")
        memory = _memory_elsewhere(effort.memory_objects, seed) if effort.memory_objects else None
        ticker.step("making the stream")
        rows = list(_rows(effort, chosen, Stream(effort.objects, seed), ticker))
    return {
        "bench": "core",
        "rows": [asdict(row) for row in rows],
        "targets": [asdict(target) for target in check_targets([asdict(row) for row in rows])],
        "memory": memory,
    }


def _rows(effort: Effort, names: list[str], stream: Stream, ticker: Ticker) -> Iterator[Row]:
    forecast = Forecast()
    warm_up(names)
    for point in effort.grid:
        for name in names:
            ticker.step(f"{name} {point.window:,}/{point.step:,} k {point.k:,}")
            if name in ENGINES:
                yield _measure_engine(name, point, stream, effort)
            else:
                yield _measure_list(name, point, stream, effort, forecast)


def warm_up(names: Sequence[str]) -> None:
    """Compile and import all that is compiled or imported on first use."""
    small = Point(4_000, 1_000, 40)
    stream = Stream(400_000, seed=0)
    effort = Effort((small,), 0, 1, 0.01, 0.01, 1, 100_000, 0)
    for name in names:
        if name in ENGINES:
            _measure_engine(name, small, stream, effort)
        else:
            _measure_list(name, small, stream, effort, Forecast())


@dataclass(frozen=True, slots=True)
class Run:
    """One pass over the stream after its first window."""

    spent: Spent
    slides: int
    kept: IntArray
    recomputations: int | None
    max_seconds: float = 0.0


class Forecast:
    """Foresees a point that can't be measured in time from one with a smaller window.

    A list that sorts its window at each answer would take minutes for a few answers of a large
    one, and nothing can stop it in the middle.
    """

    def __init__(self) -> None:
        self._known: list[tuple[str, Point, float]] = []

    def learn(self, name: str, point: Point, run: Run) -> None:
        """Remember how long one slide took, if the list keeps whole windows."""
        if run.kept.min() >= point.window > point.k:
            self._known.append((name, point, run.spent.cpu / run.slides))

    def slide(self, name: str, point: Point) -> float:
        """Seconds for one slide, growing with the window and with k; 0 if nothing is known."""
        similar = (
            seconds * point.window / known.window
            for other, known, seconds in self._known
            if other == name and known.panes == point.panes and known.k <= point.k
        )
        return max(similar, default=0.0)


def _measure_list(
    name: str, point: Point, stream: Stream, effort: Effort, forecast: Forecast
) -> Row:
    row = partial(Row, name, point.window, point.step, point.k, point.expected_candidates)
    try:
        if (seconds := forecast.slide(name, point)) > effort.total_seconds:
            raise Skipped(f"one slide would take about {seconds:.1f} s")
        best = _best_run(name, point, stream, effort)
    except Skipped as reason:
        return row(skipped=str(reason))
    forecast.learn(name, point, best)
    objects = best.slides * point.step
    return row(
        objects_per_s=objects / best.spent.cpu,
        ratio_to_max=best.max_seconds * objects / best.spent.cpu,
        candidates=int(best.kept.max()),
        mean_candidates=float(best.kept.mean()),
        objects=objects,
        slides=best.slides,
        cpu_ns_per_object=best.spent.cpu / objects * 1e9,
        wall_objects_per_s=objects / best.spent.wall,
        recomputations=best.recomputations,
    )


def _best_run(name: str, point: Point, stream: Stream, effort: Effort) -> Run:
    """The best of several passes that do the same work, each between two passes of the maximum."""
    started = time.process_time()
    run = None
    spent, max_seconds = NEVER, np.inf
    slides = min((len(stream) - point.window), 4 * _BATCH) // point.step
    for _ in range(effort.repeats):
        max_seconds = min(max_seconds, _max_pass(point, stream, slides))
        held = _filled(name, point, stream, effort)
        run = _steady(held, point, stream, slides, effort.steady_seconds if run is None else np.inf)
        spent, slides = spent.least(run.spent), run.slides
        max_seconds = min(max_seconds, _max_pass(point, stream, slides))
        if time.process_time() - started > effort.total_seconds / 2:
            break
    if run is None:
        raise Skipped("no repeats")
    return Run(spent, slides, run.kept, run.recomputations, max_seconds)


def _max_pass(point: Point, stream: Stream, slides: int) -> float:
    """CPU seconds per object of one ``numpy.max`` over the scores that slide in.

    Over at least a million of them, so that the call itself costs nothing.
    """
    stop = min(len(stream), point.window + max(_BATCH, slides * point.step))
    scores = stream.items.score[max(0, min(point.window, stop - _BATCH)) : stop]
    _, spent = timed(lambda: np.max(scores))
    return spent.cpu / len(scores)


def _filled(name: str, point: Point, stream: Stream, effort: Effort) -> CandidateList:
    """A list whose first window is full, answered and expired."""
    held = build(name, point.windows, point.k)
    last = point.window - point.step
    if isinstance(held, Sweeps):
        size = max(1, _BATCH // point.step) * point.step
        for start in range(0, last, size):
            held.add(stream.arrivals(start, min(start + size, last), point.step))
    else:
        _fill_in_time(held, point, stream, last, effort.fill_seconds)
    sweep(held, stream.arrivals(last, point.window, point.step), 0, 0)
    return held


def _fill_in_time(
    held: CandidateList, point: Point, stream: Stream, last: int, seconds: float
) -> None:
    """Add objects up to ``last``, in batches so small that the clock is seen often."""
    start, size, began = 0, point.step, time.process_time()
    before = began
    while start < last:
        stop = min(start + size, last)
        held.add(stream.arrivals(start, stop, point.step))
        start, now = stop, time.process_time()
        if now - began > seconds:
            raise Skipped(f"the window was not full after {seconds:g} s")
        if now - before < seconds / 50:
            size *= 2
        before = now


def _steady(held: CandidateList, point: Point, stream: Stream, slides: int, seconds: float) -> Run:
    """Slide on, until ``slides`` are done or the time is over, but a few times at least."""
    at_once = 1
    if isinstance(held, Sweeps):
        at_once = max(1, min(_BATCH // point.step, _ANSWERS // point.k))
    before = _recomputations(held)
    spent, done, kept = Spent(), 0, []
    while done < slides and not _enough(spent.cpu, done, seconds):
        more = min(at_once, slides - done)
        start = point.window + done * point.step
        arrivals = stream.arrivals(start, start + more * point.step, point.step)
        (_, _, held_now), took = timed(partial(sweep, held, arrivals, done + 1, done + more))
        spent, done = spent + took, done + more
        kept.append(held_now)
    after = _recomputations(held)
    searches = None if after is None or before is None else after - before
    return Run(spent, done, np.concatenate(kept), searches)


def _enough(spent: float, slides: int, seconds: float) -> bool:
    return spent > seconds and (slides >= _FEW or spent > 3 * seconds)


def _recomputations(held: CandidateList) -> int | None:
    found: int | None = getattr(getattr(held, "inner", held), "recomputations", None)
    return found


def _measure_engine(name: str, point: Point, stream: Stream, effort: Effort) -> Row:
    row = partial(Row, name, point.window, point.step, point.k, point.expected_candidates)
    max_seconds = _max_pass(point, stream, 0)
    try:
        best = compete(name, point, stream, effort.engine_rows, effort.total_seconds)
    except ImportError:
        return row(skipped=f"{name} is not installed: pip install topwater[lab]")
    if isinstance(best, str):
        return row(skipped=best)
    max_seconds = min(max_seconds, _max_pass(point, stream, 0))
    objects = best.slides * point.step
    seconds = best.spent.cpu / best.threads
    return row(
        objects_per_s=objects / seconds,
        ratio_to_max=max_seconds * objects / seconds,
        candidates=point.panes * point.per_pane,
        mean_candidates=float(point.panes * point.per_pane),
        objects=objects,
        slides=best.slides,
        cpu_ns_per_object=best.spent.cpu / objects * 1e9,
        wall_objects_per_s=objects / best.spent.wall,
        form=best.form,
        same_answers=best.same_answers,
    )


def _memory_elsewhere(objects: int, seed: int) -> dict[str, Any]:
    """Run it in a process of its own: the peak of this one is that of the stream it holds."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
        return other.submit(memory_use, objects, seed).result()


def memory_use(objects: int, seed: int) -> dict[str, Any]:
    """The peak of memory while ``objects`` pass through a window of a tenth of them, in `panes`.

    The stream is made as it goes.
    """
    point = Point(objects // 10, objects // 10_000, 100)
    chunk = min(_BATCH, point.window)
    held = build("panes", point.windows, point.k)
    peaks, kept = [], 0
    for start in range(0, objects, chunk):
        part = Stream(chunk, seed + start)
        part.items.time[:] += start
        window, after = (
            max(0, point.windows.last_complete(seen + 1) + 1) for seen in (start, start + chunk)
        )
        _, _, now = sweep(held, point.windows.group(part.items), window, after - 1)
        kept = max(kept, int(now.max(initial=0)))
        peaks.append(peak_memory())
    # The window is full after a tenth; one chunk more, and answers have been made as well.
    full = peaks[len(peaks) // 10]
    return {
        "objects": objects,
        "window": point.window,
        "step": point.step,
        "k": point.k,
        "candidates": kept,
        "first_chunk_bytes": peaks[0],
        "full_window_bytes": full,
        "end_bytes": peaks[-1],
        "growth_bytes": peaks[-1] - full,
    }
