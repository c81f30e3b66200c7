"""A query over a table in SQL: a table function of Spark.

::

    SELECT * FROM topwater_topk(TABLE(events), 'key = "lot" …')

Spark shows it the columns of the table when it reads the statement, and then sends it the rows, in
one task. What is answered, and how, is the same as for a table that :func:`topwater.spark.topk` is
given.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.functions import udtf
from pyspark.sql.types import StructType
from pyspark.sql.udtf import AnalyzeResult, SelectedColumn

from topwater import remote
from topwater.errors import QueryError
from topwater.monitor import KeyedMonitor
from topwater.query import TopKQuery
from topwater.remote.wrappers.clocks import SYSTEM_CLOCK
from topwater.spark.sql_columns import SqlColumn, answer_rows, answer_schema, columns_for, selected
from topwater.validation import checked_call, mapping_of, text_of
from topwater.windows import sliding, tumbling

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession
    from pyspark.sql.udtf import AnalyzeArgument


NAME = "topwater_topk"
_TABLES = ("query", "source")
_STREAM = "sql.streaming.queryId"
_ROWS = 65_536
"""Rows are objects of Python until there are so many."""


@checked_call()
def register_sql(spark: SparkSession, name: str = NAME) -> None:
    """Let statements of a session call a table function that answers a query.

    ``SELECT * FROM topwater_topk(TABLE(events), '…')``: a table, and a query in JSON or TOML, with
    the settings of :class:`~topwater.TopKQuery`. With a remote part the text has the tables
    ``query`` and ``source``, as a job file has.

    Parameters
    ----------
    spark
        The session.
    name
        What the function is to be called.

    Examples
    --------
    >>> register_sql(spark)  # doctest: +SKIP
    >>> spark.sql("SELECT * FROM topwater_topk(TABLE(bids), '{…}')")  # doctest: +SKIP
    """
    function: Any = udtf(TopKFunction, useArrow=False)
    spark.udtf.register(text_of(name, "name"), function)


class Question(NamedTuple):
    """What the text asks: a query, and where its remote values are."""

    query: TopKQuery
    source: Mapping[str, Any] | None = None

    @staticmethod
    def of(text: str) -> Question:
        """From JSON or TOML.

        Raises
        ------
        QueryError
            If it can't be read, or is no query: with the field and what to do.

        Examples
        --------
        >>> text = '{"key": "lot", "time": "at", "score": "amount", "k": 2, "window": "1 min"}'
        >>> Question.of(text).query
        <TopKQuery: the 2 best by amount, over the last 1 min, every 1 min>
        """
        given = _settings(text)
        tables = given if "query" in given else {"query": given}
        unknown = [name for name in tables if name not in _TABLES]
        if unknown:
            raise QueryError(
                f"the text has the tables {', '.join(tables)}",
                field=unknown[0],
                fix=f"use {', '.join(_TABLES)}",
            )
        asked = dict(mapping_of(tables["query"], "query", "give the settings of TopKQuery"))
        if isinstance(asked.get("window"), str):
            asked["window"] = _window(asked["window"])
        query = TopKQuery.from_dict(asked)
        _require_answerable(query)
        return Question(query, tables.get("source"))

    def monitor(self) -> KeyedMonitor:
        """A monitor that answers it.

        Raises
        ------
        QueryError
            If a source is missing, or can't be made.
        """
        given = self.source
        found = (
            None if given is None else remote.source(mapping_of(given, "source", "give its url"))
        )
        return KeyedMonitor(self.query, source=found, clock=SYSTEM_CLOCK)


@dataclass
class Analyzed(AnalyzeResult):
    """What is known when a statement has been read, sent to where its rows are."""

    text: str = ""
    columns: tuple[SqlColumn, ...] = ()


class TopKFunction:
    """What Spark calls for each statement: :meth:`analyze` for its columns, then for its rows."""

    def __init__(self, analyzed: Analyzed) -> None:
        context = TaskContext.get()
        if context is not None and context.getLocalProperty(_STREAM):
            raise QueryError(
                "the table is a stream, and SQL would show each micro-batch as a table of its own",
                field="events",
                fix="use topwater.spark.topk(), or a job: topwater run",
            )
        self._question = Question.of(analyzed.text)
        self._columns = analyzed.columns
        self._rows: list[tuple[Any, ...]] = []
        self._tables: list[pa.Table] = []

    @staticmethod
    def analyze(events: AnalyzeArgument, query: AnalyzeArgument) -> Analyzed:
        """The columns of the answers, and which columns of the table are needed.

        Raises
        ------
        QueryError
            If the query can't be read, or does not fit the table.
        """
        if not events.isTable or not isinstance(events.dataType, StructType):
            raise QueryError("there is no table", field="events", fix="write TABLE(its_name)")
        if not query.isConstantExpression or not isinstance(query.value, str):
            raise QueryError(
                "the query is no text that stands in the statement",
                field="query",
                fix="write it in quotes, as JSON or TOML",
            )
        question = Question.of(query.value)
        columns = columns_for(question.query, events.dataType)
        monitor = question.monitor()
        monitor.ingest(selected(columns, []))  # what does not fit is told in the reader's words
        return Analyzed(
            schema=answer_schema(question.query, columns),
            withSinglePartition=True,
            select=[SelectedColumn(each.expression, each.name) for each in columns],
            text=query.value,
            columns=columns,
        )

    def eval(self, events: Row, query: str) -> None:  # noqa: ARG002  it was analyzed
        """Take in a row."""
        self._rows.append(tuple(events))
        if len(self._rows) == _ROWS:
            self._pack()

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """The answers, when all rows are there."""
        self._pack()
        monitor = self._question.monitor()
        if self._question.source is not None:
            monitor.start()
        monitor.ingest(pa.concat_tables(self._tables))
        for answer in monitor.flush():
            yield from answer_rows(answer, self._question.query)

    def _pack(self) -> None:
        self._tables.append(selected(self._columns, self._rows))
        self._rows = []


def _settings(text: str) -> Mapping[str, Any]:
    kind = "JSON" if text.lstrip().startswith("{") else "TOML"
    try:
        found = json.loads(text) if kind == "JSON" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        fix = 'write {"key": …} in JSON, or key = … in TOML'
        raise QueryError(f"the text is no {kind}: {error}", field="query", fix=fix) from None
    return mapping_of(found, "query", "give the settings of TopKQuery")


def _window(text: str) -> Any:
    """A window in words, as in a job: ``"9 min every 3 min"``, or ``"10 min"``."""
    width, every, step = text.partition(" every ")
    return sliding(width, step) if every else tumbling(width)


def _require_answerable(query: TopKQuery) -> None:
    if query.joins is not None:
        raise QueryError(
            "several remote values, or a condition on one, can't be asked for in SQL",
            field="refresh",
            fix="use topwater.spark.topk(), which takes tables too",
        )
    for field, ordered in (("window", query.window.by != "time"), ("score", query.score.running)):
        if ordered:
            raise QueryError(
                "it depends on the order of events, which a table does not have",
                field=field,
                fix="use time windows, and declare each range as (low, high)",
            )
