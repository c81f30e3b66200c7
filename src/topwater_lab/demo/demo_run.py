"""The demo from its first step to its last, and how long each took."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from topwater.errors import EnvironmentProblem
from topwater.jobs.signals import StopFlag, stop_flag
from topwater_lab.demo.contenders import LADDER, Field, Rung, Verdict, field_of, judged, rungs
from topwater_lab.demo.demo_page import opened_page
from topwater_lab.demo.findings import Report, made
from topwater_lab.demo.html_report import report_page
from topwater_lab.demo.scene import Remote, Scene
from topwater_lab.demo.spark_answers import answers
from topwater_lab.demo.window_comparison import Window, label

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from topwater.live import Page
    from topwater.model import Answer

OUT = Path("out/demo")


@dataclass(frozen=True, slots=True)
class Wishes:
    """How the demo is shown.

    Parameters
    ----------
    out
        The folder for the report.
    live, port
        Whether there is a live page, and where; another port is taken if it is not free.
    stay
        Keep the live page until Ctrl-C when all is done.
    log_file
        Keep Spark's log there.
    """

    out: Path = OUT
    live: bool = True
    port: int = 8787
    stay: bool = False
    log_file: str | None = None


class Display(Protocol):
    """Where the demo tells what happens."""

    def waiting(self, what: str) -> contextlib.AbstractContextManager[Any]:
        """Something slow begins."""

    def live(self, url: str) -> None:
        """The live page is there."""

    def begin(self, remote: Remote, others: Field) -> None:
        """Everything is there."""

    def window(self, window: Window) -> None:
        """A window closed."""

    def report(self, report: Report, path: Path) -> None:
        """All is done, and written down."""

    def note(self, text: str) -> None:
        """Something that people should know."""

    def end(self) -> None:
        """Nothing follows, as all is done or somebody stopped it."""


@dataclass(slots=True)
class Stopwatch:
    """How long each step took."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count what happens in the block."""
        began = time.monotonic()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - began


def run(scene: Scene, display: Display, wishes: Wishes | None = None) -> Report:
    """Run the demo to its end.

    Raises
    ------
    QueryError
        If the policy is unknown.
    EnvironmentProblem
        If the report can't be written where it should be, or Java or the service do not start.
    KeyboardInterrupt
        If the user stops it; Spark and the service are shut down first.
    """
    wishes = wishes or Wishes()
    scene.query()  # an unknown policy is said before Spark starts
    path = _prepared(wishes.out)
    watch = Stopwatch()
    with contextlib.ExitStack() as ending:
        page = (
            ending.enter_context(opened_page(scene, wishes, display.note)) if wishes.live else None
        )
        ending.callback(display.end)
        if page is not None:
            display.live(page.url)
        with watch.step("in all"):
            report = _played(scene, display, wishes, watch, page)
        report = replace(report, seconds=watch.seconds)
        _write(path, report_page(report))
        display.report(report, path)
        if page is not None:
            page.ended(f"The stream has ended. The report is {path}.")
        if page is not None and wishes.stay:
            _stay(display, page)
    return report


def _played(
    scene: Scene, display: Display, wishes: Wishes, watch: Stopwatch, page: Page | None
) -> Report:
    """The stream from its beginning to its end, and all that is compared with it."""
    with (
        ThreadPoolExecutor(1) as pool,
        stop_flag() as stop,
        contextlib.ExitStack() as ending,
    ):
        # In the background: Spark takes its time to start, and leaves ours alone.
        ending.callback(pool.shutdown, wait=False, cancel_futures=True)
        with display.waiting("starting the remote service and Spark"):
            scene.oracle  # noqa: B018  found once, before two threads look for it
            rivals = pool.submit(_timed(watch, "rivals, in the background"), field_of, scene)
            with watch.step("service"):
                remote = ending.enter_context(scene.remote())
            with watch.step("Spark"):
                spark = ending.enter_context(_session(wishes, stop))
            others = stop.result(rivals)
        if page is not None:
            page.waits("the stream has begun")
        ladder = _ladder(pool, watch, scene, others)
        display.begin(remote, others)
        found = []
        with watch.step("stream"):
            for answer in answers(spark, scene, remote.source, stop):
                window = _window(scene, answer, others, page)
                display.window(window)
                found.append(answer)
        traffic = remote.traffic()
        with display.waiting("comparing"), watch.step("comparing"):
            climbed = [rung for each in ladder for rung in stop.result(each)]
            return made(scene, found, others, climbed, traffic)


@contextlib.contextmanager
def _session(wishes: Wishes, stop: StopFlag) -> Iterator[SparkSession]:
    # Here: `topwater --help` should not wait for it.
    from topwater.spark.session import end_session, kill_java, session

    stop.hurry = kill_java
    spark = session("topwater demo", log_file=wishes.log_file)
    try:
        stop.raise_if_set()
        yield spark
    finally:
        end_session(spark)


def _timed(watch: Stopwatch, name: str) -> Any:
    def call(function: Any, *arguments: Any) -> Any:
        with watch.step(name):
            return function(*arguments)

    return call


def _ladder(
    pool: ThreadPoolExecutor, watch: Stopwatch, scene: Scene, others: Field
) -> list[Future[list[Rung]]]:
    """Other budgets, one after the other while the stream runs."""
    timed = _timed(watch, "other budgets, in the background")
    budgets = sorted({*LADDER, scene.budget})
    return [pool.submit(timed, rungs, scene, others, budget) for budget in budgets]


def _window(scene: Scene, answer: Answer, others: Field, page: Page | None) -> Window:
    """A window that closed, told to the live page too."""
    at = answer.window.index
    rivals: dict[str, Verdict] = {label(each): each.windows[at] for each in others.finalists}
    window = Window.of(scene, answer, judged(scene, answer), rivals)
    if page is not None:
        window.put(page)
    return window


def _prepared(folder: Path) -> Path:
    """Where the report will be; the folder is made now, so that nothing runs in vain."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from None
    return folder / "report.html"


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"{path} can't be written: {error.strerror}", fix="pass --out with another folder"
    )


def _stay(display: Display, page: Page) -> None:
    display.note(f"the live page stays at {page.url} until Ctrl-C")
    with stop_flag() as stop:
        stop.wait()
