"""Runs a job on Spark, until it is stopped, or once over what is there."""

from __future__ import annotations

import contextlib
import functools
import queue
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from topwater.errors import EnvironmentProblem, QueryError, SourceError
from topwater.jobs.display import Display, Rows, windows_of
from topwater.jobs.explanation import job_explanation
from topwater.jobs.job import ONE, Job
from topwater.jobs.job_text import Place
from topwater.jobs.remote_side import example, service_of, source_of
from topwater.jobs.signals import StopFlag, calm, stop_flag
from topwater.jobs.sink_writer import groups_of, require_lasting, start_writing, write_batch
from topwater.jobs.trigger import AVAILABLE_NOW, trigger_of
from topwater.redaction import shown_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from topwater.live import Page
    from topwater.spark.shown_rows import AnswerFeed, Told

_PATIENCE = 5.0
_MOST_WAITING = 100  # parts of micro-batches that a terminal has not shown yet
_LOOK = 5.0  # seconds between two looks at the folders of a stream


def run(
    job: Job,
    display: Display,
    *,
    once: bool = False,
    live: bool = False,
    log_file: str | None = None,
    spark: SparkSession | None = None,
) -> None:
    """Run a job until Ctrl-C or SIGTERM, or once over what is there.

    Parameters
    ----------
    job
        What to run.
    display
        Where it shows what it does.
    once
        End when all that is there was read. With a checkpoint, what earlier runs answered is
        not answered again, and windows to which more may come are left to later runs; without
        one, all windows are answered.
    live
        Serve the live page.
    log_file
        Where Spark's log goes.
    spark
        A session to use; by default one is started, and stopped at the end.

    Raises
    ------
    QueryError
        If the job can't be run as it is: before Spark starts where that is possible.
    KeyboardInterrupt
        If the user stops it; Spark is shut down first.
    """
    if once or job.sink.ends:
        once = True
        _require_end(job)
    with contextlib.ExitStack() as stack:
        page = stack.enter_context(_page(job)) if live or job.wants_live else None
        if page is not None:
            display.say(f"live page: {page.url}")
        at = stack.enter_context(example(job.needs_example))
        stop = stack.enter_context(stop_flag())
        if spark is None:
            spark = stack.enter_context(_session(job, display, stop, log_file))
        try:
            with calm(stop):
                watched = page is not None or display.watched
                told = answered(job, spark, display, stop, at=at, once=once, watched=watched)
                for rows in told:
                    display.window(rows)
                    if page is not None:
                        _put(page, rows, job)
        except KeyboardInterrupt:
            display.end()
            display.show_problem()
            raise
        display.end()
        _require_usable(job, display)
        display.show_problem()


def _require_usable(job: Job, display: Display) -> None:
    """Raise ``SourceError`` if no look-up of the whole run was of use."""
    summary = display.summary
    if summary.problem and summary.usable <= 0:
        raise SourceError(
            f"{summary.problem}: the answers know nothing of the remote side",
            field="source" if job.plan is None else "services",
            fix=f"see what the source says: topwater run {job.written.path} --check",
        )


def _require_end(job: Job) -> None:
    for each in job.streams.values():
        if not each.settings.bounded:
            raise QueryError(
                f"a stream from {each.settings.kind} has no end",
                field="sink.trigger" if job.sink.ends else "--once",
                fix="leave it out, and end the run with Ctrl-C",
            )


@contextlib.contextmanager
def _session(
    job: Job, display: Display, stop: StopFlag, log_file: str | None
) -> Iterator[SparkSession]:
    """A session of the job's own, or the one that is there, which then stays.

    Who asks a second time to stop the job's own does not wait for Java.
    """
    from topwater.spark.session import end_session, kill_java, running_session, session

    own = running_session() is None
    if own:
        stop.hurry = kill_java
    with display.waiting("starting Spark"):
        spark = session(
            f"topwater run {job.name}",
            master=job.spark.master or None,
            shuffle_partitions=job.spark.shards,
            log_file=log_file,
            packages=job.packages,
            conf=job.spark.conf,
        )
    try:
        stop.raise_if_set()
        if own:
            with job.written.blamed("sink"):
                require_lasting(job.sink, spark)
        yield spark
    finally:
        if own:
            end_session(spark)


