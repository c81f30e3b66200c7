"""Older versions of Spark give the same answers. Each is fetched, so this takes minutes.

Their packages come before those of the environment, which has all the rest.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.support.connect_driver import FILES, asked
from tests.support.scenarios import answered_in_shards, answered_locally
from topwater.spark import answers_from
from topwater.spark.packed_rows import packed

if TYPE_CHECKING:
    from topwater import Answer

pytestmark = pytest.mark.soak

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ["4.1.4", "4.2.1"]


@pytest.fixture(scope="module", params=VERSIONS)
def older(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with that version of PySpark, and of what it brings."""
    folder = tmp_path_factory.mktemp("spark")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run(  # noqa: S603
        [*pip, "--target", folder / "packages", f"pyspark=={request.param}"], check=True
    )
    return folder


def run(folder: Path, *parts: str) -> dict[str, Any]:
    """What a process with that version reports of what it did."""
    path = [folder / "packages", *(each for each in sys.path if each)]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "tests.support.connect_driver", folder, "-", *parts],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path)), "SPARK_SUBMIT_OPTS": ""},
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return found


def same(folder: Path, name: str, expected: list[Answer]) -> bool:
    """Whether the answers in a folder are these."""
    query = asked(name).query
    got = answers_from(pq.read_table(folder / "found.parquet"), query)
    rows = [[packed(each, query) for each in answers] for answers in (got, expected)]
    for row in [*rows[0], *rows[1]]:
        del row["candidates"]
    return rows[0] == rows[1] and len(expected) > FILES


def test_answers_are_the_same_through_a_restart(older: Path) -> None:
    told = run(older, "each", "counts", "worth", "tuned", "standing", "limits")
    assert told["version"] in VERSIONS
    assert same(older / "each_part", "each-smallest", answered_locally(asked("each-smallest")))
    assert same(older / "counts_part", "last-and-sum", answered_locally(asked("last-and-sum")))
    assert same(older / "worth_part", "worth", answered_in_shards(asked("worth"), 2))
    assert sum(each["fetched"] for each in told["worth"]["seen"]) > 0
    assert told["worth"]["shards"] == [0, 1, 2]  # and the ranking of both
    assert told["tuned"] == [2, 4]
    assert told["standing"] >= 2 * FILES
    old = told["version"] < "4.2"
    assert told["limits"].startswith("EnvironmentProblem: Files(…) need" if old else "nothing")
