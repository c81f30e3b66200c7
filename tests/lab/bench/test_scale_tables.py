"""The tables of the benchmark of many keys."""

from __future__ import annotations

import io

from rich.console import Console

from topwater_lab.bench.scale_tables import show

FIGURES = (
    *("close_ms", "close_ns_per_key", "batch_ms_p50", "ratio_to_small", "ratio_to_native"),
    *("written_bytes", "written_to_came", "state_bytes", "cache_hits", "restart_s", "rss_bytes"),
)


def test_a_row_a_point() -> None:
    row = dict.fromkeys(FIGURES, 123_456.0)
    rows = [
        {"case": "local", "keys": 680_000, "groups": 0, "text": True, **row},
        {"case": "local", "keys": 0, "groups": 10_000, "text": False, **row},
        {"case": "native", "keys": 1_000_000, "drawn": 1_000, "groups": 0, "shards": 1, **row},
        {"case": "spark", "keys": 0, "drawn": 0, "groups": 12_300, "shards": 4, **row},
    ]
    written = io.StringIO()
    show({"rows": rows}, Console(file=written, width=100))
    told = written.getvalue()
    assert "…" not in told, "it fits on a terminal"
    for words in ("local text", "680 K", "10 K", "1 M keys", "12.3 K groups"):
        assert words in told


def test_a_line_for_keys_that_come_and_go() -> None:
    row = {"case": "churn", "keys": 4_320_000, "minutes": 1_440, "bound_minute": 420}
    row |= {"growth": 1.012, "remembered": 250_000, "state_bytes": 2_300_000}
    written = io.StringIO()
    show({"rows": [row, row | {"bound_minute": None}]}, Console(file=written, width=80))
    told = written.getvalue()
    assert "4.32 M new keys in 24 hours: the bound was met in hour 7" in told
    assert "1.01 times" in told
    assert "the bound was not met" in told


def test_without_spark_there_is_one_table() -> None:
    written = io.StringIO()
    show({"rows": []}, Console(file=written, width=80))
    assert "Spark" not in written.getvalue()
