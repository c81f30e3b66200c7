"""Processes are killed in the middle of their work, and no answer changes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from tests.support.journal_store import kept
from tests.support.scenarios import Scenario, answered_in_shards, snapshots, written
from tests.support.spark_driver import Plan
from tests.support.standalone_cluster import INSTALLED, PATIENCE, cluster
from topwater.spark import answers_from
from topwater.spark.packed_rows import packed
from topwater.spark.state import read_snapshots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
GROUP = "second_session"  # minutes in which the warm session would wait

ROOT = Path(__file__).parents[2]


class Driver:
    """A driver in a process group of its own, with its Java."""

    def __init__(self, folder: Path, master: str) -> None:
        log = folder / f"driver-{time.time_ns()}.log"
        self._folder = folder
        with log.open("wb") as out:
            self.process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", "tests.support.spark_driver", str(folder), master],
                cwd=ROOT,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env=os.environ | {"TMPDIR": str(folder)} | home(folder, master),
            )
        self.log = log

    def wait_for(self, holds: Callable[[], bool]) -> bool:
        """Wait until something holds; False if the process ends before."""
        until = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < until, self.log.read_text()
            if self.process.poll() is not None:
                return False
            time.sleep(0.01)
        return True

    def kill(self) -> None:
        """Python and Java at once, as when the machine fails."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def finish(self) -> None:
        assert self.process.wait(PATIENCE) == 0, self.log.read_text()


def home(folder: Path, master: str) -> dict[str, str]:
    """Spark as it is installed; but ``local-cluster`` writes into its home, and nowhere else."""
    if not master.startswith("local-cluster"):
        return {}
    made = folder / "spark"
    if not made.exists():
        made.mkdir()
        for each in INSTALLED.iterdir():
            (made / each.name).symlink_to(each)
    return {"SPARK_HOME": str(made)}


@contextmanager
def started(folder: Path, master: str = "local[2]") -> Iterator[Driver]:
    driver = Driver(folder, master)
    try:
        yield driver
    finally:
        if driver.process.poll() is None:
            driver.kill()


def prepared(folder: Path, plan: Plan) -> Path:
    plan.write(folder)
    written(folder / "in", plan.scenario.files)
    return folder


def committed(folder: Path) -> int:
    """How many micro-batches are done."""
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


def as_cut(each: Scenario, folder: Path) -> Scenario:
    """The scenario with the files that each micro-batch had.

    Spark's own source notes a file before the query notes the micro-batch: who is killed in
    between finds two files in the next.
    """
    numbers = range(len(list((folder / "checkpoint" / "offsets").glob("[0-9]*"))))
    last = [
        (folder / "checkpoint" / "offsets" / str(n)).read_text().splitlines()[-1] for n in numbers
    ]
    ends = [json.loads(line)["logOffset"] + 1 for line in last]
    assert ends[-1] == len(each.files)
    parts = (each.files[start:end] for start, end in zip([0, *ends], ends, strict=False))
    return replace(each, files=tuple(pa.concat_tables(part) for part in parts))


def check(spark: SparkSession, folder: Path) -> None:
    """No window lost, none repeated, every answer and the replica as without a fault."""
    plan = Plan.read(folder)
    each = plan.scenario if plan.own else as_cut(plan.scenario, folder)
    rows = spark.read.parquet(str(folder / "sink")).toArrow()
    right = answered_in_shards(each, plan.shards)
    assert len(right) >= 40
    found = [packed(answer, each.query) for answer in answers_from(rows, each.query)]
    assert found == [packed(answer, each.query) for answer in right]
    assert rows.num_rows == sum(1 + len(answer.rows) for answer in right)
    states, expected = (
        read_snapshots(spark, str(folder / "checkpoint")),
        snapshots(each, plan.shards),
    )
    assert {shard: kept(each, state) for shard, state in states.items()} == {
        shard: kept(each, state) for shard, state in expected.items()
    }


def kill(folder: Path, kills: int, seed: int) -> None:
    """Kill the driver at random moments, each in a micro-batch or between two."""
    rng = np.random.default_rng(seed)
    files = Plan.read(folder).files
    for _ in range(kills):
        with started(folder) as driver:
            goal = committed(folder) + int(rng.integers(1, 3))
            assert driver.wait_for(lambda goal=goal: committed(folder) >= goal)  # type: ignore[misc]
            time.sleep(rng.random() * 0.5)
            driver.kill()
    assert committed(folder) < files


@pytest.mark.soak
@pytest.mark.parametrize(
    "plan",
    [
        Plan(files=100),
        Plan(name="last-and-sum", files=100, own=True),
        Plan(name="each", files=100),
        Plan(files=100, keys=100_000),
        Plan(name="joins", files=100),
    ],
    ids=["worth", "our own source", "reduced in Java", "many keys", "several sources"],
)
def test_twenty_kills_change_nothing(spark: SparkSession, tmp_path: Path, plan: Plan) -> None:
    folder = prepared(tmp_path, plan)
    kill(folder, kills=20, seed=2)
    with started(folder) as driver:
        driver.finish()
    check(spark, folder)


