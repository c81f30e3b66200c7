"""The experiments through Spark: the same records as without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from topwater_lab.experiments import acquatop, parallel_runs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_jobs_on_spark_give_the_same_records(spark: SparkSession) -> None:
    jobs = acquatop.jobs("", "true", quick=True, data_sets=1, evaluations=5)
    there, here = (
        parallel_runs.run_jobs(jobs, spark=on, workers=1, quiet=True) for on in (True, False)
    )
    timeless = [name for name in parallel_runs.SCHEMA.names if name != "seconds"]
    assert there.select(timeless).to_pandas().equals(here.select(timeless).to_pandas())
    assert len(there) == len(jobs) * 15 * 5
    assert not spark.sparkContext._jsc.sc().isStopped()
