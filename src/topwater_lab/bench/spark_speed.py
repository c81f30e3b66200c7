"""How fast a query is on Spark, next to Spark's own means over the same files.

The yardsticks are (a) a pass that only reads, (b) the best native formulation, and (c) the obvious
version. All take turns, so that a change in the machine's load affects all of
them; the first micro-batches of each run, in which code is compiled, don't count.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from topwater.model import Millis
from topwater.spark import session
from topwater_lab.bench import spark_counts
from topwater_lab.bench.harness import Ticker, ticking
from topwater_lab.bench.spark_counts import Count, counts
from topwater_lab.bench.spark_data import BATCH_MILLIS, ORIGIN, Data, Layout, Size
from topwater_lab.bench.spark_latency import Latency, Steadiness, latencies
from topwater_lab.bench.spark_peers import (
    FEEDBACK,
    GENERIC,
    NAIVE,
    NATIVE,
    NOOP,
    OWN_SOURCE,
    Answers,
    Contender,
)
from topwater_lab.bench.spark_runs import Ran, Runner, median
from topwater_lab.bench.spark_targets import check_targets

_CHECKED = 3
"""Micro-batches of data in runs that warm up and whose answers are compared; and in naive runs."""


@dataclass(frozen=True, slots=True)
class Point:
    """A query's windows, who answers it, and with whom they are compared."""

    layout: Layout
    cases: tuple[Contender, ...]
    native: tuple[Contender, ...] = NATIVE
    naive: bool = False

    @property
    def everyone(self) -> tuple[Contender, ...]:
        """All that give answers."""
        return (*self.native, *((NAIVE,) if self.naive else ()), *self.cases)


LONG_PANES = Layout(10, step=10 * BATCH_MILLIS)
"""A pane spans ten micro-batches."""


