"""Clusters whose machines have the wheel and no checkout, set up as `docs/spark.md` says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from pyspark.sql import functions as F  # noqa: N812

from tests.support.class_archive import QUICK
from tests.support.docs_pages import ROOT, blocks
from tests.support.standalone_cluster import INSTALLED, PATIENCE, cluster
from tests.support.wheel_environments import Environment, built_wheel
from topwater import TopKQuery, run, tumbling
from topwater.spark.java import find_java

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(900)]
GROUP = "second_session"

# 2026-01-01
START = 1_767_225_600_000
MINUTES = 8
BIDS = 200
Found = list[tuple[int, int, str, float]]

QUERY = TopKQuery(key="lot", time="at", score="amount", k=2, window=tumbling("1 min"))


def bids() -> list[dict[str, list[object]]]:
    """A file's worth for each minute, in any order."""
    rng = np.random.default_rng(5)
    return [
        {
            "lot": [f"lot {number}" for number in rng.integers(0, 50, BIDS)],
            "at": (START + 60_000 * minute + rng.integers(1, 60_000, BIDS)).tolist(),
            "amount": rng.permutation(BIDS * 10)[:BIDS].astype(float).tolist(),
        }
        for minute in range(MINUTES)
    ]


def write(folder: Path, number: int, file: Mapping[str, Sequence[object]]) -> None:
    """A file as a whole, as streams need it."""
    rows = zip(file["lot"], map(_moment, file["at"]), file["amount"], strict=True)
    lines = [json.dumps({"lot": lot, "at": at, "amount": amount}) for lot, at, amount in rows]
    (folder / f".{number}").write_text("\n".join(lines))
    (folder / f".{number}").rename(folder / f"{number}.json")


def _moment(time: object) -> str:
    return datetime.fromtimestamp(int(str(time)) / 1_000, UTC).isoformat()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> str:
    found = find_java()
    if found.bundled:
        from topwater.spark.java import shim

        return str(shim(found, tmp_path_factory.mktemp("java")))
    return str(found.command.resolve().parent.parent)


def has_only_the_wheel(environment: Environment) -> bool:
    """Whether Topwater comes from the environment itself, and nothing of the checkout is there."""
    inside = str(environment.site / "topwater" / "__init__.py")
    others = ("tests", "topwater_lab", "editables", "pytest")
    return environment.where("topwater") == inside and not any(map(environment.where, others))


class Job:
    """The program of the page, submitted as the page says."""

    def __init__(
        self, folder: Path, master: str, variables: Mapping[str, str], conf: Mapping[str, str]
    ) -> None:
        [best] = [each for each in blocks(ROOT / "docs" / "spark.md") if each.file == "best.py"]
        (folder / "best.py").write_text(best.text)
        for name in ("bids", "best"):
            (folder / name).mkdir()
        self.folder = folder
        chosen = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.executor.memory": "600m",
            "spark.executor.extraJavaOptions": QUICK,
            "spark.sql.session.timeZone": "UTC",
            **conf,
        }
        options = [word for name, value in chosen.items() for word in ("--conf", f"{name}={value}")]
        self.log = folder / "driver.log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(  # noqa: S603
                [
                    INSTALLED / "bin" / "spark-submit",
                    *("--master", master, *options, "best.py", "bids", "best", "state"),
                ],
                cwd=folder,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env={**variables},
            )

    def wait_for(self, holds: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not holds():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < until, self.log.read_text()
            time.sleep(0.05)

    def committed(self) -> int:
        """How many micro-batches are done."""
        return len(list((self.folder / "state" / "commits").glob("[0-9]*")))

    def read(self, number: int, file: Mapping[str, Sequence[object]]) -> None:
        """Give it a file, and wait until it was read."""
        goal = self.committed() + 1
        write(self.folder / "bids", number, file)
        self.wait_for(lambda: self.committed() >= goal)


@contextmanager
def submitted(
    folder: Path, master: str, variables: Mapping[str, str], conf: Mapping[str, str]
) -> Iterator[Job]:
    job = Job(folder, master, variables, conf)
    try:
        yield job
    finally:
        with suppress(ProcessLookupError):
            os.killpg(job.process.pid, signal.SIGKILL)
        job.process.wait(30)


def answered(spark: SparkSession, folder: Path) -> Found:
    """The end of the window, the rank, the lot and the score of every row."""
    rows = spark.read.parquet(str(folder / "best"))
    end = F.unix_millis("window_end")
    return sorted(map(tuple, rows.select(end, "rank", "lot", "score").collect()))


def same(found: Found, files: Sequence[Mapping[str, Sequence[object]]]) -> bool:
    """Whether these are the answers that the query gives in this process."""
    right = [
        each for each in run(QUERY, files) if each.window.end <= START + 60_000 * (MINUTES - 1)
    ]
    assert len(right) == MINUTES - 1
    return found == sorted(
        (each.window.end, row.rank, row.key, row.score) for each in right for row in each.rows
    )


def test_a_machine_is_lost_and_every_other_has_only_the_wheel(
    spark: SparkSession, tmp_path: Path, wheel: Path, java: str
) -> None:
    """Each worker has an environment of its own, found by its own `PATH`."""
    machines = [Environment(tmp_path / f"machine-{number}", wheel) for number in range(3)]
    assert all(map(has_only_the_wheel, machines))
    driver, *others = machines
    variables = driver.variables(java) | {"SPARK_HOME": str(INSTALLED)}
    files = bids()
    conf = {"spark.pyspark.python": "python3"}
    with (
        cluster(tmp_path, java, [each.variables(java) for each in others]) as made,
        submitted(tmp_path, made.address, variables, conf) as job,
    ):
        for number, file in enumerate(files[:4]):
            job.read(number, file)
        lost = made.holder()
        assert lost is not None, job.log.read_text()
        made.kill(lost)
        for number, file in enumerate(files[4:], 4):
            job.read(number, file)
        assert made.holder() == 1 - lost
    assert same(answered(spark, tmp_path), files)
    assert all(each.loaded("topwater.spark.processor") for each in others)
    assert driver.loaded("topwater.spark.topk")


def test_an_environment_is_sent_along(
    spark: SparkSession, tmp_path: Path, wheel: Path, java: str
) -> None:
    """Machines have no Topwater at all, but what comes with the query as an archive.

    The driver's own is beside the program: a process that plans the query is started there.
    """
    packed = Environment(tmp_path / "packed", wheel)
    assert has_only_the_wheel(packed)
    archive = packed.packed(tmp_path / "env.tar.gz")
    bare = packed.variables(java) | {"PATH": os.defpath}
    variables = packed.variables(java) | {"SPARK_HOME": str(INSTALLED)}
    (tmp_path / "env").symlink_to(packed.folder)
    conf = {"spark.pyspark.python": "./env/bin/python", "spark.archives": f"{archive}#env"}
    files = bids()
    with (
        cluster(tmp_path, java, [bare, bare]) as made,
        submitted(tmp_path, made.address, variables, conf) as job,
    ):
        for number, file in enumerate(files):
            job.read(number, file)
    assert same(answered(spark, tmp_path), files)
