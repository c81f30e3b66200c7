"""What standing queries must reach, judged by rows with known numbers."""

from __future__ import annotations

from typing import Any

import pytest

from topwater_lab.bench.standing_targets import check_targets


def _row(algorithm: str, ratio: float, **more: Any) -> dict[str, Any]:
    usual = {
        "algorithm": algorithm,
        "data": "uniform",
        "d": 2,
        "k": 9,
        "queries": 400,
        "indexed": False,
        "buffer": 20_000 if algorithm == "rapf" else None,
        "ratio_to_scores": ratio,
        "ratio_to_numpy": ratio / 10,
        "ns_per_score": ratio,
        "exact": True,
        "skipped": None,
    }
    return usual | more


def _verdicts(*rows: dict[str, Any], growth: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {target.target: target for target in check_targets(rows, growth)}


def test_the_pass_of_scores_is_the_target_at_k_9_without_index() -> None:
    found = _verdicts(
        _row("pa", 1.3),
        _row("pa", 9.0, indexed=True),
        _row("rapf", 2.1),
        _row("rapf", 50.0, k=81),
        _row("rapf", 8.0, buffer=2_000),
    )
    assert found["pa within 1.3 x the pass of scores at k 9"].reached is True
    missed = found["rapf, buffer 20,000 within 2 x the pass of scores at k 9"]
    assert (missed.reached, missed.missed) == (False, ["uniform d 2 k 9: 2.1"])
    assert found["rapf, buffer 2,000 within 2 x the pass of scores in NumPy at k 9"].reached is True


def test_growth_is_judged_against_the_cheapest_smaller_number() -> None:
    sizes = [_row("pa", ns, queries=many) for many, ns in ((100, 2.0), (400, 1.0), (1_000, 1.05))]
    told = "pa: time per query and object within 1.1 x that of fewer queries"
    assert _verdicts(growth=tuple(sizes))[told].reached is True
    worse = _verdicts(growth=(*sizes, _row("pa", 1.2, queries=4_000)))[told]
    assert (worse.reached, worse.at) == (False, "4,000 queries")
    assert worse.worst == pytest.approx(1.2)


def test_ordering_compares_the_best_of_each() -> None:
    rows = [_row("pa", 2.0), _row("rapf", 3.0), _row("rapf", 2.5, indexed=True), _row("sa", 2.7)]
    found = _verdicts(*rows, _row("snn", 2.2, indexed=True, exact=False))
    assert found["pa is the fastest"].reached is True
    first = found["rapf is the fastest exact one, but for auto"]
    assert (first.reached, first.at) == (False, "uniform d 2 k 9, snn indexed")
    assert found["snn behind rapf from k 9 on"].reached is False
    assert found["cpm/w behind rapf from k 9 on"].reached is None
    assert found["the index pays on uniform data for rapf, buffer 20,000"].reached is True
    assert found["all exact ones report the same"].missed == ["uniform d 2 k 9 snn"]


def test_rows_with_fewer_queries_are_not_compared() -> None:
    rows = [_row("rapf", 3.0), _row("snn", 1.0, queries=40, indexed=True, exact=False)]
    found = _verdicts(*rows)
    assert found["snn behind rapf from k 9 on"].reached is None
    assert found["all exact ones report the same"].reached is False


def test_the_choice_of_the_index_is_compared_with_the_better_one() -> None:
    told = "the index is used where it pays: within 1.1 x the better choice"
    rows = [_row("pa", 2.0), _row("pa", 1.0, indexed=True)]
    assert _verdicts(*rows)[told].reached is None
    assert _verdicts(*rows, _row("pa", 1.1, indexed="auto"))[told].reached is True
    worse = _verdicts(*rows, _row("pa", 1.2, indexed="auto"))[told]
    assert worse.missed == ["uniform d 2 k 9 pa: 1.2"]
