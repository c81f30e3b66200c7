"""Our own classes in Java: in one small jar, which is sent to all executors.

The jar is beside this module, and so are its sources; ``scripts/build_jar.py`` makes one of the
other, and a test compares them. Nothing is compiled where a query runs.
"""

from __future__ import annotations

import functools
import threading
from importlib import resources
from typing import TYPE_CHECKING, Any

from topwater.spark import compat
from topwater.spark.run_folder import run_folder

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession

JAR = "topwater-spark.jar"

_lock = threading.Lock()
_classes: dict[tuple[str, str], Any] = {}
_added: set[str] = set()
"""The applications that have the jar."""


def within_reach(events: DataFrame) -> bool:
    """Whether Java can be told what to do: not where it is on the other side of Spark Connect."""
    return compat.java(events.sparkSession) is not None


def mapped(
    events: DataFrame, columns: list[Column], schema: str, name: str, *settings: int | bool | str
) -> DataFrame:
    """What a class of ours makes of the partitions of some columns.

    Parameters
    ----------
    events, columns
        What it gets.
    schema
        What it gives.
    name, settings
        Of the class, and what its constructor takes.
    """
    spark = events.sparkSession
    sql = compat.java(spark).org.apache.spark.sql
    encoder = sql.Encoders.row(sql.types.StructType.fromDDL(schema))
    rows = compat.rows_in_java(events.select(*columns))
    return compat.rows_of_java(rows.mapPartitions(_made(spark, name, *settings), encoder), spark)


def _made(spark: SparkSession, name: str, *settings: int | bool | str) -> Any:
    """An object in Java."""
    maker = loaded(spark, name).getConstructors()[0]
    wanted = maker.getParameterTypes()
    long = compat.java(spark).java.lang.Long
    # Python has one kind of integer, and a constructor that is found by name has several.
    values = [
        long.valueOf(value) if wanted[at].getName() == "long" else value
        for at, value in enumerate(settings)
    ]
    return maker.newInstance(compat.java_objects(spark, values))


def loaded(spark: SparkSession, name: str) -> Any:
    """The class, in this application's Java and on its way to all executors."""
    application = spark.sparkContext.applicationId
    with _lock:
        if application not in _added:
            path = str(jar()).replace("\\", "\\\\").replace("'", "\\'")
            spark.sql(f"ADD JAR '{path}'")
            _classes.clear()
            _added.clear()
            _added.add(application)
        if (application, name) not in _classes:
            _classes[application, name] = compat.class_loader(spark).loadClass(f"topwater.{name}")
        return _classes[application, name]


@functools.cache
def jar() -> Path:
    """A copy that stays as it is while this process lives, whatever is installed meanwhile.

    Executors fetch it when they start. And the package itself may be inside of an archive.
    """
    path = run_folder() / JAR
    path.write_bytes(resources.files("topwater.spark").joinpath(JAR).read_bytes())
    return path
