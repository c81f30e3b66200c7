"""The events of a job's stream as tables, in order of time: to be run over more than once."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from topwater.errors import QueryError
from topwater.jobs.job import ONE, Job
from topwater.model import KeyArray, Millis
from topwater.monitor.columns import keys_of, times_of
from topwater.query import TopKQuery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROWS = 100_000  # of a batch


@dataclass(frozen=True, slots=True)
class RecordedEvents:
    """Events in order of time.

    Attributes
    ----------
    batches
        Tables that follow each other.
    keys
        The distinct keys.
    first, last
        The first and the last time.
    """

    batches: tuple[pa.Table, ...]
    keys: KeyArray
    first: Millis
    last: Millis

    @staticmethod
    def of(query: TopKQuery, table: pa.Table) -> RecordedEvents:
        """The events of a table, sorted. Those without a time or a key are left out.

        Raises
        ------
        QueryError
            If the query counts events, or nothing is left.
        """
        if query.time is None or query.window.by == "count":
            raise QueryError(
                "counts events, and a recording is by time",
                field="query.window",
                fix="use a window of time",
            )
        keys = keys_of(table, query.key_column, "key")
        times, dated = times_of(table.column(query.time).combine_chunks(), query.time)
        good = np.flatnonzero(dated & keys.is_valid().to_numpy(zero_copy_only=False))
        if not len(good):
            raise QueryError("has no events", field="stream", fix="look at its path and its schema")
        order = good[np.argsort(times[good], kind="stable")]
        ordered = table.take(pa.array(order))
        batches = tuple(ordered.slice(at, _ROWS) for at in range(0, len(order), _ROWS))
        distinct = np.asarray(keys.unique().drop_null().to_numpy(zero_copy_only=False))
        return RecordedEvents(batches, distinct, int(times[order[0]]), int(times[order[-1]]))


def events_of(job: Job, spark: SparkSession) -> RecordedEvents:
    """The events of a job that are there now, read by Spark as a run would read them.

    Raises
    ------
    QueryError
        If the job is in RSP-QL, or its stream has no end.
    """
    if job.plan is not None:
        raise QueryError(
            "is in RSP-QL, and is not tried on recordings",
            field="query.rspql",
            fix="write the same query in a table [query]",
        )
    stream = job.streams[ONE]
    if not stream.settings.bounded:
        raise QueryError(
            f"a stream from {stream.settings.kind} has no end",
            field="stream.kind",
            fix="write its events to files first, and name these",
        )
    rows = stream.open(spark, once=True)
    # By way of files: what a driver may collect is limited, and what it holds twice is too.
    with tempfile.TemporaryDirectory(prefix="topwater-plan-") as folder:
        rows.select(*job.query.columns).write.parquet(f"{folder}/events")
        table = pq.read_table(f"{folder}/events")
    with job.written.blamed("query"):
        return RecordedEvents.of(job.query, table)