def processes() -> dict[int, tuple[int, str]]:
    """The parent and the command of every process."""
    listing = subprocess.run(
        ["ps", "-eww", "-o", "pid=,ppid=,args="],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    )
    lines = (line.split(maxsplit=2) for line in listing.stdout.splitlines())
    return {int(pid): (int(parent), args) for pid, parent, args in lines}


def fetching(folder: Path) -> int | None:
    """A Python worker that waits for the remote side, and is thus in the middle of a batch."""
    found = [int(mark.name.split("-")[1]) for mark in folder.glob("fetching-*")]
    alive = processes()
    return next((pid for pid in found if pid in alive), None)


def its_executor(pid: int) -> int:
    """The Java above a Python worker."""
    running = processes()
    chain = [pid]
    while "CoarseGrainedExecutorBackend" not in running[chain[-1]][1]:
        chain.append(running[chain[-1]][0])
        assert chain[-1] in running, [(each, running.get(each)) for each in chain]
    return chain[-1]


def kill_in_a_fetch(driver: Driver, folder: Path, victim: Callable[[int], int], kills: int) -> None:
    """Kill as many victims, each of them some micro-batches after the one before."""
    for _ in range(kills):
        goal = committed(folder) + 2
        assert driver.wait_for(lambda goal=goal: committed(folder) >= goal)  # type: ignore[misc]
        found: list[int] = []
        assert driver.wait_for(lambda found=found: _noted(fetching(folder), found))  # type: ignore[misc]
        os.kill(victim(found[0]), signal.SIGKILL)
        (folder / f"fetching-{found[0]}").unlink(missing_ok=True)


def _noted(pid: int | None, found: list[int]) -> bool:
    if pid is not None:
        found.append(pid)
    return pid is not None


@pytest.mark.timeout(900)
def test_killed_drivers_go_on_where_they_were_and_killed_workers_are_replaced(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The driver is killed twice; then its Python workers are, and their tasks run again."""
    folder = prepared(tmp_path, Plan(files=12, keys=10_000, slow=0.1))
    kill(folder, kills=2, seed=1)
    with started(folder, "local[2,4]") as driver:
        kill_in_a_fetch(driver, folder, lambda worker: worker, kills=2)
        driver.finish()
    check(spark, folder)


@pytest.mark.soak
def test_a_killed_python_worker_without_retries(spark: SparkSession, tmp_path: Path) -> None:
    """The query fails, and is started again."""
    folder = prepared(tmp_path, Plan(slow=0.2))
    with started(folder) as driver:
        kill_in_a_fetch(driver, folder, lambda worker: worker, kills=1)
        assert driver.process.wait(PATIENCE) != 0
    with started(folder) as driver:
        driver.finish()
    check(spark, folder)


@pytest.mark.soak
def test_a_killed_executor_is_replaced(spark: SparkSession, tmp_path: Path) -> None:
    folder = prepared(tmp_path, Plan(slow=0.2))
    with started(folder, "local-cluster[2,1,1024]") as driver:
        kill_in_a_fetch(driver, folder, its_executor, kills=1)
        driver.finish()
    check(spark, folder)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "plan",
    [
        Plan(name="each-smallest", files=5),  # its class has to reach the executors
        pytest.param(Plan(files=5), marks=pytest.mark.soak),
    ],
    ids=["reduced in Java", "worth"],
)
def test_a_cluster_gives_the_same_answers(spark: SparkSession, tmp_path: Path, plan: Plan) -> None:
    folder = prepared(tmp_path, plan)
    run_on_a_cluster(spark, folder)
    check(spark, folder)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("plan", "least"),
    [(Plan(files=8, stall=0.5), 1), (Plan(files=30, stall=2.0), 5)],
    ids=["few", "many"],
)
def test_copies_of_slow_tasks_change_nothing(
    spark: SparkSession, tmp_path: Path, plan: Plan, least: int
) -> None:
    """Two attempts at once, on two machines; now the first is ready first, and now the second."""
    folder = prepared(tmp_path, plan)
    run_on_a_cluster(spark, folder)
    check(spark, folder)
    assert len(list(folder.glob("copy-*"))) >= least


def run_on_a_cluster(spark: SparkSession, folder: Path) -> None:
    java = spark._jvm.java.lang.System.getenv("JAVA_HOME")  # type: ignore[union-attr]
    machines = [os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "JAVA_HOME": java}] * 2
    with cluster(folder, java, machines) as made, started(folder, made.address) as driver:
        driver.finish()
