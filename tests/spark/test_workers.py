"""What workers set aside."""

from __future__ import annotations

import subprocess
import sys

SETTLED = """
import gc
import duckdb
from pyspark import TaskContext
from topwater.spark.workers import set_modules_aside
set_modules_aside()
set_modules_aside()
print(gc.get_freeze_count())
TaskContext._getOrCreate()
set_modules_aside()
print(gc.get_freeze_count())
set_modules_aside()
print(gc.get_freeze_count() > 10_000)
"""


def test_what_is_set_aside_is_let_go_when_the_process_ends() -> None:
    """DuckDB's bindings would print a page on what was leaked. Where no task runs, nothing is."""
    command = [sys.executable, "-c", SETTLED]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert ended.stdout.split() == ["0", "0", "True"]
    assert ended.stderr == ""
