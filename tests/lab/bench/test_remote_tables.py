"""The benchmark of remote sources as text."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from topwater_lab.bench.remote_tables import show

REPORT: dict[str, Any] = {
    "windows": 1_200,
    "on_time": 0.99917,
    "deadline_ms": 250,
    "faults_share": 0.2,
    "requests": 8_400,
    "late": 1,
    "late_for_want_of_a_processor": 0,
    "overshoot_ms_p50": 0.123,
    "overshoot_ms_p99": 4.0,
    "overshoot_ms_max": None,
    "keys_fetched": 12_000,
    "keys_failed": 2_345,
    "windows_with_failures": 678,
    "rate": 40,
    "processes": 3,
    "rate_used": 0.957,
    "rate_peak": 41,
    "rate_exceeded": 0,
    "faults": {"slow": 3, "dropped": 1_700},
    "problems": {"": 2, "timeout": 9},
}


def test_every_figure_is_told_and_the_most_frequent_come_first() -> None:
    written = io.StringIO()
    show(REPORT, Console(file=written, width=120))
    *sentences, _, dropped, slow, _, timeout, untold = written.getvalue().splitlines()
    assert sentences == [
        "1,200 windows, 99.92% of their answers within 250 ms, while 20% of 8,400 requests went "
        "wrong",
        "late: 1, of them 0 for want of a processor; by 0.123 ms (median), 4 ms (p99), - ms "
        "(worst) of all windows",
        "keys: 12,000 asked for, 2,345 failed, in 678 windows",
        "limit: 40 requests a second, shared by 3 processes: 95.7% used, at most 41 in one "
        "second, 0 refused",
    ]
    assert [line.split() for line in (dropped, slow)] == [["dropped", "1,700"], ["slow", "3"]]
    assert [line.split() for line in (timeout, untold)] == [
        ["timeout", "9"],
        ["(not", "told)", "2"],
    ]
