"""The benchmark of many keys and groups for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from topwater_lab.bench.harness import short

_COLUMNS = {
    "close_ms": "close",
    "close_ns_per_key": "ns/key",
    "batch_ms_p50": "batch",
    "ratio_to_small": "x small",
    "written_bytes": "written",
    "state_bytes": "state",
    "restart_s": "restart",
    "rss_bytes": "RSS",
}


def show(report: dict[str, Any], console: Console) -> None:
    """Print all but the targets."""
    table = Table(
        title="closing and batch in ms, state and memory in bytes, restart in s",
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
    )
    table.add_column("case", no_wrap=True)
    for name in ("keys", "groups", *_COLUMNS.values()):
        table.add_column(name, justify="right", no_wrap=True)
    for row in report["rows"]:
        kind = "text" if row["text"] else ""
        table.add_row(
            f"{row['case']} {kind}".strip(),
            *(short(row[name]) for name in ("keys", "groups", *_COLUMNS)),
        )
    console.print(table)
