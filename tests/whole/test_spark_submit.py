"""Scripts and jobs that are sent by ``spark-submit``, or that find the user's defaults."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest

from topwater.spark.session_settings import PARTITIONS

SUBMIT = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
SCRIPT = """
import json, sys
from topwater.spark import session
spark = session(conf={"spark.z": "program"})
names = ["spark.master", "spark.y", "spark.z", "spark.ui.enabled", "spark.sql.shuffle.partitions"]
conf = spark.sparkContext.getConf()
print(json.dumps([spark.sparkContext.master, *(conf.get(name) for name in names)]))
spark.stop()
"""
JOB = """
[query]
key = "lot"
time = "at"
score = "amount"
k = 1
window = "1 min"

[stream]
kind = "files"
path = "bids"
format = "json"
schema = "lot string, at timestamp, amount double"

[sink]
kind = "parquet"
path = "best"
"""
BIDS = """
{"lot": "vase",  "at": "2026-01-01T00:00:10Z", "amount": 120}
{"lot": "chair", "at": "2026-01-01T00:01:30Z", "amount": 200}
"""
OPTIONS = ["--master", "local[3]", "--conf", "spark.y=user", "--conf", "spark.z=user"]


def ran(command: list[str], folder: Path, **variables: str) -> str:
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    done = subprocess.run(  # noqa: S603
        command,
        cwd=folder,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", **python, **variables},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def told(output: str) -> list[Any]:
    found: list[Any] = json.loads(output.strip().splitlines()[-1])
    return found


@pytest.mark.soak
def test_a_script_has_the_settings_of_spark_submit(tmp_path: Path) -> None:
    """What the program asks for wins; whether there is a web page is the user's business."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    options = [*OPTIONS, "--conf", f"{PARTITIONS}=5", "--conf", "spark.ui.port=0"]
    output = told(ran([SUBMIT, *options, str(script)], tmp_path))
    assert output == ["local[3]", "local[3]", "user", "program", None, "5"]


@pytest.mark.soak
def test_a_script_in_plain_python_has_the_users_defaults(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.master local[2]\nspark.z file\n")
    given = {
        "SPARK_CONF_DIR": str(tmp_path),
        "PYSPARK_SUBMIT_ARGS": "-c spark.y=user pyspark-shell",
    }
    output = told(ran([sys.executable, "-c", SCRIPT], tmp_path, **given))
    assert output == ["local[2]", "local[2]", "user", "program", "false", "1"]


@pytest.mark.soak
def test_a_job_is_sent_by_a_file_of_two_lines(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "bids").mkdir()
    (tmp_path / "bids" / "1.json").write_text(BIDS)
    log = tmp_path / "log"
    log.mkdir()
    events = {"enabled": "true", "dir": f"file://{log}", "compress": "false"}
    options = [
        part for name in events for part in ("--conf", f"spark.eventLog.{name}={events[name]}")
    ]
    (tmp_path / "send.py").write_text("from topwater.__main__ import main\n\nmain()\n")
    command = [SUBMIT, *OPTIONS, *options, "--conf", "spark.ui.enabled=false", "send.py"]
    shown = ran([*command, "run", "job.toml", "--once"], tmp_path)
    assert "vase" in shown
    assert any((tmp_path / "best").rglob("*.parquet"))
    text = "".join(each.read_text() for each in log.rglob("*") if each.is_file())
    assert '"spark.master":"local[3]"' in text
    assert '"spark.y":"user"' in text
