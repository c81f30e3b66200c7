"""Costs of every kind: against NumPy, one at a time as many at a time, and within a bound."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.model import FloatArray
from topwater.standing.costs import (
    ABSOLUTE,
    EUCLIDEAN,
    LARGEST,
    LINEAR,
    SQUARES,
    cost_of,
    costs_of,
    scan,
)
from topwater.standing.kernel_records import CostRule, Hits

KINDS = [EUCLIDEAN, LARGEST, ABSOLUTE, SQUARES, LINEAR]


def in_numpy(rule: CostRule, columns: FloatArray) -> FloatArray:
    own = columns[rule.column : rule.column + len(rule.point)]
    apart, weight = own - rule.point[:, None], rule.weight[:, None]
    if rule.kind == EUCLIDEAN:
        weight = np.ones_like(weight)
    per_column = {
        LARGEST: weight * abs(apart),
        ABSOLUTE: weight * abs(apart),
        LINEAR: weight * own,
    }.get(rule.kind, weight * apart**2)
    made: FloatArray = per_column.max(axis=0) if rule.kind == LARGEST else per_column.sum(axis=0)
    return made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
@pytest.mark.parametrize("column", [0, 2])
def test_costs_are_those_of_numpy(kind: int, dimensions: int, column: int) -> None:
    rng = np.random.default_rng(dimensions)
    columns = rng.normal(size=(column + dimensions + 1, 700))
    rule = CostRule(kind, column, rng.normal(size=dimensions), rng.random(dimensions))
    out = np.empty(690)
    costs_of(rule, columns, 10, 690, out)
    assert out == pytest.approx(in_numpy(rule, columns)[10:])
    assert [cost_of(rule, columns, row) for row in range(10, 60)] == out[:50].tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bound", [-np.inf, 0.4, np.inf])
def test_a_scan_finds_the_rows_within_a_bound(kind: int, bound: float) -> None:
    rng = np.random.default_rng(kind)
    columns = rng.random((2, 1_300))
    rule = CostRule(kind, 0, rng.random(2), rng.random(2))
    hits, costs = Hits(np.empty(1_301, np.int64), np.empty(1_301), np.empty(512)), np.empty(1_300)
    costs_of(rule, columns, 0, 1_300, costs)
    n = scan(rule, columns, 7, 1_290, bound, hits)
    expected = [row for row in range(7, 1_290) if costs[row] <= bound]
    assert hits.rows[:n].tolist() == expected
    assert np.array_equal(hits.costs[:n], costs[expected])


def test_not_a_number_is_within_no_bound() -> None:
    columns = np.full((1, 100), np.nan)
    columns[0, 40] = 1.0
    hits = Hits(np.empty(101, np.int64), np.empty(101), np.empty(512))
    rule = CostRule(LINEAR, 0, np.zeros(1), np.ones(1))
    assert scan(rule, columns, 0, 100, np.inf, hits) == 1
    assert hits.rows[0] == 40
