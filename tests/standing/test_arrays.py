"""Columns as they come in, and results in their order."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.standing.arrays import FARTHEST, as_numbers, join_records, sort_order, usable_rows


def test_what_is_not_a_number_or_too_far_out_is_not_usable() -> None:
    columns = [np.array([1.0, np.nan, 2.0, np.inf]), np.array([0.0, 1.0, -FARTHEST, 1.0])]
    assert usable_rows(columns).tolist() == [True, False, False, False]
    assert usable_rows([np.empty(0)]).tolist() == []


@pytest.mark.parametrize("scale", [1, 2**40])
def test_sorted_by_several_columns(scale: int) -> None:
    rng = np.random.default_rng(1)
    columns = [scale * rng.integers(-5, 5, 50) for _ in range(2)] + [rng.permutation(50)]
    assert sort_order(*columns).tolist() == np.lexsort(columns[::-1]).tolist()
    assert sort_order(np.empty(0, np.int64)).tolist() == []


def test_parts_are_joined_and_one_alone_is_not_copied() -> None:
    kind = np.dtype([("a", "i8")])
    one, none = np.ones(2, kind), np.zeros(0, kind)
    assert join_records([none, one, none]) is one
    assert len(join_records([one, one])) == 4
    assert len(join_records([none, none])) == 0


def test_texts_become_numbers_where_they_are_some() -> None:
    assert as_numbers([1, 2.5]).tolist() == [1.0, 2.5]
    found = as_numbers(np.array(["3", "x", None], object))
    assert found[0] == 3.0
    assert np.isnan(found[1:]).all()
