"""Jobs that are stopped together with Java, as service managers do it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from topwater.cli.starter import start_project

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.soak]  # a Spark of its own, as it is killed


@pytest.mark.timeout(300)
def test_a_signal_to_all_processes_is_a_calm_end(tmp_path: Path) -> None:
    start_project(tmp_path / "mine")
    command = [sys.executable, "-m", "topwater", "run", "job.toml", "--set", "stream.speed=max"]
    with subprocess.Popen(  # noqa: S603
        command,
        cwd=tmp_path / "mine",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert "looked up" in process.stdout.readline()
        os.killpg(process.pid, signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 143, said
    assert "Traceback" not in said, said
    assert said.endswith("stopped\n")
