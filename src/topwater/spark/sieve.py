"""Stage 1 in Java: rows that can't be in an answer never cross to Python.

The copy from Java to Python costs more than all else that is done with a row. Where a score is
fixed at arrival, and Java can compute it, only each pane's k best have to cross: a few hundred
rows out of millions. ``Sieve.java`` picks them. It is compiled when it is first used, by the
compiler that is part of Spark, and sent to the executors as a jar.

The contract that decides is that of :mod:`topwater.spark.stage_one` for ``take="each"``, and it
holds pane by pane and task by task: whatever ties with the k-th best is kept, so who wins a tie
is still decided in one place, in Python. Rows are counted in Java, by the rules of
:mod:`topwater.monitor.columns`.
"""

from __future__ import annotations

import zipfile
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampType,
)

from topwater.model import Counts
from topwater.monitor.event_time import PaneTimes
from topwater.monitor.reduction import PartialBatch, reduce_batch
from topwater.scoring import Formula
from topwater.spark.run_folder import run_folder
from topwater.spark.score_columns import quoted, rank_score
from topwater.windows import FARTHEST

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, SparkSession
    from pyspark.sql.types import StructType

    from topwater.model import IntArray
    from topwater.query import TopKQuery

MARK = b"topsieve"
"""How the bytes begin that Java has packed."""

_CLASS = "topwater.Sieve"
_MOST = 2**31 - 1  # Java counts no further
_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
_COUNTS = ("events", "before_start", "bad_key", "bad_time", "bad_score")


def sieved(events: DataFrame, query: TopKQuery, schema: str, shards: int) -> DataFrame | None:
    """The portions of a stream of events, as rows of ``schema``; None where Java can't make them.

    That is: with aggregates, with groups, and where a column's type or the score needs Python.
    """
    ticks, score = _ticks(events.schema, query), rank_score(query.score, events.schema)
    key, beats = _key(events.schema, query), _beats(events.schema, query)
    fixed = query.aggregation is None and query.group_by is None
    if not fixed or ticks is None or score is None or key is None or beats is None:
        return None
    per, time = ticks
    text, column = key
    spark, windows = events.sparkSession, query.window
    sizes = (windows.start, windows.pane, per, FARTHEST * per)
    sieve = _made(spark, min(query.k, _MOST), *sizes, text, bool(beats), shards)
    sql = _jvm(spark).org.apache.spark.sql
    encoder = sql.Encoders.row(sql.types.StructType.fromDDL(schema))
    rows = events.select(time, score, column, *beats)._jdf
    return DataFrame(rows.mapPartitions(sieve, encoder), spark)


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


def _ticks(schema: StructType, query: TopKQuery) -> tuple[int, Column] | None:
    """How many of its units make a millisecond, and the time in them."""
    name = str(query.time)
    kind = schema[name].dataType
    if isinstance(kind, TimestampType):
        return 1_000, F.unix_micros(quoted(name))
    return (1, quoted(name).cast("bigint")) if isinstance(kind, _INTEGERS) else None


def _key(schema: StructType, query: TopKQuery) -> tuple[bool, Column] | None:
    """Whether keys are text, and the keys; null for bytes that are not text, as Python has it."""
    kind = schema[query.key].dataType
    if isinstance(kind, StringType):
        return True, F.try_validate_utf8(quoted(query.key)).cast("binary")
    return (False, quoted(query.key).cast("bigint")) if isinstance(kind, _INTEGERS) else None


def _beats(schema: StructType, query: TopKQuery) -> list[Column] | None:
    """The column of heartbeats, if there is one; None if it is of another type."""
    if query.heartbeat is None:
        return []
    found = isinstance(schema[query.heartbeat].dataType, BooleanType)
    return [quoted(query.heartbeat)] if found else None


def _made(spark: SparkSession, *settings: int | bool) -> Any:
    """A sieve, as an object in Java."""
    maker = _loaded(spark).getConstructors()[0]
    wanted = maker.getParameterTypes()
    gateway: Any = spark.sparkContext._gateway
    values = gateway.new_array(_jvm(spark).java.lang.Object, len(settings))
    for at, value in enumerate(settings):
        # Python has one kind of integer, and a constructor that is found by name has several.
        long = wanted[at].getName() == "long"
        values[at] = _jvm(spark).java.lang.Long.valueOf(value) if long else value
    return maker.newInstance(values)


_classes: dict[str, Any] = {}


def _loaded(spark: SparkSession) -> Any:
    """The class, in this application's Java and on its way to all executors."""
    name = spark.sparkContext.applicationId
    if name not in _classes:
        path = str(_jar(spark)).replace("\\", "\\\\").replace("'", "\\'")
        spark.sql(f"ADD JAR '{path}'")
        loader = spark._jsparkSession.sharedState().jarClassLoader()
        _classes.clear()
        _classes[name] = loader.loadClass(_CLASS)
    return _classes[name]


def _jar(spark: SparkSession) -> Path:
    """The class in a jar, compiled by the compiler inside Spark."""
    compiler = _jvm(spark).org.codehaus.janino.SimpleCompiler()
    compiler.cook(resources.files("topwater.spark").joinpath("Sieve.java").read_text())
    classes = compiler.getBytecodes()
    path = run_folder() / "topwater-sieve.jar"
    with zipfile.ZipFile(path, "w") as jar:
        for name in classes.keySet():
            jar.writestr(f"{name.replace('.', '/')}.class", bytes(classes.get(name)))
    return path


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm
