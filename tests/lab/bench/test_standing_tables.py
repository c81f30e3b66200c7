"""The benchmark of standing queries as text."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from topwater_lab.bench.standing_tables import show, show_errors

ROW: dict[str, Any] = {
    "algorithm": "rapf",
    "data": "uniform",
    "d": 2,
    "k": 9,
    "buffer": 2_000,
    "indexed": False,
    "queries": 400,
    "ratio_to_scores": 1.25,
    "ratio_to_numpy": 0.5,
    "references": 30.0,
    "objects": 12.0,
    "objects_measured": 100_000,
    "ns_per_score": 0.75,
    "results": 4_000,
    "missed": 0.0,
    "wrong": 0.0,
    "exact": True,
    "skipped": None,
}


def told(*rows: dict[str, Any], growth: tuple[dict[str, Any], ...] = ()) -> list[str]:
    written = io.StringIO()
    show({"rows": list(rows), "growth": list(growth)}, Console(file=written, width=160))
    return [" ".join(line.split()) for line in written.getvalue().splitlines()]


def test_a_line_has_all_k_of_an_algorithm() -> None:
    lines = told(ROW, ROW | {"k": 1, "ratio_to_scores": 1.0}, growth=(ROW,))
    assert "algorithm, buffer k 1 k 9" in lines
    assert "rapf 2,000 1, 0.5 1.25, 0.5" in lines
    assert "rapf 2,000 30, 12 30, 12" in lines
    assert "rapf 2,000 400 100 K 0.75 1.25 0.5" in lines, "the growth"


def test_names_say_how_the_index_is_used() -> None:
    plain = ROW | {"algorithm": "pa", "buffer": None}
    lines = told(plain, plain | {"indexed": True}, plain | {"indexed": "auto"})
    for name in ("pa 1.25, 0.5", "pa indexed 1.25, 0.5", "pa auto 1.25, 0.5"):
        assert name in lines


def test_who_was_skipped_or_differs_is_named() -> None:
    slow = ROW | {"skipped": "too slow", "ratio_to_scores": None, "exact": None}
    assert told(slow)[-1] == "skipped: rapf 2,000 on uniform d 2 k 9: too slow"
    wrong = ROW | {"exact": False, "missed": 0.125, "wrong": 0.25}
    assert told(wrong)[-1] == (
        "differs: rapf 2,000 on uniform d 2 k 9: 0.125 results missed and 0.25 wrong per query, "
        "of 10"
    )
    assert not any(line.startswith(("skipped", "differs")) for line in told(ROW))


def test_errors_are_next_to_their_bounds() -> None:
    row: dict[str, Any] = {"data": "uniform", "algorithm": "pa", "objects": 1_000_000}
    row |= {"window": 40_000, "k": 9, "runs": 200, "results": 90.0, "kept": False}
    row |= {"missed": 0.02, "missed_error": 0.001, "missed_bound": 0.025}
    row |= {"wrong": 0.04, "wrong_error": 0.002, "wrong_bound": 0.0375}
    written = io.StringIO()
    show_errors({"sigma": 1e-3, "rows": [row]}, Console(file=written, width=160))
    title, _, line = [" ".join(each.split()) for each in written.getvalue().splitlines()]
    assert title == "errors per query, sigma 0.001"
    assert line == (
        "uniform pa 1 M 40 K 9 200 0.02 ± 0.001 0.04 ± 0.002 90 0.025 and 0.0375 broken"
    )
