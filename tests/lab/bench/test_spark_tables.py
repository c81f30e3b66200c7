"""The Spark benchmark as text."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from topwater_lab.bench.spark_tables import show

ROW: dict[str, Any] = {
    "case": "generic",
    "window_over_step": 1_000,
    "rows_per_s": 2_500_000.0,
    "batch_ms_p50": 812.0,
    "ratio_to_noop": 0.5,
    "ratio_to_native": 3.21,
    "ratio_to_naive": None,
    "whole_run_s": 12.3,
    "state_bytes": 4_096,
    "written_bytes_p50": 5_000,
    "same_answers": True,
    "noop_batch_ms_p50": 400.0,
    "native_batch_ms_p50": 2_600.0,
    "naive_batch_ms_p50": None,
    "noop_whole_run_s": 5.0,
    "native_whole_run_s": 40.0,
    "native_form": "max_by, RocksDB",
    "naive_batches": 0,
}
STATE = {
    "batches": 30,
    "written_bytes_first": 1_234.0,
    "written_bytes_last": 1_240.4,
    "memory_bytes_first": 9_000.0,
    "memory_bytes_last": 9_001.0,
}
COUNT: dict[str, Any] = {
    "keys": 200_000,
    "batch_ms_p50": 700.0,
    "stage_ms_p50": 450.0,
    "noop_batch_ms_p50": 225.0,
    "native_batch_ms_p50": 2_100.0,
    "ratio_to_native": 3.0,
    "ratio_to_noop": 0.32,
    "stage_ratio_to_noop": 0.5,
    "same_answers": True,
}


def told(**more: Any) -> str:
    written = io.StringIO()
    latency = dict.fromkeys(("answer_ms_p50", "floor_ms_p50"), 70.0)
    latency |= {"shuffle_partitions": 2, "shards": 2, "batches": 27}
    report = {"rows": [ROW | more], "latency": [latency], "state": STATE, "counts": [COUNT]}
    show(report, Console(file=written, width=160))
    return written.getvalue()


def test_a_case_and_its_peers_have_a_line_each() -> None:
    lines = [line.split() for line in told().splitlines() if line.startswith("generic")]
    assert lines == [
        [
            *("generic", "1,000", "2.5", "M", "812", "0.5", "3.21", "-", "12.3"),
            *("4.1", "K", "5", "K", "yes"),
        ],
        ["generic", "1,000", "400", "2.6", "K", "-", "5", "40", "max_by,", "RocksDB"],
    ]


def test_counted_keys_have_a_line() -> None:
    (line,) = [line.split() for line in told().splitlines() if line.startswith("200,000")]
    assert line == ["200,000", "700", "450", "225", "2.1", "K", "3", "0.32", "0.5", "yes"]


def test_answers_that_differ_are_shouted() -> None:
    assert "NO" not in told().split()
    assert "NO" in told(same_answers=False).split()


def test_how_little_naive_ran_is_told_only_if_it_ran() -> None:
    assert "naive is so slow" not in told()
    assert "naive is so slow that it ran over 2 micro-batches only" in told(naive_batches=2)


def test_the_state_is_told_by_thirds() -> None:
    assert (
        "state over 30 micro-batches, first and last third: 1,234 and 1,240 bytes written per "
        "micro-batch, 9,000 and 9,001 bytes of memory in the store" in told()
    )
