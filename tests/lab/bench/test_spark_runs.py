"""One run of a stream on Spark, and what it leaves behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from topwater_lab.bench.spark_peers import NATIVE
from topwater_lab.bench.spark_runs import Runner

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_a_run_leaves_the_session_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    runner = Runner(spark, tmp_path)
    names = [*NATIVE[-1].settings]
    told = [spark.conf.get(name) for name in names]
    with runner.settings(NATIVE[-1].settings):
        assert [spark.conf.get(name) for name in names] == list(NATIVE[-1].settings.values())
    assert [spark.conf.get(name) for name in names] == told
