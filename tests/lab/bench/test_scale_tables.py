"""The tables of the benchmark of many keys."""

from __future__ import annotations

import io

from rich.console import Console

from topwater_lab.bench.scale_tables import show


def test_a_row_a_point() -> None:
    figures = ("close_ms", "close_ns_per_key", "batch_ms_p50", "ratio_to_small")
    row = dict.fromkeys((*figures, "written_bytes", "state_bytes", "restart_s", "rss_bytes"), 2.0)
    rows = [
        {"case": "local", "keys": 680_000, "groups": 0, "text": True, **row},
        {"case": "local", "keys": 0, "groups": 10_000, "text": False, **row},
    ]
    written = io.StringIO()
    show({"rows": rows}, Console(file=written, width=80))
    assert "…" not in written.getvalue(), "it fits on a terminal"
    assert "local text" in written.getvalue()
    assert "680 K" in written.getvalue()
    assert "10 K" in written.getvalue()