def points(native: tuple[Contender, ...], at_1000: tuple[Contender, ...]) -> tuple[Point, ...]:
    """Where to measure, with these native forms."""
    ours = (GENERIC, OWN_SOURCE)
    return (
        Point(Layout(10), ours, native, naive=True),
        Point(Layout(600), ours, native),
        Point(Layout(1_000), ours, at_1000),
        Point(LONG_PANES, (FEEDBACK,), native),
    )


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure.

    Attributes
    ----------
    size
        Of the data.
    points
        Which windows, and who.
    repeats
        Runs of each.
    trickle
        Micro-batches of the run that tells latency and whether the state stays small.
    partitions
        Shuffle partitions to try there.
    counted
        How many keys to count.
    """

    size: Size
    points: tuple[Point, ...]
    repeats: int
    trickle: int
    partitions: tuple[int, ...] = (1, 2, 4)
    counted: tuple[int, ...] = spark_counts.KEYS


def full(rows: int = 10_000_000) -> Effort:
    """Everything; at the longest windows, where no target needs them, fewer native forms."""
    return Effort(Size.of(rows), points(NATIVE, NATIVE[:2]), repeats=3, trickle=60)


def quick(rows: int = 2_000_000) -> Effort:
    """Fewer rows, one run of each, and native forms where a target needs them, with one store."""
    return Effort(Size.of(rows), points(NATIVE[:2], ()), repeats=1, trickle=24)


@dataclass(frozen=True, slots=True)
class Row:
    """One case. Ratios are of speeds: 2 means twice as fast."""

    case: str
    window_over_step: int
    step_ms: Millis
    shuffle_partitions: int
    rows_per_batch: int
    batches: int
    batch_ms_p50: float | None
    rows_per_s: float | None
    ratio_to_noop: float | None
    ratio_to_native: float | None
    ratio_to_naive: float | None
    whole_run_s: float | None
    state_bytes: int | None
    written_bytes_p50: float | None
    noop_batch_ms_p50: float | None
    noop_whole_run_s: float | None
    native_form: str
    native_batch_ms_p50: float | None
    native_whole_run_s: float | None
    naive_batch_ms_p50: float | None
    naive_batches: int
    same_answers: bool
    windows_compared: int


@dataclass(slots=True)
class Measured:
    """All runs at one point."""

    runs: dict[tuple[str, str], list[Ran]] = field(default_factory=lambda: defaultdict(list))
    same: dict[str, bool] = field(default_factory=dict)
    windows: int = 0

    def of(self, contender: Contender) -> list[Ran]:
        """The runs of one of them."""
        return self.runs[contender.name, contender.form]

    def batch_ms(self, contender: Contender, batches: int) -> float | None:
        """The median of all steady micro-batches."""
        return median([ms for ran in self.of(contender) for ms in ran.steady(batches)])

    def whole(self, contender: Contender) -> float | None:
        """The median of the whole runs, history and all."""
        return median([ran.whole_s for ran in self.of(contender)])

    def best(self, forms: tuple[Contender, ...], batches: int) -> Contender | None:
        """The fastest of several formulations."""
        known = [(ms, form) for form in forms if (ms := self.batch_ms(form, batches)) is not None]
        return min(known, key=lambda each: each[0])[1] if known else None


def bench_spark(effort: Effort, *, seed: int = 7, quiet: bool = True) -> dict[str, Any]:
    """Measure all, and check the targets.

    Parameters
    ----------
    effort
        ``full()`` or ``quick()``, or one of your own.
    seed
        Another seed, another stream.
    quiet
        Show no progress.

    Returns
    -------
    dict
        ``bench``, ``rows``, ``latency``, ``state``, ``counts`` and ``targets``, as they go into
        JSON.
    """
    root = Path(tempfile.mkdtemp(prefix="topwater-bench-"))
    try:
        with ticking(_steps(effort), quiet=quiet) as ticker:
            ticker.step("starting Spark")
            runner = Runner(session("bench", master="local[2]"), root)
            ticker.step("writing the files")
            data = Data(root, effort.size, seed)
            for _ in data.write():
                pass
            rows = _rows(effort, data, runner, ticker)
            latency, state = latencies(runner, data, effort.trickle, effort.partitions, ticker)
            counted = [_count(effort, keys, runner, ticker, seed) for keys in effort.counted]
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return _report(effort, rows, latency, state, counted)


def _count(effort: Effort, keys: int, runner: Runner, ticker: Ticker, seed: int) -> Count:
    folder = runner.root / f"keys-{keys}"
    folder.mkdir()
    return counts(runner, Data(folder, effort.size, seed, keys), ticker, effort.repeats)


def _report(
    effort: Effort,
    rows: list[Row],
    latency: list[Latency],
    state: Steadiness,
    counted: list[Count],
) -> dict[str, Any]:
    told, counts_told = [asdict(row) for row in rows], [asdict(each) for each in counted]
    return {
        "bench": "spark",
        "rows_in_all": effort.size.rows,
        "rows": told,
        "latency": [asdict(each) for each in latency],
        "state": asdict(state),
        "counts": counts_told,
        "targets": [asdict(target) for target in check_targets(told, asdict(state), counts_told)],
    }


def _steps(effort: Effort) -> int:
    """How often the progress bar moves."""
    first = sum(2 * len(point.everyone) + 1 for point in effort.points)
    spared = sum(max(0, len(point.native) - 1) for point in effort.points)
    later = sum(len(point.everyone) + 1 for point in effort.points) - spared
    counted = len(effort.counted) * (1 + 4 * effort.repeats)
    return 2 + first + (effort.repeats - 1) * later + 2 * len(effort.partitions) + counted


def _rows(effort: Effort, data: Data, runner: Runner, ticker: Ticker) -> list[Row]:
    measured = {point.layout: Measured() for point in effort.points}
    for point in effort.points:
        _compare(point, measured[point.layout], data, runner, ticker)
    for repeat in range(effort.repeats):
        for point in effort.points:
            _measure(point, measured[point.layout], data, runner, ticker, first=repeat == 0)
    return [
        _row(case, point, measured[point.layout], data.size)
        for point in effort.points
        for case in point.cases
    ]


def _compare(point: Point, found: Measured, data: Data, runner: Runner, ticker: Ticker) -> None:
    """Warm up with fewer data, and see whether all give the same answers."""
    folder = data.folder(point.layout, _CHECKED)
    expected: Answers | None = None
    for contender in point.everyone:
        ticker.step(f"warming up {_name(contender, point)}")
        answers = _of_data(runner.answers(contender, folder, point.layout))
        expected = answers if expected is None else expected
        same = answers == expected and len(answers) > 0
        found.same[contender.name] = same and found.same.get(contender.name, True)
        found.windows = len(expected)


def _of_data(answers: Answers) -> Answers:
    """Without the windows that end in the history: whether such are answered is a convention."""
    return {closes: top for closes, top in answers.items() if closes > ORIGIN}


def _measure(
    point: Point, found: Measured, data: Data, runner: Runner, ticker: Ticker, *, first: bool
) -> None:
    """One run of each; of the native forms all at first, and then the fastest."""
    best = found.best(point.native, data.size.batches)
    native = point.native if first or best is None else (best,)
    naive = (NAIVE,) if point.naive else ()
    for contender in (NOOP, *native, *naive, *point.cases):
        ticker.step(_name(contender, point))
        folder = data.folder(point.layout, _CHECKED if contender is NAIVE else None)
        ours = contender in point.cases
        found.of(contender).append(
            runner.measure(contender, folder, point.layout, state=ours and first)
        )


def _name(contender: Contender, point: Point) -> str:
    form = f" ({contender.form})" if contender.form else ""
    return f"{contender.name}{form} at {point.layout.window_over_step:,}"


def _row(case: Contender, point: Point, found: Measured, size: Size) -> Row:
    runs = found.of(case)
    ms = found.batch_ms(case, size.batches)
    native = found.best(point.native, size.batches)
    native_ms = None if native is None else found.batch_ms(native, size.batches)
    naive_batches = min(_CHECKED, size.batches) if point.naive else 0
    naive_ms = found.batch_ms(NAIVE, naive_batches)
    noop_ms = found.batch_ms(NOOP, size.batches)
    return Row(
        case=case.name,
        window_over_step=point.layout.window_over_step,
        step_ms=point.layout.step,
        shuffle_partitions=case.partitions,
        rows_per_batch=size.rows_per_batch,
        batches=sum(len(ran.steady(size.batches)) for ran in runs),
        batch_ms_p50=ms,
        rows_per_s=None if ms is None else size.rows_per_batch / ms * 1_000,
        ratio_to_noop=_ratio(noop_ms, ms),
        ratio_to_native=_ratio(native_ms, ms),
        ratio_to_naive=_ratio(naive_ms, ms),
        whole_run_s=found.whole(case),
        state_bytes=next((ran.state_bytes for ran in runs if ran.state_bytes is not None), None),
        written_bytes_p50=median([float(n) for ran in runs for n in ran.written[2:]]),
        noop_batch_ms_p50=noop_ms,
        noop_whole_run_s=found.whole(NOOP),
        native_form="" if native is None else native.form,
        native_batch_ms_p50=native_ms,
        native_whole_run_s=None if native is None else found.whole(native),
        naive_batch_ms_p50=naive_ms,
        naive_batches=naive_batches,
        same_answers=all(found.same.get(name, True) for name in ("native", "naive", case.name)),
        windows_compared=found.windows,
    )


def _ratio(theirs: float | None, ours: float | None) -> float | None:
    return None if theirs is None or ours is None else theirs / ours
