"""The Spark benchmark for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from topwater_lab.bench.harness import short


def show(report: dict[str, Any], console: Console) -> None:
    """Print all but the targets."""
    console.print(_cases(report["rows"]))
    console.print(_peers(report["rows"]))
    naive = max((row["naive_batches"] for row in report["rows"]), default=0)
    if naive:
        console.print(
            f"naive is so slow that it ran over {naive} micro-batches only; ratios are of the "
            "median micro-batch",
            soft_wrap=True,
        )
    console.print(_counts(report["counts"]))
    console.print(_latency(report["latency"]))
    state = report["state"]
    console.print(
        f"state over {state['batches']} micro-batches, first and last third: "
        f"{state['written_bytes_first']:,.0f} and {state['written_bytes_last']:,.0f} bytes written "
        f"per micro-batch, {state['memory_bytes_first']:,.0f} and "
        f"{state['memory_bytes_last']:,.0f} bytes of memory in the store",
        soft_wrap=True,
    )


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    return table


def _cases(rows: list[dict[str, Any]]) -> Table:
    table = _table(
        "ours: ms per steady micro-batch, and how many times as fast as the others",
        *("case", "window/step", "rows/s", "ms", "noop", "native", "naive", "whole s"),
        *("state B", "written B", "same"),
    )
    for row in rows:
        table.add_row(
            row["case"],
            f"{row['window_over_step']:,}",
            *(
                short(row[column])
                for column in (
                    *("rows_per_s", "batch_ms_p50"),
                    *("ratio_to_noop", "ratio_to_native", "ratio_to_naive"),
                    *("whole_run_s", "state_bytes", "written_bytes_p50"),
                )
            ),
            "yes" if row["same_answers"] else "NO",
        )
    return table


def _peers(rows: list[dict[str, Any]]) -> Table:
    table = _table(
        "the others: ms per steady micro-batch, and whole runs",
        *("next to", "window/step", "noop ms", "native ms", "naive ms"),
        *("noop s", "native s", "native form"),
    )
    for row in rows:
        columns = ("noop_batch_ms_p50", "native_batch_ms_p50", "naive_batch_ms_p50")
        whole = ("noop_whole_run_s", "native_whole_run_s")
        table.add_row(
            row["case"],
            f"{row['window_over_step']:,}",
            *(short(row[column]) for column in (*columns, *whole)),
            row["native_form"],
        )
    return table


def _counts(rows: list[dict[str, Any]]) -> Table:
    table = _table(
        "keys counted: ms per steady micro-batch, and how many times as fast as the others",
        *("keys", "ms", "first stage ms", "noop ms", "native ms"),
        *("native", "noop", "first stage to noop", "same"),
    )
    columns = ("batch_ms_p50", "stage_ms_p50", "noop_batch_ms_p50", "native_batch_ms_p50")
    ratios = ("ratio_to_native", "ratio_to_noop", "stage_ratio_to_noop")
    for row in rows:
        told = [short(row[column]) for column in (*columns, *ratios)]
        table.add_row(f"{row['keys']:,}", *told, "yes" if row["same_answers"] else "NO")
    return table


def _latency(rows: list[dict[str, Any]]) -> Table:
    table = _table(
        "from the micro-batch that ends a window to the answer in a file, median",
        *("shuffle partitions", "shards", "ms", "empty micro-batch ms", "micro-batches"),
    )
    columns = ("shuffle_partitions", "shards", "answer_ms_p50", "floor_ms_p50", "batches")
    for row in rows:
        table.add_row(*(short(row[column]) for column in columns))
    return table