def _page(job: Job) -> contextlib.AbstractContextManager[Page]:
    from topwater.live import Page

    one, several = job.query.single, job.query.joins
    names = () if several is None else several.names
    return Page.started(
        job.live.title or job.name,
        str(job_explanation(job)),
        port=job.live.port,
        values=() if job.plan else job.query.names_taken,
        remote=", ".join(names) if one is None else one.remote,
        budget=None if one is None else one.budget.limit,
    )


def _put(page: Page, rows: Rows, job: Job) -> None:
    from topwater.live import records_of_rows

    score = "" if job.plan is None else job.plan.score_name or ""
    for record in records_of_rows(rows, score):
        page.put(record)


def answers_of(job: Job, spark: SparkSession, at: str, *, table: bool) -> DataFrame:
    """The rows that the job gives: a stream, or a table."""
    from topwater.spark import rspql, topk

    how = job.spark
    streams = {name: _opened(job, name, spark, table=table) for name in job.streams}
    with job.written.blamed("query"):
        if job.plan is None:
            events = streams[ONE]
            base = job.written.base
            named = {name: source_of(each, base, at) for name, each in job.services.items()}
            return topk(
                events,
                job.query,
                named.get(ONE),
                sources=None if ONE in named or not named else named,
                shards=how.shards,
                late_rows=how.late_rows,
                idle=how.idle,
            )
        return rspql(
            spark,
            job.plan,
            streams=streams,
            services={n: service_of(s, job.written.base, at) for n, s in job.services.items()},
            files=job.files,
            shards=how.shards,
            idle=how.idle,
        )


def _opened(job: Job, name: str, spark: SparkSession, *, table: bool) -> Any:
    """A stream; what Spark says against it is told with its name."""
    stream = job.streams[name]
    place = ("stream",) if job.plan is None else ("streams", name)
    opened = stream.open if job.plan is None else stream.open_rdf
    with job.written.blamed(*place), _named(job, place):
        return opened(spark, once=table)


@contextlib.contextmanager
def _named(job: Job, place: Place) -> Iterator[None]:
    """What the session lacks, with the table of the file that needs it."""
    try:
        yield
    except EnvironmentProblem as error:
        told = job.written.error(error.problem, place, error.fix)
        raise EnvironmentProblem(told.problem, fix=told.fix) from error


def answered(
    job: Job,
    spark: SparkSession,
    display: Display,
    stop: StopFlag,
    *,
    at: str,
    once: bool,
    watched: bool = True,
) -> Iterator[Rows]:
    """The windows that are shown, as they close; those of the terminal are all of them.

    Where something else keeps them, they are the newest of each micro-batch, and none if nobody
    watches.
    """
    from topwater.spark.shown_rows import AnswerFeed, observed

    table = once and job.sink.holds_tables
    answers = answers_of(job, spark, at, table=table)
    if table:
        yield from _answered_once(job, answers, stop)
        return
    terminal = job.sink.kind == "console"
    if watched and not terminal:
        answers = observed(answers, _groups(job, answers.columns))
    with contextlib.ExitStack() as stack:
        stack.enter_context(display.running())
        feed = stack.enter_context(AnswerFeed(spark))
        show = functools.partial(_show, feed, stop) if terminal else None
        running = stack.enter_context(_started(job, answers, display, show, once=once))
        feed.run = str(running.runId)
        looked = time.monotonic()
        while running.isActive and not stop.is_set():
            yield from _windows(job, feed.next(0.2), display)
            if time.monotonic() - looked > _LOOK:
                looked = time.monotonic()
                _report_missing(running, display)
        if stop.is_set():
            _finish(running)
        for told in feed.rest():
            yield from _windows(job, told, display)
        stop.raise_if_set()
        if (error := running.exception()) is not None:
            raise error


