"""Folders of any file system that Spark knows.

Hadoop is asked, in the driver's Java. Over Spark Connect it can't be: there folders can be looked
at, by a source of Spark's, and nothing can be changed in them.
"""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException

from topwater.errors import EnvironmentProblem
from topwater.spark.compat import hadoop_settings, java
from topwater.validation.addresses import REMOTE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_HERE, _EXCHANGE = -100, 2  # of Linux: AT_FDCWD and RENAME_EXCHANGE


def names_in(spark: SparkSession, folder: str) -> list[str]:
    """The names in a folder; none if it is not there.

    Over Spark Connect those of files only, and of none that is hidden.
    """
    if java(spark) is None:
        return _listed(spark, folder)
    files, path = _opened(spark, folder)
    if not files.exists(path):
        return []
    return [each.getPath().getName() for each in files.listStatus(path)]


def is_there(spark: SparkSession, folder: str) -> bool:
    """Whether there is a folder, or a file, of this name."""
    if java(spark) is None:
        return _content(spark, folder) is not None
    files, path = _opened(spark, folder)
    return bool(files.exists(path))


def copy(spark: SparkSession, source: str, target: str) -> None:
    """Copy a file, or a folder with all that is in it."""
    files, path = _opened(spark, source)
    others, end = _opened(spark, target)
    others.mkdirs(end.getParent())
    java(spark).org.apache.hadoop.fs.FileUtil.copy(files, path, others, end, False, files.getConf())


def move(spark: SparkSession, source: str, target: str) -> None:
    """Give a file or a folder another name, which nothing has yet.

    Raises
    ------
    OSError
        If that is not possible.
    """
    files, path = _opened(spark, source)
    _, end = _opened(spark, target)
    files.mkdirs(end.getParent())
    # A folder that is there would take the other one in.
    if files.exists(end) or not files.rename(path, end):
        raise OSError(f"can't rename {source} to {target}")


def remove(spark: SparkSession, folder: str) -> None:
    """Remove a file, or a folder with all that is in it, if it is there."""
    files, path = _opened(spark, folder)
    files.delete(path, True)


def read_text(spark: SparkSession, file: str) -> str:
    """What a small file says."""
    files, path = _opened(spark, file)
    stream = files.open(path)
    try:
        return bytes(stream.readAllBytes()).decode()
    finally:
        stream.close()


def write_text(spark: SparkSession, file: str, text: str) -> None:
    """Let a small file say this, in place of what it said."""
    files, path = _opened(spark, file)
    stream = files.create(path, True)
    try:
        stream.write(bytearray(text.encode()))
    finally:
        stream.close()


def whole_address(spark: SparkSession, folder: str) -> str:
    """The address of a folder as Spark writes it."""
    files, path = _opened(spark, folder)
    return str(files.makeQualified(path).toString())


def exchange(one: str, other: str) -> bool:
    """Exchange two folders of this machine at once; False if that is not possible here."""
    if REMOTE.match(one) or REMOTE.match(other):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


def _opened(spark: SparkSession, folder: str) -> tuple[Any, Any]:
    """The file system in Java, and the path in its words."""
    require_java(spark, f"the files in {folder} can't be changed")
    path = java(spark).org.apache.hadoop.fs.Path(folder)
    return path.getFileSystem(hadoop_settings(spark)), path


def require_java(spark: SparkSession, what: str) -> None:
    """Raise over Spark Connect, from where the driver's Java can't be reached.

    Raises
    ------
    EnvironmentProblem
        Beginning with what can't be done.
    """
    if java(spark) is None:
        raise EnvironmentProblem(
            f"{what} over Spark Connect",
            fix="do it with a session of Spark itself, where the server runs",
        )


def _listed(spark: SparkSession, folder: str) -> list[str]:
    content = _content(spark, folder)
    if content is None:
        return []
    return [str(row.path).rpartition("/")[2] for row in content.select("path").collect()]


def _content(spark: SparkSession, folder: str) -> DataFrame | None:
    """The files in a folder, as rows; None if it is not there."""
    found = spark.read.format("binaryFile").load(folder)
    try:
        _ = found.schema  # Spark looks for it now
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return None
    return found
