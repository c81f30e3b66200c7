"""Folders of any file system that Spark knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def names_in(spark: SparkSession, folder: str) -> list[str]:
    """The names in a folder; none if it is not there."""
    files, path = _opened(spark, folder)
    if not files.exists(path):
        return []
    return [each.getPath().getName() for each in files.listStatus(path)]


def is_there(spark: SparkSession, folder: str) -> bool:
    """Whether there is a folder, or a file, of this name."""
    files, path = _opened(spark, folder)
    return bool(files.exists(path))


def _opened(spark: SparkSession, folder: str) -> tuple[Any, Any]:
    """The file system in Java, and the path in its words."""
    jvm: Any = spark.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(folder)
    return path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), path
