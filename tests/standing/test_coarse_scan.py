"""The first look in single precision: whom it lets through are those of double precision."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topwater.model import FloatArray
from topwater.standing.block_cells import NO_INDEX
from topwater.standing.coarse_scan import (
    coarse_scan,
    narrow_block,
    narrow_columns,
    room_for_marks,
    widened_bound,
)
from topwater.standing.costs import ABSOLUTE, EUCLIDEAN, costs_of
from topwater.standing.kernel_records import RESULT, Block, CostRule, Hits, Workspace

ROWS = 300


def looked(
    columns: FloatArray, point: FloatArray, bound: float, kind: int, block: int, first: int
) -> list[tuple[int, float]]:
    d, n = columns.shape
    narrow, least, most = narrow_columns(d, ROWS), np.zeros(d), np.zeros(d)
    narrow_block(columns, block, n, least, most, narrow)
    none = np.empty(0, np.int64)
    stamps = np.arange(1, n + 1)
    rows = (columns, stamps, 1, block, n)
    given = Block(*rows, narrow, least, most, NO_INDEX, np.empty((d, 0)), none, none)
    hits = Hits(np.empty(n + 1, np.int64), np.empty(n + 1), np.empty(512))
    here, marks, box = np.zeros(d, np.float32), room_for_marks(ROWS), np.empty((3, d), np.int64)
    work = Workspace(here, marks, box, hits, np.empty(1), np.empty(0, RESULT))
    found = coarse_scan(CostRule(kind, 0, point, np.ones(d)), given, first, n, bound, work)
    return list(zip(hits.rows[:found].tolist(), hits.costs[:found].tolist(), strict=True))


def expected(
    columns: FloatArray, point: FloatArray, bound: float, kind: int, first: int
) -> list[tuple[int, float]]:
    costs = np.empty(columns.shape[1])
    costs_of(CostRule(kind, 0, point, np.ones(len(point))), columns, 0, len(costs), costs)
    return [(int(at), costs[at]) for at in np.flatnonzero(costs <= bound) if at >= first]


@settings(deadline=None, max_examples=300)
@given(
    seed=st.integers(0, 10_000),
    d=st.integers(1, 10),
    scale=st.sampled_from([1e-200, 1e-30, 1e-22, 3e-22, 1e-3, 1.0, 1e9, 1e16, 1e40, 1e134]),
    offset=st.sampled_from([0.0, 1.0, -1e3, 1e7, 1e15]),
    share=st.sampled_from([0.0, 0.003, 0.05, 0.5, 1.0]),
    outlier=st.sampled_from([0.0, 1e3, 1e12]),
    kind=st.sampled_from([EUCLIDEAN, EUCLIDEAN, EUCLIDEAN, ABSOLUTE]),
)
def test_nobody_within_the_bound_is_passed_over(
    seed: int, d: int, scale: float, offset: float, share: float, outlier: float, kind: int
) -> None:
    """The bound is what some object costs exactly, so that any rounding would show."""
    rng = np.random.default_rng(seed)
    columns = scale * (offset + rng.random((d, ROWS)))
    columns[:, 7] += min(scale * outlier, 1e149)
    point = columns[:, rng.integers(ROWS)] + scale * rng.choice([0.0, 0.01, 2.0])
    costs = np.array([cost for _, cost in expected(columns, point, np.inf, kind, 0)])
    bound = float(np.quantile(costs, share, method="lower"))
    block, first = (int(at) for at in np.sort(rng.integers(0, ROWS, 2)))
    assert looked(columns, point, bound, kind, block, first) == expected(
        columns, point, bound, kind, first
    )


def test_rows_before_the_block_are_looked_at_too() -> None:
    rng = np.random.default_rng(1)
    columns, point = rng.random((2, ROWS)), np.array([0.5, 0.5])
    assert looked(columns, point, 0.1, EUCLIDEAN, 200, 20) == expected(
        columns, point, 0.1, EUCLIDEAN, 20
    )


@pytest.mark.parametrize("d", [2, 4, 10])
def test_the_bound_is_hardly_widened_where_there_is_room(d: int) -> None:
    least, most, here = np.zeros(d), np.ones(d), np.zeros(d, np.float32)
    point = np.full(d, 0.25)
    assert 1e-4 < widened_bound(point, 1e-4, least, most, here) < 1.001e-4
    assert here.tolist() == [-0.25] * d


@pytest.mark.parametrize(
    ("bound", "most"), [(1e-16, 1.0), (1.0, 1e20), (1e300, 1.0), (0.0, 1.0), (1e-32, 1e-12)]
)
def test_no_first_look_where_single_precision_is_not_enough(bound: float, most: float) -> None:
    here = np.zeros(2, np.float32)
    assert widened_bound(np.zeros(2), bound, np.zeros(2), np.full(2, most), here) == -1.0
