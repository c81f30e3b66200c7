"""Folders of any file system that Spark knows."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any

from topwater.validation.addresses import REMOTE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HERE, _EXCHANGE = -100, 2  # of Linux: AT_FDCWD and RENAME_EXCHANGE


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


def copy(spark: SparkSession, source: str, target: str) -> None:
    """Copy a file, or a folder with all that is in it."""
    files, path = _opened(spark, source)
    others, end = _opened(spark, target)
    jvm: Any = spark.sparkContext._jvm
    others.mkdirs(end.getParent())
    jvm.org.apache.hadoop.fs.FileUtil.copy(files, path, others, end, False, files.getConf())


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
    jvm: Any = spark.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(folder)
    return path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), path