def _show(feed: AnswerFeed, stop: StopFlag, rows: list[dict[str, Any]]) -> None:
    """Pass rows on to the terminal, no faster than it shows them."""
    while feed.waiting > _MOST_WAITING and not stop.is_set():
        time.sleep(0.01)
    feed.show(rows)


def _windows(job: Job, told: Told | None, display: Display) -> list[Rows]:
    """The windows of what is told, after its figures were counted."""
    if told is None:
        return []
    found = _in_windows(job, told.rows)
    if told.progress is not None:
        display.counted(told.progress)
        if told.cut and (more := told.progress.windows - len(found)) > 0:
            display.say(f"{more:,} older windows are not shown; they went to {job.sink}")
    return found


def _in_windows(job: Job, rows: list[dict[str, Any]]) -> list[Rows]:
    return windows_of(rows, _groups(job, [*rows[0]]) if rows else None)


def _groups(job: Job, columns: Sequence[str]) -> tuple[str, ...]:
    return groups_of(columns, job.query.group_by if job.plan is None else None)


def _report_missing(running: StreamingQuery, display: Display) -> None:
    """Say that a folder is gone from which files were to come: Spark waits for it silently."""
    from topwater.spark.running_query import RunningQuery

    if isinstance(running, RunningQuery):
        running.report_missing(display.say)


def _answered_once(job: Job, answers: DataFrame, stop: StopFlag) -> Iterator[Rows]:
    """The windows of a table, computed in a thread of its own: the main one looks at the flag."""
    from topwater.spark.launch import shuffle_partitions

    spark, tag = answers.sparkSession, f"topwater-{uuid.uuid4()}"
    arrived: queue.Queue[list[dict[str, Any]]] = queue.Queue()

    def written() -> None:
        spark.sparkContext.addJobTag(tag)  # by which these jobs are known, and no others
        write_batch(job.sink, answers, 0, show=arrived.put)

    with (
        shuffle_partitions(spark, job.spark.shards),
        ThreadPoolExecutor(1, "topwater-table") as pool,
    ):
        done = pool.submit(written)
        try:
            stop.result(done)
        finally:
            if not done.done():
                spark.sparkContext.cancelJobsWithTag(tag)
    while not arrived.empty():
        yield from _in_windows(job, arrived.get())


@contextlib.contextmanager
def _started(
    job: Job, answers: DataFrame, display: Display, show: Any, *, once: bool
) -> Iterator[StreamingQuery]:
    """The query, with a checkpoint that outlives it if there is one; stopped at the end."""
    from topwater.spark.folders import names_in
    from topwater.spark.run_folder import run_folder

    job.sink.require_continued(functools.partial(names_in, answers.sparkSession))
    with contextlib.ExitStack() as stack:
        if job.sink.promise:
            display.say(f"answers go to {job.sink}: {job.sink.promise}")
        checkpoint = job.sink.checkpoint
        if checkpoint:
            word = "goes on from" if job.sink.started else "is kept in"
            display.say(f"how far it came {word} {shown_path(checkpoint)}")
        else:
            folder = tempfile.TemporaryDirectory(prefix="run-", dir=run_folder())
            checkpoint = f"{stack.enter_context(folder)}/checkpoint"
        job.sink.explain(str(job_explanation(job)))
        trigger = trigger_of(AVAILABLE_NOW if once else job.sink.trigger)
        with job.written.blamed("sink"), _named(job, ("sink",)):
            running = start_writing(
                job.sink, answers, show, checkpoint=checkpoint, trigger=trigger, name=job.name
            )
        stack.callback(running.stop)
        yield running


def _finish(running: StreamingQuery) -> None:
    """Let the micro-batch that is under way come to its end, if that is soon, and stop."""
    patience = time.monotonic() + _PATIENCE
    while running.isActive and running.status["isTriggerActive"] and time.monotonic() < patience:
        time.sleep(0.02)
    running.stop()
