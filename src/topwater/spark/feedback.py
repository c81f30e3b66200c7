"""What the stateful stage has learnt, told to the next micro-batch before its rows leave Java.

::

    events ──► filter in Java ──► reduce ──► monitor
                    ▲                            │
                    └──── board: "below 0.97, nothing matters" ◄──┘

Rows that do not cross from Java to Python cost next to nothing. Once a pane has k items, every
later row of that pane that scores less than the k-th is useless: the monitor says so on a
*board*, a small file, and a scalar subquery puts it into a filter that Spark compiles. It pays
where a pane spans several micro-batches; elsewhere it costs a tiny scan for each of them.

Why it is exact: only rows strictly below the k-th best are cut, and the items that set the limit
score at least that, so a micro-batch that runs twice, and sees on the board what its own first
run wrote, still lets them through. Rows of other panes and rows without a key are never cut. A
board belongs to one checkpoint: its name is the query's id.

A few of the cut rows pass all the same, one in a thousand, so that time goes on. Counts of
events are of those that crossed.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import IntegralType, TimestampType

from topwater.errors import QueryError
from topwater.spark.formulas import quoted, rank_score

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.datasource import InputPartition
    from pyspark.sql.types import StructType

    from topwater.monitor import Cut
    from topwater.query import TopKQuery

FORMAT = "topwater-board"
_ONE_IN = 1_000
_QUERY_ID = "sql.streaming.queryId"


class BoardSource(DataSource):
    """One row: between which times, and below which score, rows are useless."""

    @classmethod
    def name(cls) -> str:
        """The name to give to ``format``."""
        return FORMAT

    def schema(self) -> str:
        """Two times in milliseconds, and a score; all null when nothing is known."""
        return "opens bigint, closes bigint, floor double"

    def reader(self, schema: StructType) -> BoardReader:  # noqa: ARG002
        """The reader that Spark asks anew in every micro-batch."""
        return BoardReader(self.options["folder"])


class BoardReader(DataSourceReader):
    """Reads what the shards of the running query have written."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def read(self, partition: InputPartition) -> Iterator[tuple[float | None, ...]]:  # noqa: ARG002
        """The one row."""
        yield read_board(self.folder) or (None, None, None)


def read_board(folder: str) -> tuple[int, int, float] | None:
    """The best that any shard says of the newest pane.

    A shard's k-th best is a limit for the rows of all shards: k items beat what is below it.
    """
    found = []
    for path in Path(folder).glob(f"{_running()}-*.json"):
        with contextlib.suppress(OSError, ValueError):
            found.append(tuple(json.loads(path.read_text())))
    if not found:
        return None
    newest = max(closes for _, closes, _ in found)
    current = [each for each in found if each[1] == newest]
    return max(each[0] for each in current), newest, max(each[2] for each in current)


def write_board(folder: str, shard: int, cut: Cut) -> None:
    """Tell the next micro-batch. A board that can't be written costs speed, not answers."""
    with contextlib.suppress(OSError):
        path = Path(folder) / f"{_running()}-{shard}.json"
        handle, name = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "w") as file:
            json.dump([cut.opens, cut.closes, cut.floor], file)
        Path(name).replace(path)


def _running() -> str:
    context = TaskContext.get()
    return str(None if context is None else context.getLocalProperty(_QUERY_ID))


def without_useless(events: DataFrame, query: TopKQuery, folder: str) -> DataFrame:
    """The events without those that the board says to be useless."""
    _check(events, query)
    events.sparkSession.dataSource.register(BoardSource)
    board = events.sparkSession.read.format(FORMAT).option("folder", folder).load()
    opens, closes, floor = (board.select(name).scalar() for name in ("opens", "closes", "floor"))
    time, score = _time(events, query), rank_score(query.score, events.schema)
    assert score is not None  # noqa: S101  _check has seen to it; for the type checker
    useless = (time > opens) & (time <= closes) & (score < floor)
    useless = F.coalesce(useless & quoted(query.key).isNotNull(), F.lit(False))
    return events.filter(~useless | (F.pmod(F.xxhash64(time), F.lit(_ONE_IN)) == 0))


def _time(events: DataFrame, query: TopKQuery) -> Column:
    name = str(query.time)
    is_timestamp = isinstance(events.schema[name].dataType, TimestampType)
    return F.unix_millis(quoted(name)) if is_timestamp else quoted(name)


def board_folder(feedback: bool | str, master: str | None) -> str:
    """A new folder for a board, where all that take part can read and write."""
    if feedback is True and not (master or "").startswith("local["):
        raise QueryError(
            f"executors of {master} can't see this machine's temporary folder",
            field="feedback",
            fix="give a folder that the driver and all executors see",
        )
    parent = None if feedback is True else str(feedback)
    return tempfile.mkdtemp(prefix="topwater-board-", dir=parent)


def _check(events: DataFrame, query: TopKQuery) -> None:
    if query.aggregation is not None or query.group_by is not None:
        raise QueryError(
            "only single events in one ranking can be cut by their score",
            field="feedback",
            fix='use it with take="each" and without group_by',
        )
    kind = events.schema[str(query.time)].dataType
    if not isinstance(kind, TimestampType | IntegralType):
        raise QueryError(
            f"the time column is of type {kind.simpleString()}",
            field="feedback",
            fix="use timestamps, or milliseconds as whole numbers",
        )
    if rank_score(query.score, events.schema) is None:
        raise QueryError(
            "Spark can't compute this score exactly as Python does",
            field="feedback",
            fix="use + - * abs sqrt min max clip norm, and a division by a constant only",
        )
