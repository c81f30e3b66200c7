"""What workers set aside."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

from pyspark.errors import PySparkAttributeError

from topwater.spark.workers import own_workers

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


class Context:
    """A session with what is asked of it here; one of Spark Connect has no context."""

    def __init__(self, environment: dict[str, str] | None) -> None:
        self._environment = environment

    @property
    def sparkContext(self) -> Any:
        if self._environment is None:
            raise PySparkAttributeError(
                errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": "it"}
            )
        return SimpleNamespace(environment=self._environment)


def test_a_variable_is_set_only_while_workers_are_asked_for() -> None:
    environment = {"PYTHONHASHSEED": "0"}
    with own_workers(Context(environment)):  # type: ignore[arg-type]
        assert environment == {"PYTHONHASHSEED": "0", "TOPWATER_STAGE": "monitors"}
    assert environment == {"PYTHONHASHSEED": "0"}


def test_a_session_without_a_context_is_left_alone() -> None:
    entered = []
    with own_workers(Context(None)):  # type: ignore[arg-type]
        entered.append(True)
    assert entered
