"""Our own classes in Java: compiled when they are first used, and sent to all executors.

The compiler is the one that Spark carries for its own generated code, so nobody needs another, and
no binary is in the repository.
"""

from __future__ import annotations

import zipfile
from importlib import resources
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from topwater.spark.run_folder import run_folder

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, SparkSession

FILES = {
    "Sieve": ("Sieve.java",),
    "Partials": ("Partials.java", "PartialTable.java", "PartialBytes.java"),
}
_classes: dict[tuple[str, str], Any] = {}


def within_reach(events: DataFrame) -> bool:
    """Whether Java can be told what to do: not where it is on the other side of Spark Connect."""
    return hasattr(events.sparkSession, "_jvm")


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
    sql = _jvm(spark).org.apache.spark.sql
    encoder = sql.Encoders.row(sql.types.StructType.fromDDL(schema))
    rows: Any = events.select(*columns)._jdf
    return DataFrame(rows.mapPartitions(_made(spark, name, *settings), encoder), spark)


def _made(spark: SparkSession, name: str, *settings: int | bool | str) -> Any:
    """An object in Java."""
    maker = loaded(spark, name).getConstructors()[0]
    wanted = maker.getParameterTypes()
    gateway: Any = spark.sparkContext._gateway
    values = gateway.new_array(_jvm(spark).java.lang.Object, len(settings))
    for at, value in enumerate(settings):
        # Python has one kind of integer, and a constructor that is found by name has several.
        long = wanted[at].getName() == "long"
        values[at] = _jvm(spark).java.lang.Long.valueOf(value) if long else value
    return maker.newInstance(values)


def loaded(spark: SparkSession, name: str) -> Any:
    """The class, in this application's Java and on its way to all executors."""
    application = spark.sparkContext.applicationId
    if (application, name) not in _classes:
        path = str(_jar(spark, name)).replace("\\", "\\\\").replace("'", "\\'")
        spark.sql(f"ADD JAR '{path}'")
        loader = spark._jsparkSession.sharedState().jarClassLoader()
        for other in [each for each in _classes if each[0] != application]:
            del _classes[other]
        _classes[application, name] = loader.loadClass(f"topwater.{name}")
    return _classes[application, name]


def _jar(spark: SparkSession, name: str) -> Path:
    """The class and what belongs to it, in a jar."""
    path = run_folder() / f"topwater-{name.lower()}.jar"
    with zipfile.ZipFile(path, "w") as jar:
        for each, code in _compiled(spark, name):
            jar.writestr(each, code)
    return path


def _compiled(spark: SparkSession, name: str) -> list[tuple[str, bytes]]:
    """Paths in a jar, and the code of a class each."""
    jvm = _jvm(spark)
    made = jvm.java.util.HashMap()
    util = jvm.org.codehaus.commons.compiler.util.resource
    gateway: Any = spark.sparkContext._gateway
    sources = gateway.new_array(util.Resource, len(FILES[name]))
    for at, file in enumerate(FILES[name]):
        text = resources.files("topwater.spark").joinpath(file).read_text()
        sources[at] = util.StringResource(f"topwater/{file}", text)
    janino = jvm.org.codehaus.janino
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    nothing = util.ResourceFinder.EMPTY_RESOURCE_FINDER
    compiler = janino.Compiler(nothing, janino.ClassLoaderIClassLoader(loader))
    compiler.setClassFileCreator(util.MapResourceCreator(made))
    compiler.compile(sources)
    return [(path, bytes(made.get(path))) for path in made.keySet()]


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm
