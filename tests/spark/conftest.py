"""What the tests on Spark share."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from observed import Ran
    from pyspark.sql import SparkSession

    from topwater.spark import Progress


@pytest.fixture(scope="session")
def ran(warm_spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A run of four micro-batches that was watched in every way."""
    from observed import FILES, SHARDS, Ran, eventually, query, read, source, write

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
