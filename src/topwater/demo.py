"""The demo: who is mentioned most while their following grows, on Spark, with 7 look-ups a window.

The stream is generated. The remote side is a real HTTP service over the same evening, in a process
of its own, which Spark's workers ask as of the time of each window: so the answers are the same in
every run, however fast it goes. In the end they are compared with the truth, which only a demo
knows, and with what the published policies would have answered on the same stream with the same
number of look-ups.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.table import Table
from rich.text import Text

from topwater.evaluate.generated import make_evening
from topwater.evaluate.oracle import Oracle
from topwater.evaluate.workloads import REMOTE, Workload, follower_growth
from topwater.local import run as run_locally
from topwater.query import TopKQuery
from topwater.remote import Replay, http
from topwater.replica import Budget, RefreshSettings
from topwater.serving import Service, missing_package, started
from topwater.serving.followers import CHANGING
from topwater.terminal import stop_flag, waiting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession
    from rich.console import Console

    from topwater.model import Answer, IntArray, Row
    from topwater.protocols import Source

_K = 5
PUBLISHED = ("wsj-rnd", "wsj-lru", "wsj-wbm", "at-lru", "at-wbm", "at-tsm", "at-bsm")
EVERYTHING = "at-asm"


@dataclass(frozen=True)
class Scene:
    """A stretch of a generated evening, and what is asked of it.

    Parameters
    ----------
    windows
        How many windows are answered.
    budget
        How many users may be looked up for each.
    policy
        Which of them, by registry name.
    seed
        Another seed, another evening.
    """

    windows: int = 40
    budget: int = 7
    policy: str = "worth"
    seed: int = 7

    @functools.cached_property
    def workload(self) -> Workload:
        """The windows, and the truth about them."""
        views = self._recording.views("true", self.windows)
        return follower_growth(self._recording, views, "true", CHANGING, self.seed)

    @functools.cached_property
    def oracle(self) -> Oracle:
        """The true ranking of every window."""
        return Oracle.of(self.workload)

    @functools.cached_property
    def _recording(self) -> Any:
        return make_evening(self.seed)

    def query(self, policy: str | None = None) -> TopKQuery:
        """The 5 users that matter most in the last 100 s, every minute."""
        refresh = RefreshSettings(REMOTE, policy=policy or self.policy, budget=Budget(self.budget))
        return TopKQuery(
            key="user",
            time="time",
            window=self.workload.windows,
            take={"mentions": "count"},
            score=self.workload.score,
            k=_K,
            refresh=refresh,
        )

    def source(self) -> Replay:
        """The remote side, in this process."""
        return Replay(self.workload.remote)

    @contextlib.contextmanager
    def remote(self) -> Iterator[Remote]:
        """The remote side as a service, stopped at the end; in this process if there can be none.

        Raises
        ------
        EnvironmentProblem
            If the service does not start.
        """
        if missing_package() is not None:
            yield Remote(self.source())
            return
        with started(seed=self.seed) as service:
            growth, user = f"users[*].{REMOTE}", "users[*].id"
            source = http(service.growth, value=growth, key=user, at_start="stop", name="")
            try:
                yield Remote(source, service)
            finally:
                source.close()

    def batches(self) -> Iterator[pa.Table]:
        """The mentions, a minute at a time, up to the first that ends the last window."""
        windows = self.workload.windows
        times, users = self._recording.times, self._recording.keys
        last = windows.window(self.windows - 1).closes
        end = int(np.searchsorted(times, last, side="right")) + 1
        minute = (times[:end] - windows.start - 1) // windows.step
        for part in np.split(np.arange(end), np.flatnonzero(np.diff(minute)) + 1):
            moments = pa.array(times[part] * 1_000).cast(pa.timestamp("us", "UTC"))
            yield pa.table({"time": moments, "user": users[part]})


@dataclass(frozen=True, slots=True)
class Remote:
    """Who is asked, and the service behind it, if there is one."""

    source: Source
    service: Service | None = None

    @property
    def told(self) -> str:
        """Who it is, in words."""
        if self.service is not None:
            return (
                f"The remote side is an HTTP service at {self.service.url}, a process of its own "
                "that Spark's workers ask."
            )
        return (
            f"The remote side is no service, since the package {missing_package()} is missing, but "
            'a part of\nSpark\'s workers. For a real one: pip install "topwater[serve]"'
        )

    def requests(self) -> int | None:
        """How many requests reached the service, as it says itself."""
        return None if self.service is None else int(self.service.stats()["accepted"])


@dataclass(frozen=True, slots=True)
class Standing:
    """How right the answers of a policy were, on average."""

    policy: str
    ndcg: float
    precision: float
    fetches: float


@dataclass(frozen=True, slots=True)
class Report:
    """What the demo did, and how right its answers were.

    Attributes
    ----------
    windows, differing
        How many were answered on Spark, and how many not as the same query in process does.
    estimated
        What precision the answers said they had, on average.
    standings
        Ours first, then the published policies, then what looking up everything gives.
    start_seconds, stream_seconds
        How long the service and Spark took to start, and the stream to run.
    looked_up, lost
        How many look-ups there were, and how many of them were not answered.
    requests
        How many requests the service got, by its own count; None if there was no service.
    """

    windows: int
    differing: int
    estimated: float
    standings: tuple[Standing, ...]
    start_seconds: float
    stream_seconds: float
    looked_up: int = 0
    lost: int = 0
    requests: int | None = None


class Display(Protocol):
    """Where the demo shows what happens."""

    def waiting(self, what: str) -> contextlib.AbstractContextManager[Any]:
        """Something slow begins."""

    def begin(self, remote: Remote) -> None:
        """Everything is there."""

    def answer(self, answer: Answer) -> None:
        """A window closed."""

    def report(self, report: Report) -> None:
        """All is done."""


def run(scene: Scene, display: Display, log_file: str | None = None) -> Report:
    """Run the demo to its end.

    Raises
    ------
    QueryError
        If the policy is unknown.
    KeyboardInterrupt
        If the user stops it; Spark and the service are shut down first.
    """
    began = time.monotonic()
    found: list[Answer] = []
    scene.query()  # an unknown policy is said before Spark starts
    with contextlib.ExitStack() as ending:
        with display.waiting("starting the remote service and Spark"), stop_flag() as stop:
            from topwater.spark import session  # here: `topwater --help` should not wait for it

            remote = ending.enter_context(scene.remote())
            spark = session("topwater demo", log_file=log_file)
            ending.callback(spark.stop)
        if stop.is_set():
            raise KeyboardInterrupt
        display.begin(remote)
        started = time.monotonic()
        for answer in _answers(spark, scene, remote.source):
            display.answer(answer)
            found.append(answer)
        ended, requests = time.monotonic(), remote.requests()
    report = judged(scene, found, started - began, ended - started, requests)
    display.report(report)
    return report


def judged(
    scene: Scene,
    found: list[Answer],
    start: float = 0,
    stream: float = 0,
    requests: int | None = None,
) -> Report:
    """The answers against the truth, and against those of other policies."""
    local = {answer.window: answer for answer in _locally(scene, scene.policy)}
    given = {answer.window: answer for answer in found}
    repeated = len(found) - len(given)
    differing = sum(local.get(each) != given.get(each) for each in local.keys() | given.keys())
    fresh = [answer.freshness for answer in found if answer.freshness is not None]
    others = [name for name in (*PUBLISHED, EVERYTHING) if name != scene.policy]
    return Report(
        windows=len(found),
        differing=differing + repeated,
        estimated=_mean(each.precision for each in fresh),
        standings=(
            _standing(scene, scene.policy, found),
            *(_standing(scene, name, _locally(scene, name)) for name in others),
        ),
        start_seconds=start,
        stream_seconds=stream,
        looked_up=sum(each.fetched for each in fresh),
        lost=sum(each.failed for each in fresh),
        requests=requests,
    )


def _locally(scene: Scene, policy: str) -> list[Answer]:
    """What the same query answers in this process."""
    answers = run_locally(scene.query(policy), scene.batches(), source=scene.source())
    return [answer for answer in answers if answer.window.index < scene.windows]


def _standing(scene: Scene, policy: str, answers: list[Answer]) -> Standing:
    verdicts = [scene.oracle.judge(a.window.index, _rows(scene, a), _K) for a in answers]
    return Standing(
        policy,
        _mean(verdict.ndcg for verdict in verdicts),
        _mean(verdict.precision for verdict in verdicts),
        _mean(a.freshness.fetched for a in answers if a.freshness is not None),
    )


def _rows(scene: Scene, answer: Answer) -> IntArray:
    view = scene.workload.views[answer.window.index]
    return np.searchsorted(view.keys, np.array(answer.keys, np.int64))


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def _answers(spark: SparkSession, scene: Scene, source: Source) -> Iterator[Answer]:
    """The answers as windows close, until the stream ends or the user stops it."""
    from topwater.spark import answers_from, topk

    arrived: queue.SimpleQueue[Answer] = queue.SimpleQueue()
    query = scene.query()

    def take(batch: DataFrame, _: int) -> None:
        for answer in answers_from(batch.toArrow(), query):
            arrived.put(answer)

    with tempfile.TemporaryDirectory(prefix="topwater-demo-") as folder, stop_flag() as stop:
        events = _stream(spark, scene, Path(folder) / "mentions")
        running = (
            topk(events, query, source)
            .writeStream.foreachBatch(take)
            .option("checkpointLocation", f"{folder}/checkpoint")
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


def _stream(spark: SparkSession, scene: Scene, folder: Path) -> DataFrame:
    """The mentions as files, one for each micro-batch."""
    folder.mkdir()
    for number, batch in enumerate(scene.batches()):
        path = folder / f"{number:04}.parquet"
        pq.write_table(batch, path)
        os.utime(path, (number + 1, number + 1))  # Spark takes the oldest first
    schema = "time timestamp, user bigint"
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def _drain(arrived: queue.SimpleQueue[Answer]) -> Iterator[Answer]:
    with contextlib.suppress(queue.Empty):
        while True:
            yield arrived.get_nowait()


class Lines:
    """One line per window, for people."""

    def __init__(self, console: Console, scene: Scene) -> None:
        self.console = console
        self.scene = scene

    def waiting(self, what: str) -> contextlib.AbstractContextManager[None]:
        """Say what it is that takes a while."""
        return waiting(self.console, what)

    def begin(self, remote: Remote) -> None:
        """What is asked, and whom."""
        self.console.print(
            f"The {_K} users who matter most in the last 100 s: 0.7 × mentions (stream) + 0.3 × "
            f"growth of their following (remote).\n{self.scene.budget} look-ups a window, "
            f"chosen by {self.scene.policy!r}. After each score: when its remote value was "
            f"fetched.\n{remote.told}\n",
            soft_wrap=True,
            markup=False,
        )

    def answer(self, answer: Answer) -> None:
        """The time, the users, and how right that may be."""
        line = Text(datetime.fromtimestamp(answer.window.closes / 1_000, UTC).strftime("%H:%M:%S"))
        line.stylize("dim")
        for row in answer.rows:
            line.append(f"  {row.key} {row.score:.2f} ", style="not dim")
            line.append(f"{_age(row):4}", style="green" if row.age == 0 else "dim")
        if answer.freshness is not None:
            line.append(f"  {answer.freshness.fetched} looked up", style="not dim")
            line.append(f", about {answer.freshness.precision:.0%} right", style="not dim")
        self.console.print(line, soft_wrap=True)

    def report(self, report: Report) -> None:
        """How right it was, and how right others would have been."""
        table = Table("policy", "nDCG@5", "precision@5", "look-ups a window", box=None)
        for standing in report.standings:
            table.add_row(
                standing.policy,
                *(f"{value:.3f}" for value in (standing.ndcg, standing.precision)),
                f"{standing.fetches:.1f}",
                style="bold" if standing == report.standings[0] else "",
            )
        self.console.print(
            "\nAgainst the truth, the same stream and the same budget for all "
            f"({EVERYTHING} looks up everything):\n",
            soft_wrap=True,
        )
        self.console.print(table)
        same = "yes" if not report.differing else f"no, {report.differing} differ"
        self.console.print(
            f"\n{report.windows} windows on Spark; all equal to the same query in process: {same}\n"
            f"{_traffic(report)}\n"
            f"the answers said of themselves: {report.estimated:.0%} right; they were: "
            f"{report.standings[0].precision:.0%}\n"
            f"all was started in {report.start_seconds:.0f} s, the stream ran for "
            f"{report.stream_seconds:.0f} s\n"
            "next: topwater demo --budget 3, topwater demo --policy at-lru, or README.md for your "
            "own data",
            soft_wrap=True,
        )


def _traffic(report: Report) -> str:
    """How the remote side was asked, and what came of it."""
    lost = "none was lost" if not report.lost else f"{report.lost} were lost"
    way = (
        "without a service"
        if report.requests is None
        else f"by {report.requests} requests over HTTP"
    )
    return f"{report.looked_up} look-ups {way}; {lost}"


def _age(row: Row) -> str:
    if row.age is None:
        return "?"
    return "now" if row.age == 0 else f"{row.age // 60_000}m"


class JsonLines:
    """One JSON object per window, for programs, and one for the report."""

    @contextlib.contextmanager
    def waiting(self, what: str) -> Iterator[None]:  # noqa: ARG002
        """Say nothing."""
        yield

    def begin(self, remote: Remote) -> None:
        """Say nothing, unless something is missing."""
        if remote.service is None:
            typer.echo(remote.told, err=True)

    def answer(self, answer: Answer) -> None:
        """The whole answer."""
        typer.echo(json.dumps(as_dict(answer)))

    def report(self, report: Report) -> None:
        """The whole report."""
        typer.echo(json.dumps({"report": asdict(report)}))


def as_dict(answer: Answer) -> dict[str, Any]:
    """An answer as plain values, with times in ISO 8601."""
    cells = ("rank", "key", "score", "values", "remote", "age", "right")
    return {
        "window_start": _iso(answer.window.opens),
        "window_end": _iso(answer.window.closes),
        "top": [
            {name: getattr(row, name) for name in cells} | {"time": _iso(row.time)}
            for row in answer.rows
        ],
        "exact": answer.exact,
        "candidates": answer.candidates,
        "freshness": None if answer.freshness is None else asdict(answer.freshness),
        "counts": asdict(answer.counts),
    }


def _iso(when: int) -> str:
    return datetime.fromtimestamp(when / 1_000, UTC).isoformat(timespec="milliseconds")
