"""What all tests share: one warm Spark session, because starting one takes ten seconds."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.support.class_archive import java_options
from tests.support.distribution import ByGroup, longest_first

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.observed import Ran
    from topwater.spark import Progress


# A machine that is busy makes an example slow, and no test wrong.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")


# This also holds for the processes that tests start.
os.environ.setdefault("SPARK_SUBMIT_OPTS", java_options())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several workers: what takes long comes first."""
    items.sort(key=longest_first)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByGroup:
    """With several workers: all that needs the warm session on one, the rest file by file."""
    return ByGroup(config, log)


@pytest.fixture(scope="session")
def warm_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session itself. Tests take ``spark``, which also cleans up after them."""
    from topwater.spark import session
    from topwater_lab.bids.spark_source import register

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


@pytest.fixture(scope="session")
def ran(warm_spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A run of four micro-batches that was watched in every way."""
    from tests.support.observed import FILES, SHARDS, Ran, eventually, query, read, source, write
    from topwater.spark import start, topk, watch

    folder = tmp_path_factory.mktemp("ran")
    seen: list[Progress] = []
    run = Ran(folder, seen, folder / "told.jsonl", folder / "told.prom")
    rows = topk(read(warm_spark, write(folder / "in")), query(), source(), shards=SHARDS)
    with contextlib.ExitStack() as stack:
        for to in (run.json_file, str(run.prom_file), seen.append):
            stack.enter_context(watch(warm_spark, to))
        started = start(
            rows,
            path=folder / "out",
            checkpoint=run.checkpoint,
            trigger={"availableNow": True},
            name='the "mentions"',
        )
        started.awaitTermination()
        eventually(lambda: len(seen) == len(FILES))
    return run
