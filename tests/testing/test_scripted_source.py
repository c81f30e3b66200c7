"""A source by script: values by time, failures, deadlines, and the contract."""

from __future__ import annotations

from typing import Any

import numpy as np

from topwater.testing import Scripted, check_source


def test_the_scripted_source_keeps_the_contract() -> None:
    values: dict[str, Any] = {"a": 1.0, "b": [(0, 2.0)], "c": 3.0}
    keys, missing = np.array(["a", "b", "c"], object), np.array(["x", "y"], object)
    check_source(lambda: Scripted(values), keys, missing)
    check_source(lambda: Scripted(values, seconds_per_key=0.1), keys, missing)
