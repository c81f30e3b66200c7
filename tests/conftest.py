"""What all tests share: one warm Spark session, because starting one takes ten seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def warm_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session itself. Tests take ``spark``, which also cleans up after them."""
    from topwater.spark import register, session

    log = tmp_path_factory.mktemp("spark") / "spark.log"
    spark = session("tests", master="local[2]", log_file=log)
    register(spark)
    yield spark
    spark.stop()


@pytest.fixture
def spark(warm_spark: SparkSession) -> Iterator[SparkSession]:
    """The warm session, with no query left running afterwards."""
    yield warm_spark
    for query in warm_spark.streams.active:
        query.stop()


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """A fresh folder for a query's checkpoint."""
    return str(tmp_path / "checkpoint")
