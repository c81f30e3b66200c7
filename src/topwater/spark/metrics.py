"""How a running query is doing: one :class:`Progress` per micro-batch, printed or exported.

Spark observes the answers as they leave the stateful stage; a listener on the driver gets what it
saw, with Spark's own figures, when a micro-batch is done.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql.streaming.listener import StreamingQueryListener

from topwater.redaction import redacted
from topwater.spark.answer_rows import FIGURES
from topwater.spark.planned_rankings import ranking_labels

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        StreamingQueryProgress,
    )

_STAGES = ("transformWithStateInPySparkExec", "transformWithStateInPandasExec")
_WRITTEN = "rocksdbTotalBytesWritten"
_log = logging.getLogger("topwater")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What one micro-batch of one query did.

    Attributes
    ----------
    query, id, run
        The name of the streaming query, or its id if it has none; its id, which a restart keeps;
        and the id of this run.
    ranking
        Which of its rankings this is, if it has several: by its name, or by a number. What
        concerns the query as a whole, ``rows`` and ``state_memory``, is told with the first.
    batch, at
        The number of the micro-batch, and when it was triggered.
    windows
        Answers given: one per window, or one per window and group.
    events, late, before_start, bad_key, bad_time, bad_score, skipped_windows, skipped_files
        What happened to the events since the answers before, as does ``forgotten``, which counts
        keys of the replica; see :class:`topwater.model.Counts`. They come with the answers: a
        micro-batch that ends no window tells none.
    candidates
        The most items that were remembered after an answer.
    fetched, failed, bad_values
        Keys asked for; those the source did not answer; and those it answered without a usable
        number.
    problems
        Of the keys without a usable value, how many by why; see
        :data:`topwater.problems.REASONS`.
    precision, ndcg
        Estimated, the mean of the answers; None if there are none, or without a remote part.
    missed
        Answers whose estimated precision is below the accuracy asked for.
    nothing_usable
        Answers for which keys were asked for, and none brought a usable value.
    out_of_reach
        Answers for which all that a set-point allows was spent, and that are less right than asked.
    audited
        Precision by look-ups drawn at random, the mean of the answers; None without an audit.
    doubtful
        Answers whose own estimates contradict it.
    results, queries, references, changes, bad_changes
        Of standing queries: rows given out; how many queries there are, and objects that they
        refer to; changes that were asked for, and how many of them were refused.
    refused
        In words, which changes those were, and how often each.
    state_bytes, state_written
        How large the state of all shards is, and how much of it the micro-batch wrote; of
        standing queries both are the same.
    state_came
        Bytes that came to the shards: the events, reduced.
    state_kept, state_caught_up, state_rebuilt
        How many shards found their monitor in the worker as it was after the micro-batch before;
        how many found an older one, which took in what it had missed; and how many had to be
        built from the state.
    state_memory
        What the state store holds in memory, in bytes.
    rows, rows_per_second
        Rows that Spark read, heartbeats among them, and how many it processed in a second.
    batch_ms, closing_ms
        How long the micro-batch took; and how long the slowest shard to answer its windows,
        look-ups included.
    """

    query: str
    id: str
    run: str
    batch: int
    at: str
    ranking: str = ""
    windows: int = 0
    events: int = 0
    late: int = 0
    before_start: int = 0
    bad_key: int = 0
    bad_time: int = 0
    bad_score: int = 0
    skipped_windows: int = 0
    skipped_files: int = 0
    forgotten: int = 0
    candidates: int = 0
    fetched: int = 0
    failed: int = 0
    bad_values: int = 0
    precision: float | None = None
    ndcg: float | None = None
    missed: int = 0
    nothing_usable: int = 0
    out_of_reach: int = 0
    audited: float | None = None
    doubtful: int = 0
    problems: Mapping[str, int] = field(default_factory=dict)
    results: int = 0
    queries: int = 0
    references: int = 0
    changes: int = 0
    bad_changes: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)
    state_bytes: int = 0
    state_written: int = 0
    state_came: int = 0
    state_kept: int = 0
    state_caught_up: int = 0
    state_rebuilt: int = 0
    state_memory: int = 0
    rows: int = 0
    rows_per_second: float = 0.0
    batch_ms: int = 0
    closing_ms: int = 0

    def __str__(self) -> str:
        """One line."""
        bad = self.bad_key + self.bad_time + self.bad_score + self.before_start
        name = f"{self.query} {self.ranking}".rstrip()
        parts = [
            f"{name} #{self.batch}: windows {self.windows}, events {self.events:,}",
            f"late {self.late}, bad {bad}, candidates {self.candidates:,}",
        ]
        if self.queries:
            refused = f"{self.changes} ({self.bad_changes} refused)"
            parts = [
                f"{name} #{self.batch}: results {self.results:,}, events {self.events:,}",
                f"late {self.late}, bad {bad}, queries {self.queries:,}, changes {refused}",
            ]
        if self.precision is not None and self.ndcg is not None:
            why = ", ".join(f"{name or 'unknown'} {n}" for name, n in self.problems.items())
            without = f", without a number {self.bad_values}" if self.bad_values else ""
            lost = f"failed {self.failed}{without}{why and f' ({why})'}"
            parts.append(f"fetched {self.fetched}, {lost}")
            if self.nothing_usable:
                parts.append(f"NOTHING USABLE from the source in {self.nothing_usable} windows")
            parts.append(f"precision {self.precision:.2f}, nDCG {self.ndcg:.2f}")
            parts.append(f"missed {self.missed}")
            if self.out_of_reach:
                parts.append(f"accuracy OUT OF REACH in {self.out_of_reach} windows")
            if self.audited is not None:
                parts.append(f"audited {self.audited:.2f}")
            if self.doubtful:
                parts.append(f"estimates CONTRADICT the audit in {self.doubtful} windows")
        speed = f"rows {self.rows:,} in {self.batch_ms:,} ms ({self.rows_per_second:,.0f}/s)"
        return ", ".join([*parts, speed, f"state {self.state_bytes:,} B"])

    @classmethod
    def of(cls, told: StreamingQueryProgress) -> Progress | None:
        """What Spark reported of a micro-batch; None if the query is not Topwater's.

        Of several rankings this is the first.
        """
        return next(iter(cls.all_of(told)), None)

    @classmethod
    def all_of(cls, told: StreamingQueryProgress) -> list[Progress]:
        """The same for each ranking of the query."""
        labels = ranking_labels(told.observedMetrics)
        alone = len(labels) == 1
        found = [cls._of(told, *each, alone=alone) for each in labels.items()]
        return [found[0], *(_without_whole(each) for each in found[1:])] if found else []

    @classmethod
    def _of(
        cls, told: StreamingQueryProgress, observed: str, label: str, *, alone: bool
    ) -> Progress:
        seen: dict[str, Any] = told.observedMetrics[observed].asDict()
        seen["bad_values"] = seen.pop("bad", 0)
        seen |= _of_state(seen.pop(FIGURES, None) or [])
        known = {each.name for each in fields(cls)}
        # A sum over no rows is null. A mean is, too, and stays so.
        counts = {
            name: value for name, value in seen.items() if name in known and value is not None
        }
        if seen.get("state_held"):
            counts["state_bytes"] = seen["state_held"]
        for name in ("problems", "refused"):
            counts[name] = _summed(seen.get(name) or [])
        stages = [each for each in told.stateOperators if each.operatorName in _STAGES]
        # Where there are several rankings, Spark does not say whose these are.
        written = sum(int(each.customMetrics.get(_WRITTEN, 0)) for each in stages) if alone else 0
        held = {"state_bytes": written, "state_written": counts.get("state_bytes", written)}
        return cls(
            query=told.name or str(told.id),
            id=str(told.id),
            run=str(told.runId),
            batch=told.batchId,
            at=told.timestamp,
            ranking=label,
            **held | counts,
            state_memory=sum(each.memoryUsedBytes for each in stages),
            rows=told.numInputRows,
            rows_per_second=told.processedRowsPerSecond,
            batch_ms=told.batchDuration,
        )


