"""The example of a declarative pipeline: it runs, and a second run goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest

ROOT = Path(__file__).resolve().parents[2]
CATALOG = "spark.sql.catalogImplementation=hive"
LATER = """
{"lot": "vase",  "at": "2026-01-01T09:29:00Z", "amount": 250}
{"lot": "lamp",  "at": "2026-01-01T09:31:00Z", "amount": 140}
"""


def run(folder: Path) -> None:
    home = Path(pyspark.__file__).parent
    own = {"PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(  # noqa: S603
        [str(home / "bin" / "spark-pipelines"), "--conf", CATALOG, "run"],
        cwd=folder,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Run is COMPLETED" in done.stdout + done.stderr


def rows(folder: Path, table: str, *columns: str) -> list[tuple[object, ...]]:
    parts = (folder / "spark-warehouse" / table).glob("*.parquet")
    tables = [pq.read_table(part, columns=[*columns]).to_pylist() for part in parts]
    return sorted(tuple(row.values()) for part in tables for row in part)


@pytest.mark.soak
@pytest.mark.timeout(1_200)
def test_the_tables_grow_from_run_to_run(tmp_path: Path) -> None:
    pytest.importorskip(
        "grpc", reason='pipelines are Spark Connect: pip install "pyspark[pipelines]"'
    )
    folder = tmp_path / "pipeline"
    shutil.copytree(ROOT / "examples" / "pipeline", folder)
    spec = folder / "spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("/tmp/best-bids", str(tmp_path)))  # noqa: S108
    run(folder)
    assert rows(folder, "best_bids", "rank", "key", "score") == [
        (1, "chair", 200.0),
        (1, "chair", 210.0),
        (2, "lamp", 95.0),
        (2, "vase", 120.0),
    ]
    (folder / "bids" / "2.json").write_text(LATER)
    run(folder)
    assert rows(folder, "best_bids", "rank", "key", "score") == [
        (1, "chair", 200.0),
        (1, "chair", 210.0),
        (1, "vase", 250.0),
        (2, "lamp", 95.0),
        (2, "vase", 120.0),
        (2, "vase", 130.0),
    ]
    assert rows(folder, "winners", "key", "count") == [("chair", 2), ("vase", 1)]
