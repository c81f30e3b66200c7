"""How long an answer takes when little comes at a time, and whether the state stays small."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean

from pyspark.sql import DataFrame, SparkSession

from topwater.spark import topk
from topwater_lab.bench.harness import Ticker
from topwater_lab.bench.spark_data import Data, Layout
from topwater_lab.bench.spark_peers import GENERIC, NOOP, PARTITIONS, Contender, events
from topwater_lab.bench.spark_runs import Ran, Runner, median

_SKIPPED = 3
_LAYOUT = Layout(10)


@dataclass(frozen=True, slots=True)
class Latency:
    """From the start of the micro-batch that ends a window until its answer is in a parquet file.

    The floor is a micro-batch that reads the same hundred rows and drops them.
    """

    shuffle_partitions: int
    shards: int
    batches: int
    answer_ms_p50: float | None
    floor_ms_p50: float | None


@dataclass(frozen=True, slots=True)
class Steadiness:
    """The state over a run of many windows, once the first is full.

    In the first and the last third: bytes that a micro-batch writes, and memory of the store.
    """

    batches: int
    written_bytes_first: float
    written_bytes_last: float
    memory_bytes_first: float
    memory_bytes_last: float
    state_bytes: int | None


def latencies(
    runner: Runner, data: Data, batches: int, partitions: tuple[int, ...], ticker: Ticker
) -> tuple[list[Latency], Steadiness]:
    """Latency for several numbers of shuffle partitions, each with as many shards.

    And the state of the first of these runs.
    """
    folder = data.trickle(_LAYOUT, batches)
    found, runs = [], []
    for number in partitions:
        ticker.step(f"floor of latency, {number}")
        floor = runner.measure(_dropping(), folder, _LAYOUT)
        ticker.step(f"latency with {number} shuffle partitions")
        ran = runner.written(_answering(number), folder, _LAYOUT)
        runs.append(ran)
        found.append(
            Latency(
                number,
                number,
                len(ran.batch_ms[_SKIPPED:]),
                median(ran.batch_ms[_SKIPPED:]),
                median(floor.batch_ms[_SKIPPED:]),
            )
        )
    return found, steadiness(runs[0])


def steadiness(ran: Ran) -> Steadiness:
    """The thirds of a run, without the micro-batches before the first window is full."""
    start = min(_LAYOUT.window_over_step, len(ran.written) // 2)
    third = max(1, (len(ran.written) - start) // 3)
    ends = (slice(start, start + third), slice(-third, None))
    written, memory = ([float(mean(of[end])) for end in ends] for of in (ran.written, ran.memory))
    return Steadiness(
        batches=len(ran.written),
        written_bytes_first=written[0],
        written_bytes_last=written[1],
        memory_bytes_first=memory[0],
        memory_bytes_last=memory[1],
        state_bytes=ran.state_bytes,
    )


def _dropping() -> Contender:
    return Contender("floor", _one_by_one, NOOP.read)


def _one_by_one(spark: SparkSession, folder: Path, layout: Layout) -> DataFrame:  # noqa: ARG001
    return events(spark, folder, files=1)


def _answering(number: int) -> Contender:
    settings = {**GENERIC.settings, PARTITIONS: str(number)}
    build = partial(_sharded, number)
    return Contender("latency", build, GENERIC.read, settings=settings)


def _sharded(shards: int, spark: SparkSession, folder: Path, layout: Layout) -> DataFrame:
    return topk(events(spark, folder, files=1), layout.query(), shards=shards)
