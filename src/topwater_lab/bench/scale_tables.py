"""The benchmark of many keys and groups for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from topwater_lab.bench.harness import short

_LOCAL = {
    "close_ms": "close",
    "close_ns_per_key": "ns/key",
    "batch_ms_p50": "batch",
    "ratio_to_small": "x small",
    "written_bytes": "written",
    "state_bytes": "state",
    "restart_s": "restart",
    "rss_bytes": "RSS",
}
_SPARK = {
    "batch_ms_p50": "batch",
    "ratio_to_small": "small",
    "ratio_to_native": "native",
    "close_ms": "close",
    "written_to_came": "wrote",
    "state_bytes": "state",
    "cache_hits": "hits",
    "restart_s": "again",
    "rss_bytes": "RSS",
}


def show(report: dict[str, Any], console: Console) -> None:
    """Print all but the targets."""
    console.print(_local([row for row in report["rows"] if row["case"] == "local"]))
    for row in report["rows"]:
        if row["case"] == "churn":
            console.print(_churn(row), soft_wrap=True)
    others = [row for row in report["rows"] if row["case"] in ("spark", "native")]
    if others:
        console.print(_spark(others))
        console.print(
            "small: times the micro-batch of the first; native: times as fast as Spark's own; "
            "wrote: bytes written for one that came; again: seconds a restart takes longer",
            soft_wrap=True,
        )


def _local(rows: list[dict[str, Any]]) -> Table:
    table = _table("in process: closing and batch in ms, state and memory in bytes, restart in s")
    for name in ("keys", "groups", *_LOCAL.values()):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        kind = "text" if row["text"] else ""
        table.add_row(
            f"{row['case']} {kind}".strip(),
            *(short(row[name]) for name in ("keys", "groups", *_LOCAL)),
        )
    return table


def _churn(row: dict[str, Any]) -> str:
    hours, bound = row["minutes"] / 60, row["bound_minute"]
    met = "not met" if bound is None else f"met in hour {bound / 60:.3g}"
    return (
        f"{short(row['keys'])} new keys in {hours:.3g} hours: the bound was {met}; then the most "
        f"of the last quarter is {row['growth']:.2f} times the most before; in the end "
        f"{short(row['remembered'])} keys, state {short(row['state_bytes'])}B"
    )


def _spark(rows: list[dict[str, Any]]) -> Table:
    table = _table("on Spark: closing and batch in ms, state and memory in bytes")
    for name in ("remembers", "events", "shards", *_SPARK.values()):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        what = "groups" if row["groups"] else "keys"
        table.add_row(
            row["case"],
            f"{short(row[what])} {what}",
            short(row["drawn"]) if row["drawn"] else "-",
            str(row["shards"]) if row["case"] == "spark" else "-",
            *(short(row[name]) for name in _SPARK),
        )
    return table


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    table.add_column("case", no_wrap=True)
    return table
