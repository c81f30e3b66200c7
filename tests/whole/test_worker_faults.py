"""Python workers die, fail and lie in the middle of a query, and no answer changes."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

from tests.support.faulty_processor import install
from tests.support.scenarios import answered_in_shards, read_stream, scenario, written
from topwater.errors import StateError
from topwater.monitor.shards import divided_among
from topwater.spark import Progress, answers_from, rescale, start, topk
from topwater.spark.packed_rows import packed

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
SHARDS = 2
ASKED_FOR = ("a fault that was asked for", "Python worker exited unexpectedly")


class Run:
    """A query that is started again when a fault has ended it, in the same workers."""

    def __init__(self, spark: SparkSession, folder: Path, files: int, name: str = "worth") -> None:
        self.scenario = scenario(name, 7, files=files, rows=500)
        self.shards = divided_among(self.scenario.query, SHARDS)
        self.words = folder / "words"
        self.faults: dict[int, str] = {}
        self._spark, self._folder = spark, folder
        self._found: dict[int, pa.Table] = {}
        self._seen: dict[int, Progress] = {}
        self.ends = 0
        events = read_stream(spark, written(folder / "in", self.scenario.files), "bigint")
        self._rows = topk(
            events, self.scenario.query, self.scenario.source, shards=SHARDS, give="both"
        )

    def to_the_end(self, then: str = "") -> None:
        """Run until there is no more; after the first fault that ends it, ask for another."""
        while not self._once():
            self.ends += 1
            assert self.ends < 9
            if then:
                self.faults[2], then = then, ""

    def _once(self) -> bool:
        """Run until there is no more, or a fault ends it; whether it came to the end."""
        running = start(
            self._rows,
            to=self._take,
            checkpoint=self._folder / "checkpoint",
            trigger={"availableNow": True},
            partitions=1,  # one worker for both shards, so that it meets its monitors again
        )
        try:
            running.awaitTermination()
        except StreamingQueryException as error:
            if any(words in str(error) for words in ASKED_FOR):
                return False
            raise
        finally:
            for each in running.recentProgress:
                told = Progress.of(each)
                if told is not None:
                    self._seen[each.batchId] = told
        return True

    def _take(self, rows: DataFrame, number: int) -> None:
        got = rows.toArrow()
        assert self._found.setdefault(number, got).equals(got)
        fault = self.faults.pop(number, "")
        if fault == "kill workers":
            self._kill_workers()
        elif fault == "undo":
            raise RuntimeError(ASKED_FOR[0])
        elif fault:
            (self.words / fault).touch()

    def _kill_workers(self) -> None:
        """Those that keep a monitor, while no task runs."""
        marks = list(self.words.glob("worker-*"))
        assert marks
        for mark in marks:
            os.kill(int(mark.name.split("-")[1]), signal.SIGKILL)
            mark.unlink()
        time.sleep(0.2)  # until they are gone

    @property
    def rebuilt(self) -> list[int]:
        """The micro-batches in which a monitor was built from the journal."""
        return [number for number, each in sorted(self._seen.items()) if each.state_rebuilt]

    def check(self) -> None:
        """Each window once, and answered as without a fault."""
        right = answered_in_shards(self.scenario, SHARDS)
        rows = pa.concat_tables(self._found[number] for number in sorted(self._found))
        query = self.scenario.query
        found = [packed(answer, query) for answer in answers_from(rows, query)]
        assert found == [packed(answer, query) for answer in right]
        assert rows.num_rows == sum(1 + len(answer.rows) for answer in right)


@pytest.mark.parametrize("name", ["worth", "joins"])
def test_workers_die_between_micro_batches_and_within_and_kept_monitors_lie(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The third comes to nothing when its state was written, and its monitors are kept: they lie.

    ::

        micro-batch   0    1         2         2          3      3        4
                            └ worker killed     └ caught         └ a new worker
                                      └ undone             └ dies
    """
    install(tmp_path / "words", monkeypatch)
    run = Run(spark, tmp_path, files=5, name=name)
    run.faults = {1: "kill workers", 2: "undo"}
    run.to_the_end(then="kill")
    run.check()
    assert run.ends == 2
    assert {2, 3} <= set(run.rebuilt)
    assert len(list(run.words.glob("caught-*"))) == run.shards
    if run.shards < SHARDS:
        with pytest.raises(StateError, match="ranked in one place"):
            rescale(spark, tmp_path / "checkpoint", SHARDS)


def test_a_damaged_chunk_is_named(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "words", monkeypatch)
    run = Run(spark, tmp_path, files=3)
    run.faults = {0: "damage", 1: "kill workers"}
    with pytest.raises(StreamingQueryException) as caught:
        run.to_the_end()
    assert "chunk 1 of 1, is damaged" in str(caught.value)