def _without_whole(progress: Progress) -> Progress:
    """Without what is told once for a query, so that sums over its rankings are right."""
    return replace(progress, rows=0, state_memory=0)


def _with_state(progress: Progress, before: Progress | None) -> Progress:
    """With the size of the state from before, if no row has come to it."""
    if before is None or not progress.ranking or progress.state_bytes:
        return progress
    return replace(progress, state_bytes=before.state_bytes)


def _of_state(figures: list[dict[str, int]]) -> dict[str, int]:
    """What the shards report of their states, of all of them."""
    found = {f"state_{name}": count for name, count in _summed(figures).items()}
    found.pop("state_closing_ms", None)
    return found | {"closing_ms": max((each.get("closing_ms", 0) for each in figures), default=0)}


def _summed(problems: list[dict[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for each in problems:
        found.update(each)
    return dict(sorted(found.items()))


Take: TypeAlias = Callable[[Progress], object]


class Watch:
    """Listens until it is closed; also a context manager.

    Attributes
    ----------
    latest
        The last progress of each query, by id; where it has several rankings, of each by the id, a
        slash and which one it is.
    error
        What went wrong when it was last told or written, if anything did. It never reaches the
        stream.
    """

    def __init__(self, spark: SparkSession, take: Take) -> None:
        self.latest: dict[str, Progress] = {}
        self.error: Exception | None = None
        self._spark = spark
        self._take = take
        listener = _Listener(self._pass_on)
        self._listener: _Listener | None = listener
        spark.streams.addListener(listener)

    def close(self) -> None:
        """Stop listening. A second call does nothing."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(Exception):  # the session may have been stopped before
                self._spark.streams.removeListener(listener)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _pass_on(self, event: QueryProgressEvent) -> None:
        try:
            for progress in Progress.all_of(event.progress):
                several = f"{progress.id}/{progress.ranking}"
                place = several if progress.ranking else progress.id
                self.latest[place] = _with_state(progress, self.latest.get(place))
                self._take(self.latest[place])
        except Exception as error:
            if self.error is None:
                _log.warning("metrics are incomplete from now on: %s", redacted(repr(error)))
            self.error = error


def watch(spark: SparkSession, to: Take | str | Path = print) -> Watch:
    """Report how the queries of a session do, micro-batch by micro-batch.

    Parameters
    ----------
    spark
        The session. All its queries made by :func:`topwater.spark.topk` are watched, those
        that start later too.
    to
        A function that takes a :class:`Progress`; ``print`` shows it as one line. Or a path: of
        a file for Prometheus if it ends in ``.prom``, replaced as a whole after every
        micro-batch, else of a file to which one JSON object a line is added.

    Returns
    -------
    Watch
        Close it to stop.
    """
    return Watch(spark, _taker(to))


def _taker(to: Take | str | Path) -> Take:
    if callable(to):
        return to
    path = Path(to)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix != ".prom":
        return JsonLines(path)
    from topwater.spark.prometheus import Exposition

    exposition = Exposition()

    def expose(progress: Progress) -> None:
        exposition.add(progress.query, progress.id, asdict(progress), progress.ranking)
        exposition.write(path)

    return expose


class JsonLines:
    """Adds to a file, one JSON object a line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def __call__(self, progress: Progress) -> None:
        """Add a line."""
        line = json.dumps(asdict(progress))
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


class _Listener(StreamingQueryListener):
    def __init__(self, told: Callable[[QueryProgressEvent], None]) -> None:
        self._pass_on = told

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        self._pass_on(event)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        pass

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        pass
