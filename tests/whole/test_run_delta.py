"""A job from Delta to Delta, killed at any moment, ten times: each window once, and the right one.

Delta's newest package is for the Spark before this one, so both are fetched first: that Spark by
pip, and the package by Ivy, which Spark itself uses.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyspark
import pytest

import topwater
from topwater import remote
from topwater.jobs import read_job
from topwater.spark.java import find_java

pytestmark = [pytest.mark.soak, pytest.mark.timeout(5400)]

SPARK, DELTA = "4.2.1", "4.4.0"
PACKAGES = (
    *("delta-spark_4.2_2.13", "delta-storage"),
    *("delta-kernel-api", "delta-kernel-defaults", "delta-kernel-unitycatalog"),
)
ROOT = Path(__file__).parents[2]
COMMITS, KILLS = 40, 10
STEP = 10_000  # milliseconds in a window, and in a commit
SCHEMA = "user string, at bigint"
JOB = """\
[query]
key = "user"
time = "at"
window = "20 s every 10 s"
take = {n = "count"}
score = "n * worth"
k = 3
refresh = {remote = "worth", budget = 2}

[stream]
format = "delta"
path = "events"
options = {maxFilesPerTrigger = 1}

[source]
kind = "python"
object = "own.py:Own"

[sink]
format = "delta"
path = "answers"
trigger = "1 s"

[spark.settings]
"spark.jars" = "JARS"
"spark.sql.extensions" = "io.delta.sql.DeltaSparkSessionExtension"
"spark.sql.catalog.spark_catalog" = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
"""
WORTH = {f"u{each}": 1.0 + each * 7 % 5 for each in range(12)}
OWN = f"""
from topwater.remote import memory
class Own:
    def fetch(self, keys, deadline=None):
        return memory({WORTH}).fetch(keys, deadline)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python with that Spark, and all else as it is here."""
    folder = tmp_path_factory.mktemp("spark")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=300)  # noqa: S603
    found = folder / "bin" / "python"
    command = [str(found), "-m", "pip", "install", "-q", f"pyspark=={SPARK}"]
    subprocess.run(command, check=True, timeout=1800)  # noqa: S603
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "the_rest.pth").write_text(sysconfig.get_paths()["purelib"])
    return str(found)


@pytest.fixture(scope="module")
def jars(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Delta's own jars; Spark brings what these need."""
    folder = tmp_path_factory.mktemp("delta")
    wanted = "".join(
        f'<dependency org="io.delta" name="{name}" rev="{DELTA}" conf="default->master"/>'
        for name in PACKAGES
    )
    info = '<info organisation="topwater" module="tests"/>'
    info += '<configurations><conf name="default"/></configurations>'
    module = f'<ivy-module version="2.0">{info}<dependencies>{wanted}</dependencies></ivy-module>'
    (folder / "ivy.xml").write_text(module)
    place = Path(pyspark.__file__).parent / "jars"
    command = [str(find_java().command), "-cp", f"{place}/*", "org.apache.ivy.Main"]
    command += ["-cache", str(folder / "cache"), "-ivy", str(folder / "ivy.xml")]
    command += ["-retrieve", f"{folder}/jars/[artifact]-[revision].[ext]"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)  # noqa: S603
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    found = [str(each) for each in (folder / "jars").glob("*.jar")]
    assert len(found) == len(PACKAGES)
    return ",".join(found)


def batches() -> list[dict[str, list[Any]]]:
    """What each commit holds, in order of time."""
    draw = random.Random(5)
    return [
        {
            "user": draw.choices([*WORTH], weights=range(12, 0, -1), k=40),
            "at": [number * STEP + at for at in range(100, STEP, 245)][:40],
        }
        for number in range(COMMITS)
    ]


def delta(python: str, jars: str, *words: str) -> str:
    command = [python, "-m", "tests.support.delta_driver", jars, *words]
    done = subprocess.run(  # noqa: S603
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def begun(folder: Path) -> int:
    """How many micro-batches were begun."""
    offsets = folder / "answers" / "_checkpoint" / "offsets"
    return max((int(each.name) for each in offsets.glob("[0-9]*")), default=-1)


def test_killed_ten_times_each_window_is_there_once(python: str, jars: str, tmp_path: Path) -> None:
    (tmp_path / "commits").mkdir()
    for number, columns in enumerate(batches()):
        rows = zip(columns["user"], columns["at"], strict=True)
        lines = [json.dumps({"user": user, "at": at}) for user, at in rows]
        (tmp_path / "commits" / f"{number:03}.json").write_text("\n".join(lines))
    events = str(tmp_path / "events")
    delta(python, jars, "write", events, SCHEMA, str(tmp_path / "commits"))
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "job.toml").write_text(JOB.replace("JARS", jars))
    draw = random.Random(11)
    command = [python, "-m", "topwater", "run", "job.toml"]
    at = []
    for _ in range(KILLS):
        before = begun(tmp_path)
        with (tmp_path / "log").open("ab") as log:
            job = subprocess.Popen(  # noqa: S603
                command, cwd=tmp_path, env=environment(), stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        try:
            until = time.monotonic() + 300
            while begun(tmp_path) <= before and job.poll() is None:
                assert time.monotonic() < until, (tmp_path / "log").read_text()[-3000:]
                time.sleep(0.05)
            time.sleep(draw.uniform(0, 2))
            assert job.poll() is None, (tmp_path / "log").read_text()[-3000:]
        finally:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
        at.append(begun(tmp_path))
    assert at == sorted(at)
    assert len(set(at)) == KILLS
    assert at[-1] < COMMITS - 1  # there was something left to do
    done = subprocess.run(  # noqa: S603
        [*command, "--once"], cwd=tmp_path, env=environment(), capture_output=True, text=True,
        timeout=1800,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    rows = json.loads(delta(python, jars, "read", str(tmp_path / "answers")))
    assert set(Counter((row["window_end"], row["rank"]) for row in rows).values()) == {1}
    found: dict[int, list[tuple[int, str, float]]] = {}
    for row in sorted(rows, key=lambda row: (row["window_end"], row["rank"])):
        end = round(row["window_end"] * 1_000)
        found.setdefault(end, []).append((row["rank"], row["user"], row["score"]))
    query = read_job(tmp_path / "job.toml").query
    right = topwater.run(query, batches(), source=remote.memory(WORTH))
    expected = {
        each.window.end: [(row.rank, row.key, row.score) for row in each.rows] for each in right
    }
    assert len(found) > COMMITS - 3
    assert found == {end: expected[end] for end in found}
