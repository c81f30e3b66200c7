"""A query as a process of its own, to be killed: driver.py FOLDER MASTER."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scenarios import Scenario, read_stream, run_to_the_end, scenario

from topwater.remote.replay import Replay
from topwater.spark import session, topk

if TYPE_CHECKING:
    from topwater.model import Fetched, KeyArray

QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@dataclass(frozen=True, slots=True)
class Plan:
    """What the process does; ``slow`` is how many seconds a fetch takes."""

    name: str = "worth"
    seed: int = 7
    files: int = 10
    shards: int = 2
    slow: float = 0.0

    @property
    def scenario(self) -> Scenario:
        return scenario(self.name, self.seed, files=self.files, rows=400)

    def write(self, folder: Path) -> None:
        (folder / "plan.json").write_text(json.dumps(asdict(self)))

    @staticmethod
    def read(folder: Path) -> Plan:
        return Plan(**json.loads((folder / "plan.json").read_text()))


class Slow(Replay):
    """Says which process is waiting for it."""

    folder: Path
    seconds: float

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        mark = self.folder / f"fetching-{os.getpid()}"
        mark.touch()
        time.sleep(self.seconds)
        mark.unlink()
        return super().fetch(keys, deadline)


def main(folder: Path, master: str) -> None:
    plan = Plan.read(folder)
    each = plan.scenario
    source = each.source
    if plan.slow and source is not None:
        source.__class__ = Slow
        source.folder, source.seconds = folder, plan.slow  # type: ignore[attr-defined]
    conf = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": QUICK_START,
        "spark.executor.extraJavaOptions": QUICK_START,
        "spark.executor.memory": "600m",
    }
    spark = session("driver", master=master, shuffle_partitions=2, conf=conf)
    rows = topk(
        read_stream(spark, str(folder / "in"), each.keys), each.query, source, shards=plan.shards
    )
    run_to_the_end(rows, str(folder / "checkpoint"), str(folder / "sink"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
