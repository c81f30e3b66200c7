"""The benchmark of standing queries for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from topwater_lab.bench.harness import short


def show(report: dict[str, Any], console: Console) -> None:
    """Print all but the targets: a table per data set, and the growth."""
    rows = report["rows"]
    for data, d in dict.fromkeys((row["data"], row["d"]) for row in rows):
        chosen = [row for row in rows if (row["data"], row["d"]) == (data, d)]
        title = f"{data}, {d} dimensions: compiled passes of scores, passes in NumPy"
        console.print(_ratios(title, chosen))
        console.print(_kept(f"{data}, {d} dimensions: references, objects per query", chosen))
    console.print(_growth(report["growth"]))
    for row in rows:
        point = f"{_name(row)} on {row['data']} d {row['d']} k {row['k']}"
        if row["skipped"]:
            console.print(f"skipped: {point}: {row['skipped']}", soft_wrap=True)
        elif not row["exact"]:
            console.print(
                f"differs: {point}: {row['missed']:.3g} results missed and {row['wrong']:.3g} "
                f"wrong per query, of {row['results'] / row['queries']:.4g}",
                soft_wrap=True,
            )


def show_errors(report: dict[str, Any], console: Console) -> None:
    """Print what was missed and what was wrong."""
    table = Table(
        title=f"errors per query, sigma {report['sigma']:g}",
        title_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
    )
    for column in ("stream", "algorithm"):
        table.add_column(column, no_wrap=True)
    for column in ("N", "n", "k", "runs", "missed", "wrong", "of"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("bounds", no_wrap=True)
    for row in report["rows"]:
        bounds = " and ".join(short(row[f"{name}_bound"]) for name in ("missed", "wrong"))
        table.add_row(
            row["data"],
            row["algorithm"],
            short(row["objects"]),
            short(row["window"]),
            *(str(row[name]) for name in ("k", "runs")),
            *(f"{short(row[n])} ± {short(row[f'{n}_error'])}" for n in ("missed", "wrong")),
            short(row["results"]),
            f"{bounds} {'kept' if row['kept'] else 'broken'}",
        )
    console.print(table)


def _name(row: dict[str, Any]) -> str:
    buffer = "" if row["buffer"] is None else f" {row['buffer']:,}"
    index = {True: " indexed", False: ""}.get(row["indexed"], " auto")
    return f"{row['algorithm']}{buffer}{index}"


def _table(title: str, ks: list[int]) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("algorithm, buffer", no_wrap=True)
    for k in ks:
        table.add_column(f"k {k}", justify="right", no_wrap=True)
    return table


def _by_k(rows: list[dict[str, Any]]) -> tuple[list[int], dict[str, dict[int, dict[str, Any]]]]:
    ks = sorted({row["k"] for row in rows})
    names: dict[str, dict[int, dict[str, Any]]] = {}
    for row in rows:
        names.setdefault(_name(row), {})[row["k"]] = row
    return ks, names


def _ratios(title: str, rows: list[dict[str, Any]]) -> Table:
    ks, names = _by_k(rows)
    table = _table(title, ks)
    for name, found in names.items():
        table.add_row(
            name, *(_both(found.get(k, {}), "ratio_to_scores", "ratio_to_numpy") for k in ks)
        )
    return table


def _both(row: dict[str, Any], one: str, other: str) -> str:
    return f"{short(row.get(one))}, {short(row.get(other))}"


def _kept(title: str, rows: list[dict[str, Any]]) -> Table:
    ks, names = _by_k(rows)
    table = _table(title, ks)
    for name, found in names.items():
        table.add_row(name, *(_both(found.get(k, {}), "references", "objects") for k in ks))
    return table


def _growth(rows: list[dict[str, Any]]) -> Table:
    table = Table(
        title="growth, k 9 in the plane: ns per query and object, and passes of scores",
        title_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
    )
    table.add_column("algorithm, buffer", no_wrap=True)
    for column in ("queries", "objects", "ns", "compiled", "NumPy"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            _name(row),
            f"{row['queries']:,}",
            short(row["objects_measured"]),
            short(row["ns_per_score"]),
            short(row["ratio_to_scores"]),
            short(row["ratio_to_numpy"]),
        )
    return table
