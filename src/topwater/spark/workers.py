"""Python workers that do not count their modules again after every task.

Between two tasks a worker of Spark collects garbage, and looks at every object that it has. Most
of them are modules, which never become garbage: with NumPy, Arrow and Numba in memory that takes
50 to 80 ms, for which the next task waits. So they are set aside once.
"""

from __future__ import annotations

import atexit
import gc
from itertools import count

from pyspark import TaskContext

_tasks = count()


def set_modules_aside() -> None:
    """Set aside what a worker has loaded. To be called when a task begins.

    The first task loads the modules; it is over, and its garbage gone, when the second begins.
    Where no task runs, the process is somebody's own, and stays as it is.
    """
    if TaskContext.get() is not None and next(_tasks) == 1:
        gc.freeze()
        # Who counts what a process leaves behind, as DuckDB's bindings do, would count all of it.
        atexit.register(gc.unfreeze)
