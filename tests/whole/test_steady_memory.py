"""An hour of a stream with new keys all the time: memory and checkpoint stop growing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[2]
MINUTES = float(os.environ.get("TOPWATER_SOAK_MINUTES", "60"))
"""Of the stream, which runs as fast as it can."""

ALLOWED = {"workers": 0.1, "heap": 0.1, "driver": 0.1, "checkpoint": 0.15}
"""By what part each may be larger in the last quarter than in the one before the last."""


@pytest.mark.soak
def test_an_hour_of_new_keys_leaves_nothing_behind(tmp_path: Path) -> None:
    """100,000 keys, 50 new ones a second, two shards; the first half is for reaching the bounds."""
    command = [sys.executable, "-m", "tests.support.steady_driver", str(tmp_path), str(MINUTES)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=3_600)  # noqa: S603
    told = [json.loads(line) for line in (tmp_path / "told.jsonl").read_text().splitlines()]
    assert sum(each["answers"] for each in told) > 0
    quarter = len(told) // 4
    for name, allowed in ALLOWED.items():
        sizes = np.array([each[name] for each in told], float)
        third, last = np.median(sizes[2 * quarter : 3 * quarter]), np.median(sizes[3 * quarter :])
        slope = np.polyfit(np.arange(2 * quarter, len(sizes)), sizes[2 * quarter :], 1)[0]
        print(f"{name}: {third / 2**20:.1f} MB, {last / 2**20:.1f} MB, {slope:+,.0f} a batch")
        assert last <= third * (1 + allowed), name
