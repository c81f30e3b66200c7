"""Python workers: a pool of our own, and none that counts its modules again after every task.

Between two tasks a worker of Spark collects garbage, and looks at every object that it has. Most
of them are modules, which never become garbage: with NumPy, Arrow and Numba in memory that takes
50 to 80 ms, for which the next task waits. So they are set aside once.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import threading
from itertools import count
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_VARIABLE = "TOPWATER_STAGE"
_tasks = count()
_lock = threading.RLock()
"""The environment belongs to the application, and queries may be made in several threads."""


@contextlib.contextmanager
def own_workers(spark: SparkSession, stage: str = "monitors") -> Iterator[None]:
    """Give the functions that are handed to Spark meanwhile Python workers of their own.

    Spark takes a worker that waits with the same environment, the one that has waited longest. So
    without this the stage that keeps monitors would get those that another stage has just left.
    All queries of an application share these workers: to start some takes seconds, and a monitor
    that was elsewhere meanwhile takes in only what it missed. Stages have different ones, and so
    do rankings that have a name.
    """
    environment: dict[str, str] | None = None
    with contextlib.suppress(PySparkException, AttributeError):  # Spark Connect has no context
        environment = spark.sparkContext.environment
    if environment is None:
        yield
        return
    with _lock:
        environment[_VARIABLE] = stage
        try:
            yield
        finally:
            environment.pop(_VARIABLE, None)


def set_modules_aside() -> None:
    """Set aside what a worker has loaded. To be called when a task begins.

    The first task loads the modules; it is over, and its garbage gone, when the second begins.
    Where no task runs, the process is somebody's own, and stays as it is.
    """
    if TaskContext.get() is not None and next(_tasks) == 1:
        gc.freeze()
        # Leak checkers that run at exit, as DuckDB's bindings do, would otherwise report all of it.
        atexit.register(gc.unfreeze)
