"""DuckDB and Polars doing the same job, each in the best of several formulations.

The job is that of a list in its steady state: the best k of each pane of the window before are
there already, new objects come, and each new window is answered. So a query reduces the new
panes to their best k, puts them next to the held ones, and merges the panes of each window.
What is best depends on the numbers of panes and items, so every form that may win is run, and
the fastest counts. Answers are ranked, as ours are. Loading is not timed, and panes come numbered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from topwater.candidates import build, sweep
from topwater.candidates.runs import nothing, reduce
from topwater.model import Arrivals
from topwater_lab.bench.core_grid import Point, Stream
from topwater_lab.bench.duckdb_engine import DuckDB
from topwater_lab.bench.harness import NEVER, Spent, timed
from topwater_lab.bench.peer_job import Answers, Engine, Form, Job
from topwater_lab.bench.polars_engine import Polars

_REPEATS = 3
_COMPARED = 1_000_000

ENGINES: dict[str, Callable[[], Engine]] = {"duckdb": DuckDB, "polars": Polars}
"""The engines by name."""


@dataclass(frozen=True, slots=True)
class Best:
    """The fastest form of an engine at one point."""

    form: str
    spent: Spent
    slides: int
    threads: int
    same_answers: bool

    @property
    def cost(self) -> float:
        """CPU seconds per window."""
        return self.spent.cpu / self.slides


def compete(name: str, point: Point, stream: Stream, rows: int, seconds: float) -> Best | str:
    """The best form of an engine, or the reason why none was run.

    Parameters
    ----------
    name
        ``"duckdb"`` or ``"polars"``.
    point, stream
        What to do, and over what.
    rows
        About how many rows one query may handle; it decides how many windows one answers.
    seconds
        A form that took longer is not run again.
    """
    engine = ENGINES[name]()
    chosen = [(form, slides_for(form, point, stream, rows)) for form in engine.forms]
    chosen = [(form, slides) for form, slides in chosen if slides]
    if not chosen:
        return f"a single window means more than {rows:,} rows to any form"
    right = _expected(point, stream)
    held = held_tops(point, stream)
    runs: list[Best] = []
    for form, slides in chosen:
        bar = min((run.cost for run in runs), default=NEVER.cpu)
        job = Job(point, held, _fresh(point, stream, slides))
        runs.append(_run(engine, form, job, right, seconds, bar))
    best = min(runs, key=lambda run: run.cost)
    return replace(best, same_answers=all(run.same_answers for run in runs))


def slides_for(form: Form, point: Point, stream: Stream, rows: int) -> int:
    """How many windows a query may answer; 0 if even one is too much."""
    most = min((len(stream) - point.window) // point.step, form.most_slides)
    slides = 0
    while 2 * slides + 1 <= most and form.rows(point, 2 * slides + 1) <= rows:
        slides = 2 * slides + 1
    return slides


def _run(engine: Engine, form: Form, job: Job, right: Answers, seconds: float, bar: float) -> Best:
    """The best of some repeats; of one only, if it takes long or is far above the bar."""
    engine.load(job)
    spent = NEVER
    for _ in range(_REPEATS):
        result, took = timed(partial(engine.query, form.name))
        spent = spent.least(took)
        if took.cpu > min(seconds / 4, 2 * bar * job.slides):
            break
    found = engine.answers(result)
    many = min(len(found[0]), len(right[0]))
    same = len(found[0]) == job.slides * job.point.k and all(
        np.array_equal(ours[:many], theirs[:many])
        for ours, theirs in zip(right, found, strict=True)
    )
    return Best(form.name, spent, job.slides, engine.threads, same)


@lru_cache(maxsize=1)
def held_tops(point: Point, stream: Stream) -> Arrivals:
    """The pane tops of the first window, without its last pane."""
    if point.panes == 1:
        return nothing()
    return reduce(stream.arrivals(0, point.window - point.step, point.step), point.k)


def _fresh(point: Point, stream: Stream, slides: int) -> Arrivals:
    first = point.window - point.step
    return stream.arrivals(first, first + slides * point.step, point.step)


@lru_cache(maxsize=1)
def _expected(point: Point, stream: Stream) -> Answers:
    """Our answers of the same windows, as many as are compared."""
    more = min((len(stream) - point.window) // point.step, _COMPARED // point.k)
    held = build("panes", point.windows, point.k)
    stop = point.window + more * point.step
    found, _, _ = sweep(held, stream.arrivals(0, stop, point.step), 0, more)
    return found.score, found.key
