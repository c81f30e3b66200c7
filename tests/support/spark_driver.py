"""A query as a process of its own, to be killed: driver.py FOLDER MASTER."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.class_archive import QUICK
from tests.support.scenarios import START, Scenario, read_stream, run_to_the_end, scenario
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
    """

    name: str = "worth"
    seed: int = 7
    files: int = 10
    shards: int = 2
    slow: float = 0.0
    own: bool = False

    @property
    def scenario(self) -> Scenario:
        """With so many windows that most micro-batches end one."""
        found = scenario(self.name, self.seed, files=self.files, rows=400)
        window = sliding("12s", "2s", start=START)
        return replace(found, query=replace(found.query, window=window))

    def write(self, folder: Path) -> None:
        (folder / "plan.json").write_text(json.dumps(asdict(self)))

    @staticmethod
    def read(folder: Path) -> Plan:
        return Plan(**json.loads((folder / "plan.json").read_text()))


class Slow:
    """A source that takes its time, and says which process is waiting for it."""

    def __init__(self, source: Replay, folder: Path, seconds: float) -> None:
        self._source, self._folder, self._seconds = source, folder, seconds

    def seek(self, now: Millis) -> None:
        self._source.seek(now)

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        mark = self._folder / f"fetching-{os.getpid()}"
        mark.touch()
        time.sleep(self._seconds)
        mark.unlink(missing_ok=True)
        return self._source.fetch(keys, deadline)


def main(folder: Path, master: str) -> None:
    plan = Plan.read(folder)
    each = plan.scenario
    source: Source | None = each.source
    if plan.slow and each.source is not None:
        source = Slow(each.source, folder, plan.slow)
    conf = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.extraJavaOptions": QUICK,
        "spark.executor.memory": "600m",
    }
    spark = session("driver", master=master, shuffle_partitions=2, conf=conf)
    files = folder / "in"
    own = Files(files, max_files_per_trigger=1)
    events = own if plan.own else read_stream(spark, str(files), each.keys)
    rows = topk(events, each.query, source, shards=plan.shards)
    run_to_the_end(rows, str(folder / "checkpoint"), str(folder / "sink"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
