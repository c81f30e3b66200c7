"""Stage 1 in Java: rows that can't be in an answer never cross to Python.

The copy from Java to Python costs more than all else that is done with a row. Where a score is
fixed at arrival, and Java can compute it, only each pane's k best have to cross: a few hundred
rows out of millions. ``Sieve.java`` picks them; :mod:`topwater.spark.java_classes` sends it to the
executors, compiled.

The contract that decides is that of :mod:`topwater.spark.stage_one` for ``take="each"``, and it
holds pane by pane and task by task: whatever ties with the k-th best is kept, so who wins a tie
is still decided in one place, in Python. Rows are counted in Java, by the rules of
:mod:`topwater.monitor.columns`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from topwater.model import Counts
from topwater.monitor.event_time import PaneTimes
from topwater.monitor.reduction import PartialBatch, reduce_batch
from topwater.scoring import Formula
from topwater.spark import java_columns
from topwater.spark.java_classes import mapped, within_reach
from topwater.spark.score_columns import rank_score
from topwater.windows import FARTHEST

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from topwater.model import IntArray
    from topwater.query import TopKQuery

MARK = b"topsieve"
"""How the bytes begin that Java has packed."""

_MOST = 2**31 - 1  # Java counts no further
_COUNTS = ("events", "before_start", "bad_key", "bad_time", "bad_score")


def sieved(events: DataFrame, query: TopKQuery, schema: str, shards: int) -> DataFrame | None:
    """The portions of a stream of events, as rows of ``schema``; None where Java can't make them.

    That is: with aggregates, with groups, and where a column's type or the score needs Python.
    """
    if query.aggregation is not None or query.group_by is not None or not within_reach(events):
        return None
    fields, windows = events.schema, query.window
    ticks, score = java_columns.ticks(fields, str(query.time)), rank_score(query.score, fields)
    key = java_columns.key(fields, query.key_column)
    beats = java_columns.beats(fields, query.heartbeat)
    if ticks is None or score is None or key is None or beats is None:
        return None
    per, time = ticks
    text, column = key
    sizes = (windows.start, windows.pane, per, FARTHEST * per)
    settings = (min(query.k, _MOST), *sizes, text, bool(beats), shards)
    return mapped(events, [time, score, column, *beats], schema, "Sieve", *settings)


def plain(query: TopKQuery) -> TopKQuery:
    """The same query over what the sieve lets through: a key, a time, and a score."""
    return replace(query, key="key", time="time", score=Formula("score"), heartbeat=None)


def read_partial_batch(packed: bytes, query: TopKQuery) -> PartialBatch:
    """What the sieve has packed.

    Parameters
    ----------
    packed
        The bytes that Java wrote.
    query
        As :func:`plain` gives it.
    """
    _, panes, items, text, *counted = np.frombuffer(packed, "<i8", 9).tolist()
    starts = np.cumsum([9, 3 * panes, items, items, items + text])
    numbers = np.frombuffer(packed, "<i8", int(starts[-1]))
    _, pane_times, score, time, key = np.split(numbers, starts[:-1])
    table = {
        "score": score.view("<f8"),
        "time": time,
        "key": _text(packed, key, 8 * int(starts[-1])) if text else key,
    }
    return replace(
        reduce_batch(query, pa.table(table)),
        times=PaneTimes(*pane_times.reshape(-1, 3).T),
        counts=Counts(**dict(zip(_COUNTS, counted, strict=True))),
    )


def _text(packed: bytes, ends: IntArray, start: int) -> pa.Array:
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(packed)[start:]]
    return pa.Array.from_buffers(pa.large_string(), len(ends) - 1, buffers)
