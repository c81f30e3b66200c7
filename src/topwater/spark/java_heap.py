"""What reading a state back takes of Java's heap, and whether it is there.

Spark's state server pickles each value that Python asks for in Java's heap, which takes many times
the value's size; if that is not there, Python sees the connection end. So what counts is the
largest chunk, and how many tasks ask at once, however large the state is.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from topwater.errors import StateError
from topwater.monitor.journal_chunks import MOST
from topwater.spark.compat import java, java_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MB = 2**20
_OWN = 300 * _MB
"""What Spark keeps of every heap for itself."""

_TIMES = 8
"""How many times a chunk's size a task needs. In a heap of 512 MB 32 tasks could read chunks of
1 MB at once, and 40 only now and then; in one of 640 MB, 40 could."""

_log = logging.getLogger("topwater")


@dataclass(frozen=True, slots=True)
class JavaHeap:
    """A heap that tasks share.

    Attributes
    ----------
    size
        In bytes.
    tasks
        How many run in it at once.
    setting
        By which Spark is told how large it is.

    Examples
    --------
    >>> heap = JavaHeap(512 * 2**20, tasks=4, setting="spark.driver.memory")
    >>> heap.needed(2**20, shards=2) // 2**20
    316
    """

    size: int
    tasks: int
    setting: str

    @staticmethod
    def of(spark: SparkSession) -> JavaHeap | None:
        """That of the stateful stage's tasks; None where it can't be known."""
        try:
            jvm = java(spark)
            if jvm is None:  # over Spark Connect
                return None
            context = spark.sparkContext
            conf, master = context.getConf(), str(context.master)
            if master.startswith("local") and "cluster" not in master:
                size = jvm.java.lang.Runtime.getRuntime().maxMemory()
                return JavaHeap(int(size), context.defaultParallelism, "spark.driver.memory")
            given = conf.get("spark.executor.memory", "1g")
            size = jvm.org.apache.spark.network.util.JavaUtils.byteStringAsBytes(given)
            cores, each = (int(conf.get(name, "1")) for name in _CORES)
        except java_errors(PySparkException, AttributeError, TypeError):
            return None
        return JavaHeap(int(size), max(1, cores // each), "spark.executor.memory")

    def needed(self, chunk: int, shards: int) -> int:
        """Bytes with which as many shards as run at once can read chunks of this size."""
        return _OWN + _TIMES * chunk * min(shards, self.tasks)

    def require(self, chunk: int, shards: int) -> None:
        """Raise if a state with chunks of this size could not be read back.

        Raises
        ------
        StateError
            With what is there, what is needed, and the setting to change.
        """
        needed = self.needed(chunk, shards)
        if needed > self.size:
            raise StateError(
                f"the state has chunks of {_megabytes(chunk)}, and a Java heap of "
                f"{_megabytes(self.size)} is too small for {min(shards, self.tasks)} tasks to read "
                f"them at once: that takes {_megabytes(needed)}",
                fix=f"start Spark with {self.setting}={_rounded(needed)}m or more",
            )

    def warn(self, shards: int) -> None:
        """Say so if a state could grow to what this heap could not read back."""
        needed = self.needed(MOST, shards)
        if needed > self.size:
            _log.warning(
                "a Java heap of %s is too small for %d tasks to read a large state back at once: "
                "start Spark with %s=%dm or more before the state has grown",
                _megabytes(self.size),
                min(shards, self.tasks),
                self.setting,
                _rounded(needed),
            )


_CORES = ("spark.executor.cores", "spark.task.cpus")


def _megabytes(size: int) -> str:
    return f"{size / _MB:.0f} MB" if size >= 10 * _MB else f"{size / _MB:.1f} MB"


def _rounded(size: int) -> int:
    """In MB, up to the next 64."""
    return -(-size // (64 * _MB)) * 64
