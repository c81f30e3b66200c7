"""The clock, the memory and the numbers that all benchmarks share."""

from __future__ import annotations

import subprocess
import sys

import pytest

from topwater_lab.bench.harness import NEVER, Spent, peak_memory, short, timed, worker_memory


def test_clock_and_memory() -> None:
    result, spent = timed(lambda: sum(range(1_000)))
    assert result == 499_500
    assert spent.wall > 0
    assert NEVER.least(Spent(2, 1)).least(Spent(1, 2)) == Spent(1, 1)
    assert short(2_500) == "2.5 K"


GROWS = """
import numpy as np
from topwater_lab.bench.harness import peak_memory
before = peak_memory()
block = np.ones(8_000_000)
print((peak_memory() - before) / block.nbytes)
"""


def test_the_peak_of_memory_grows_with_what_is_held() -> None:
    """In a process of its own: this one may have held much more before."""
    command = [sys.executable, "-c", GROWS]
    told = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert 0.5 < float(told.stdout) < 1.5
    assert peak_memory() > 0


HOLDS = "block = b'x' * 30_000_000; print('ready', flush=True); input()"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="others do not tell")
def test_memory_of_workers_is_that_of_processes_that_this_one_started() -> None:
    before = worker_memory() or 0
    command = [sys.executable, "-c", HOLDS, "pyspark.daemon"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:  # noqa: S603
        assert worker.stdout is not None
        worker.stdout.readline()
        during = worker_memory() or 0
        worker.communicate(b"\n")
    assert during - before > 30_000_000
