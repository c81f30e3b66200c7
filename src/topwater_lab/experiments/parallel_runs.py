"""Many runs, on all cores or on Spark: jobs go in, a table of records comes out."""

from __future__ import annotations

import functools
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

from topwater.replica import WindowView
from topwater_lab.bench.harness import ticking
from topwater_lab.experiments.evening import EVALUATIONS, Counts, Recording, read_evening
from topwater_lab.experiments.generated_evening import make_evening
from topwater_lab.experiments.oracle import Oracle
from topwater_lab.experiments.tracks import Contender, Record, run
from topwater_lab.experiments.workloads import Workload, follower_growth, followers

J = TypeVar("J")
T = TypeVar("T")

SCHEMA = pa.schema(
    [
        ("policy", pa.string()),
        ("aim", pa.string()),
        ("counts", pa.string()),
        *((name, pa.int64()) for name in ("budget", "ch", "k", "n", "seed", "window")),
        *((name, pa.float64()) for name in ("ndcg", "precision", "accuracy", "age")),
        ("fetches", pa.int64()),
        *((name, pa.float64()) for name in ("seconds", "estimated_precision", "estimated_ndcg")),
    ]
)
"""A record's fields as columns. A policy without a choice of aim has none."""


@dataclass(frozen=True, slots=True)
class Job:
    """Some contenders on one workload.

    Attributes
    ----------
    data
        The folder of a recording, or nothing for a generated one.
    counts, ch, seed
        Which workload. CH 0 stands for follower counts as they were.
    contenders
        Who takes part.
    evaluations
        How many windows.
    """

    data: str
    counts: Counts
    ch: int
    seed: int
    contenders: tuple[Contender, ...]
    evaluations: int = EVALUATIONS


def run_jobs(
    jobs: Sequence[Job], *, spark: bool = False, workers: int | None = None, quiet: bool = False
) -> pa.Table:
    """All records of all jobs, in a fixed order, with a progress bar on stderr."""
    done: list[pa.Table | None] = [None] * len(jobs)
    tables = _on_spark(jobs) if spark else on_cores(work, jobs, workers or os.cpu_count() or 1)
    with ticking(len(jobs), quiet=quiet) as ticker:
        for at, table in tables:
            done[at] = table
            ticker.step("runs")
    return pa.concat_tables([table for table in done if table is not None])


def work(job: Job) -> pa.Table:
    """The records of one job."""
    workload, oracle = _stage(job.data, job.counts, job.ch, job.seed, job.evaluations)
    tables = [_table(run(workload, contender, oracle)) for contender in job.contenders]
    return pa.concat_tables(tables)


def recording_from(data: str) -> Recording:
    """The recording in a folder, or a generated one."""
    return read_evening(Path(data)) if data else make_evening()


def on_cores(work: Callable[[J], T], jobs: Sequence[J], workers: int) -> Iterator[tuple[int, T]]:
    """What each job gives, with its place, as they end; in so many processes."""
    if workers == 1 or len(jobs) == 1:
        yield from ((at, work(job)) for at, job in enumerate(jobs))
        return
    # A fresh interpreter each: the parent may have threads, and those do not survive a fork.
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawning) as pool:
        places = {pool.submit(work, job): at for at, job in enumerate(jobs)}
        for future in as_completed(places):
            yield places[future], future.result()


def _on_spark(jobs: Sequence[Job]) -> Iterator[tuple[int, pa.Table]]:
    from topwater.spark import session

    context = session("experiment").sparkContext
    spread = context.parallelize(list(enumerate(jobs)), len(jobs))
    yield from spread.map(lambda job: (job[0], work(job[1]))).toLocalIterator(
        prefetchPartitions=True
    )


def _table(records: Iterable[Record]) -> pa.Table:
    rows = list(records)
    columns = {name: [getattr(record, name) for record in rows] for name in SCHEMA.names}
    return pa.table(columns, schema=SCHEMA)


@functools.lru_cache(maxsize=2)
def _recorded(data: str) -> Recording:
    return recording_from(data)


@functools.lru_cache(maxsize=4)
def _views(data: str, counts: Counts, evaluations: int) -> tuple[WindowView, ...]:
    return _recorded(data).views(counts, evaluations)


@functools.lru_cache(maxsize=8)
def _stage(
    data: str, counts: Counts, ch: int, seed: int, evaluations: int
) -> tuple[Workload, Oracle]:
    """A workload and its truth, kept for the next job in this process."""
    recording, views = _recorded(data), _views(data, counts, evaluations)
    if ch:
        workload = follower_growth(recording, views, counts, ch, seed)
    else:
        workload = followers(recording, views)
    return workload, Oracle.of(workload)


def sums(table: pa.Table) -> list[dict[str, object]]:
    """Per run: nDCG, precision, accuracy and fetches summed over the windows, and their number."""
    keys = ["counts", "budget", "ch", "k", "n", "policy", "aim", "seed"]
    measures = ["ndcg", "precision", "accuracy", "fetches"]
    totals = [(name, "sum") for name in measures]
    summed = table.group_by(keys).aggregate([*totals, ("window", "count")])
    renamed = {f"{name}_sum": name for name in measures} | {"window_count": "windows"}
    rows = summed.rename_columns([renamed.get(name, name) for name in summed.column_names])
    return list(rows.to_pylist())


def column(table: pa.Table, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """A column as numbers."""
    return np.asarray(table.column(name).to_numpy(), np.float64)
