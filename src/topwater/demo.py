"""The demo: a continuous query on Spark over a generated stream, and a check of every answer."""

from __future__ import annotations

import contextlib
import json
import queue
import signal
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import typer
from rich.text import Text

from topwater.errors import QueryError
from topwater.model import Items
from topwater.query import TopKQuery
from topwater.windows import sliding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession
    from rich.console import Console

    from topwater.generate import Bids
    from topwater.model import Answer, Key

_K = 5
_SECONDS_PER_BATCH = 30
_MOST_BIDS = 30_000_000  # the check at the end holds them all in memory


@dataclass(frozen=True, slots=True)
class Report:
    """What the demo did, and whether its answers were right."""

    bids: int
    windows: int
    wrong: int
    most_candidates: int
    largest_window: int
    start_seconds: float
    stream_seconds: float


class Display(Protocol):
    """Where the demo shows what happens."""

    def waiting(self, what: str) -> contextlib.AbstractContextManager[Any]:
        """Something slow begins."""

    def answer(self, answer: Answer, origin_ms: int) -> None:
        """A window closed."""

    def report(self, report: Report) -> None:
        """All is done."""


def demo_query(bids: Bids) -> TopKQuery:
    """The 5 highest bids of the last 60 s, every 10 s."""
    return TopKQuery(
        key="key",
        time="time",
        score="value",
        k=_K,
        window=sliding("60s", "10s", start=bids.origin_ms),
        lateness=bids.disorder_ms,
    )


def run(bids: Bids, display: Display, log_file: str | None = None) -> Report:
    """Run the demo to its end.

    Raises
    ------
    QueryError
        If there would be more bids than the check can hold.
    KeyboardInterrupt
        If the user stops it; Spark is shut down first.
    """
    if len(bids) > _MOST_BIDS:
        raise QueryError(
            f"{len(bids):,} bids are too many to check in memory",
            field="rate",
            fix=f"choose a rate and a length that make at most {_MOST_BIDS:,} bids",
        )
    began = time.monotonic()
    found: list[Answer] = []
    query = demo_query(bids)
    with display.waiting("starting Spark"):
        spark = _start(log_file)
    started = time.monotonic()
    try:
        for answer in _answers(spark, bids, query):
            display.answer(answer, bids.origin_ms)
            found.append(answer)
    finally:
        spark.stop()
    ended = time.monotonic()
    report = _report(bids, query, found, started - began, ended - started)
    display.report(report)
    return report


def _start(log_file: str | None) -> SparkSession:
    # Here and not above: `topwater --help` should not wait for PySpark.
    from topwater.spark import register, session

    spark = session("topwater demo", log_file=log_file)
    register(spark)
    return spark


