"""A query as a process of its own, to be killed: driver.py FOLDER MASTER."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from tests.support.class_archive import QUICK
from tests.support.scenarios import (
    KEYS,
    SECONDS,
    START,
    Scenario,
    read_stream,
    run_to_the_end,
    scenario,
)
from topwater import sliding
from topwater.spark import Files, session, topk

if TYPE_CHECKING:
    from topwater.model import Fetched, KeyArray, Millis
    from topwater.protocols import Source
    from topwater.remote.replay import Replay


@dataclass(frozen=True, slots=True)
class Plan:
    """What the process does.

    Attributes
    ----------
    name, seed, files, shards
        The scenario, and among how many shards it is divided.
    slow
        How many seconds a fetch takes.
    own
        Whether our own source reads the files.
    keys
        How many other keys a window also has, each with one event.
    stall
        At most how many seconds each fetch of a task's first attempt waits. Then Spark starts
        copies of tasks that take long.
    """

    name: str = "worth"
    seed: int = 7
    files: int = 10
    shards: int = 2
    slow: float = 0.0
    own: bool = False
    keys: int = 0
    stall: float = 0.0

    @property
    def scenario(self) -> Scenario:
        """With so many windows that most micro-batches end one."""
        found = scenario(self.name, self.seed, files=self.files, rows=400)
        if not self.keys:
            window = sliding("12s", "2s", start=START)
            return replace(found, query=replace(found.query, window=window))
        window = sliding("50s", "1s", start=START)  # half of the stream
        files = tuple(self._among(number, file) for number, file in enumerate(found.files))
        query = replace(found.query, window=window)
        return replace(found, query=query, files=files, known=KEYS + 2 * self.keys)

    def _among(self, number: int, file: pa.Table) -> pa.Table:
        """A file with keys added that come once, in order of time."""
        each = 2 * self.keys // self.files
        place = each * number + np.arange(each)
        times = START + 1_000 * SECONDS * place // (each * self.files)
        added = pa.table(
            {
                "time": pa.array(times * 1_000, file.schema.field("time").type),
                "key": KEYS + place,
                "value": np.ones(each),
                "other": np.ones(each),
                "team": pa.array(["red"] * each),
            }
        )
        return pa.concat_tables([added, file])

    def write(self, folder: Path) -> None:
        (folder / "plan.json").write_text(json.dumps(asdict(self)))

    @staticmethod
    def read(folder: Path) -> Plan:
        return Plan(**json.loads((folder / "plan.json").read_text()))


class Slow:
    """A source that takes its time, and says which process is waiting for it."""

    def __init__(self, source: Replay, folder: Path, plan: Plan) -> None:
        self._source, self._folder = source, folder
        self._seconds, self._stall = plan.slow, plan.stall

    def seek(self, now: Millis) -> None:
        self._source.seek(now)

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        mark = self._folder / f"fetching-{os.getpid()}"
        mark.touch()
        time.sleep(self._seconds + self._stalled())
        mark.unlink(missing_ok=True)
        return self._source.fetch(keys, deadline)

    def _stalled(self) -> float:
        context = TaskContext.get()
        if context is not None and context.attemptNumber():
            (self._folder / f"copy-{context.taskAttemptId()}").touch()
            return 0.0
        return self._stall * random.random()


def main(folder: Path, master: str) -> None:
    plan = Plan.read(folder)
    each = plan.scenario
    source: Source | None = each.source
    if (plan.slow or plan.stall) and each.source is not None:
        source = Slow(each.source, folder, plan)
    conf = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.extraJavaOptions": QUICK,
        "spark.executor.memory": "600m",
    }
    if plan.stall:
        conf |= {
            "spark.speculation": "true",
            "spark.speculation.interval": "50ms",
            "spark.speculation.quantile": "0.5",  # of two tasks, one
            "spark.speculation.multiplier": "1.1",
        }
    spark = session("driver", master=master, shuffle_partitions=2, conf=conf)
    files = folder / "in"
    own = Files(files, max_files_per_trigger=1)
    events = own if plan.own else read_stream(spark, str(files), each.keys)
    rows = topk(events, each.query, source, shards=plan.shards, give="both")
    run_to_the_end(rows, str(folder / "checkpoint"), str(folder / "sink"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
