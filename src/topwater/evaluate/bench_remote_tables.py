"""The benchmark of remote sources for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from topwater.evaluate.benching import short


def show(report: dict[str, Any], console: Console) -> None:
    """Print all but the targets."""
    console.print(_answers(report))
    console.print(_counted("what the service did wrong", "fault", "requests", report["faults"]))
    console.print(_counted("what the answers tell", "problem", "keys", report["problems"]))
    console.print(
        f"limit of {report['rate']} requests a second, shared by {report['processes']} processes: "
        f"{report['rate_used']:.1%} used, at most {report['rate_peak']} in one second, "
        f"{report['rate_exceeded']} refused",
        soft_wrap=True,
    )


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    return table


def _answers(report: dict[str, Any]) -> Table:
    share = report["faults_share"]
    table = _table(
        f"answers within {report['deadline_ms']} ms, while {share:.0%} of {report['requests']:,} "
        "requests went wrong",
        *("windows", "on time", "late", "no processor", "late ms p50", "p99", "max"),
        *("with failures", "keys", "failed"),
    )
    late = ("overshoot_ms_p50", "overshoot_ms_p99", "overshoot_ms_max")
    table.add_row(
        f"{report['windows']:,}",
        f"{report['on_time']:.2%}",
        *(str(report[name]) for name in ("late", "late_for_want_of_a_processor")),
        *(short(report[name]) for name in late),
        *(f"{report[n]:,}" for n in ("windows_with_failures", "keys_fetched", "keys_failed")),
    )
    return table


def _counted(title: str, name: str, unit: str, counts: dict[str, int]) -> Table:
    table = _table(title, name, unit)
    for each, count in sorted(counts.items(), key=lambda item: -item[1]):
        table.add_row(each or "(not told)", f"{count:,}")
    return table