def _answers(spark: SparkSession, bids: Bids, query: TopKQuery) -> Iterator[Answer]:
    """The answers as windows close, until the stream ends or the user stops it."""
    from topwater.spark import answers_from, topk

    arrived: queue.SimpleQueue[Answer] = queue.SimpleQueue()

    def take(batch: DataFrame, _: int) -> None:
        for answer in answers_from(batch.toArrow(), query):
            arrived.put(answer)

    events = spark.readStream.format("topwater-generated").options(**_options(bids)).load()
    with tempfile.TemporaryDirectory(prefix="topwater-demo-") as checkpoint, _stop_flag() as stop:
        running = (
            topk(events, query)
            .writeStream.foreachBatch(take)
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        while running.isActive and not stop.wait(0.1):
            yield from _drain(arrived)
        running.stop()
        if stop.is_set():
            raise KeyboardInterrupt
        if (error := running.exception()) is not None:
            raise error
        yield from _drain(arrived)


def _options(bids: Bids) -> dict[str, int]:
    return {**asdict(bids), "seconds_per_batch": _SECONDS_PER_BATCH}


def _drain(arrived: queue.SimpleQueue[Answer]) -> Iterator[Answer]:
    with contextlib.suppress(queue.Empty):
        while True:
            yield arrived.get_nowait()


@contextlib.contextmanager
def _stop_flag() -> Iterator[threading.Event]:
    """A flag that Ctrl-C sets.

    An exception raised in the middle of a call to Java would break the connection to it, and a
    clean end needs the connection.
    """
    stop = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def _report(
    bids: Bids, query: TopKQuery, found: list[Answer], start: float, stream: float
) -> Report:
    return Report(
        bids=len(bids),
        windows=len(found),
        wrong=len(wrong_windows(bids, query, found)),
        most_candidates=max((answer.candidates for answer in found), default=0),
        largest_window=bids.rows_per_second * query.window.width // 1_000,
        start_seconds=start,
        stream_seconds=stream,
    )


def wrong_windows(bids: Bids, query: TopKQuery, found: list[Answer]) -> list[int]:
    """The windows whose answer is missing, repeated, or not what sorting all its bids gives."""
    table = pa.Table.from_batches([bids.batch(0, len(bids))])
    items = Items(
        table.column("value").to_numpy(),
        table.column("time").cast(pa.int64()).to_numpy() // 1_000,
        table.column("key").to_numpy(),
    )
    complete = query.window.last_complete(int(items.time.max()) - query.lateness) + 1
    given: dict[int, list[Answer]] = {index: [] for index in range(complete)}
    for answer in found:
        given.setdefault(answer.window.index, []).append(answer)
    return [
        index
        for index, answers in given.items()
        if index >= complete or len(answers) != 1 or not _right(answers[0], items, query)
    ]


def _right(answer: Answer, items: Items, query: TopKQuery) -> bool:
    inside = (items.time > answer.window.opens) & (items.time <= answer.window.closes)
    window = items.take(np.flatnonzero(inside))
    # Sort all scores, then only the ones at or above the k-th by the full order: the same answer
    # as sorting everything by the full order, without comparing a million strings.
    least = np.sort(window.score)[-query.k :][0]
    best = window.take(np.flatnonzero(window.score >= least)).ranked().take(slice(query.k))
    rows = [(row.score, row.time, row.key) for row in answer.rows]
    return rows == list(zip(best.score, best.time, best.key, strict=True))


class Lines:
    """One line per window, for people."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._before: set[tuple[Key, float]] = set()

    @contextlib.contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """A spinner on a terminal, a plain line elsewhere."""
        if self.console.is_terminal:
            with self.console.status(f"{what}…"):
                yield
        else:
            self.console.print(f"{what}…")
            yield
        self.console.print(
            f"The {_K} highest bids of the last 60 s, every 10 s, as each window closes:\n"
        )

    def answer(self, answer: Answer, origin_ms: int) -> None:
        """Minutes and seconds of event time, then the best bids; new ones stand out."""
        minutes, seconds = divmod((answer.window.closes - origin_ms) // 1_000, 60)
        line = Text(f"{minutes:02}:{seconds:02}", style="dim")
        now = {(row.key, row.score) for row in answer.rows}
        for row in answer.rows:
            new = (row.key, row.score) not in self._before
            line.append(f"  {row.key} {row.score:.0f}", style="bold green" if new else "not dim")
        self._before = now
        self.console.print(line, soft_wrap=True)

    def report(self, report: Report) -> None:
        """What was kept, whether it was right, how long it took, what to do next."""
        self.console.print(
            f"\n{report.bids:,} bids, {report.windows} windows; each was answered from at most "
            f"{report.most_candidates:,} candidates, of about {report.largest_window:,} bids\n"
            f"all {report.windows} windows equal to sorting everything: "
            f"{'yes' if not report.wrong else f'no, {report.wrong} differ'}\n"
            f"Spark started in {report.start_seconds:.0f} s, the stream ran for "
            f"{report.stream_seconds:.0f} s\n"
            "next: topwater demo --rate 5000, topwater demo --json, or README.md for your own data",
            soft_wrap=True,
        )


class JsonLines:
    """One JSON object per window, for programs."""

    @contextlib.contextmanager
    def waiting(self, what: str) -> Iterator[None]:  # noqa: ARG002
        """Say nothing."""
        yield

    def answer(self, answer: Answer, origin_ms: int) -> None:  # noqa: ARG002
        """The whole answer."""
        typer.echo(json.dumps(as_dict(answer)))

    def report(self, report: Report) -> None:
        """Say nothing; a wrong answer is an error."""


def as_dict(answer: Answer) -> dict[str, Any]:
    """An answer as plain values, with times in ISO 8601."""
    return {
        "window_start": _iso(answer.window.opens),
        "window_end": _iso(answer.window.closes),
        "top": [
            {"rank": row.rank, "key": row.key, "score": row.score, "time": _iso(row.time)}
            for row in answer.rows
        ],
        "exact": answer.exact,
        "candidates": answer.candidates,
        "counts": asdict(answer.counts),
    }


def _iso(when: int) -> str:
    return datetime.fromtimestamp(when / 1_000, UTC).isoformat(timespec="milliseconds")
