"""The benchmark of remote sources for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from topwater_lab.bench.harness import short


def show(report: dict[str, Any], console: Console) -> None:
    """Print all but the targets."""
    console.print(
        f"{report['windows']:,} windows, {report['on_time']:.2%} of their answers within "
        f"{report['deadline_ms']} ms, while {report['faults_share']:.0%} of {report['requests']:,} "
        "requests went wrong",
        soft_wrap=True,
    )
    console.print(
        f"late: {report['late']}, of them {report['late_for_want_of_a_processor']} for want of a "
        f"processor; by {short(report['overshoot_ms_p50'])} ms (median), "
        f"{short(report['overshoot_ms_p99'])} ms (p99), {short(report['overshoot_ms_max'])} ms "
        "(worst) of all windows",
        soft_wrap=True,
    )
    console.print(
        f"keys: {report['keys_fetched']:,} asked for, {report['keys_failed']:,} failed, in "
        f"{report['windows_with_failures']:,} windows",
        soft_wrap=True,
    )
    console.print(
        f"limit: {report['rate']} requests a second, shared by {report['processes']} processes: "
        f"{report['rate_used']:.1%} used, at most {report['rate_peak']} in one second, "
        f"{report['rate_exceeded']} refused",
        soft_wrap=True,
    )
    console.print(_counted("fault of the service", "requests", report["faults"]))
    console.print(_counted("problem in the answers", "keys", report["problems"]))


def _counted(name: str, unit: str, counts: dict[str, int]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column(name, no_wrap=True, min_width=24)
    table.add_column(unit, justify="right", no_wrap=True)
    for each, count in sorted(counts.items(), key=lambda item: -item[1]):
        table.add_row(each or "(not told)", f"{count:,}")
    return table
