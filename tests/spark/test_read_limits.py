"""What our own sources need of Spark, and what they say where it is not there."""

from __future__ import annotations

import subprocess
import sys

import pytest

from topwater.errors import EnvironmentProblem
from topwater.spark import read_limits
from topwater.spark.read_limits import require_limits

OLDER = """
import sys
sys.modules["pyspark.sql.streaming.datasource"] = None  # as before Spark 4.2
import pyspark.sql
from types import ModuleType
datasource = ModuleType("pyspark.sql.datasource")
for name in ("DataSource", "DataSourceStreamReader", "InputPartition"):
    setattr(datasource, name, type(name, (), {}))
sys.modules["pyspark.sql.datasource"] = datasource
from topwater.spark import read_limits, topk
from topwater.spark.file_source import FilesReader
from topwater.spark.replay_source import ReplayReader
from topwater.spark.spool_source import SpooledReader
print(read_limits.ASKED, issubclass(FilesReader, read_limits.SupportsTriggerAvailableNow))
"""


def test_spark_asks_here() -> None:
    assert read_limits.ASKED
    require_limits("files", "do something else")


def test_without_it_a_source_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_limits, "ASKED", False)
    with pytest.raises(EnvironmentProblem, match=r"files need Spark 4\.2") as caught:
        require_limits("files", "read them once")
    assert caught.value.fix == 'pip install "pyspark>=4.2", or read them once'


def test_its_modules_can_be_loaded_all_the_same() -> None:
    run = subprocess.run([sys.executable, "-c", OLDER], capture_output=True, text=True)  # noqa: S603
    assert run.stderr == ""
    assert run.stdout.split() == ["False", "True"]
