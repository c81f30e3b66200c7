"""What all queries share of a block."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.standing.block_cells import ALWAYS, NO_INDEX, WHERE_IT_PAYS
from topwater.standing.block_index import BlockIndex, Indexed

STAMPS = np.arange(1, 501)


@pytest.mark.parametrize(
    ("indexed", "queries", "mode"),
    [
        (False, 5_000, NO_INDEX),
        (True, 1, ALWAYS),
        ("auto", 999, NO_INDEX),
        ("auto", 1_000, WHERE_IT_PAYS),
    ],
)
def test_a_block_is_sorted_for_many_queries(indexed: Indexed, queries: int, mode: int) -> None:
    columns = np.random.default_rng(1).random((2, 500))
    block = BlockIndex(2, indexed).block(columns, STAMPS, 7, 100, 500, queries)
    assert (block.mode, block.origin, block.first, block.end) == (mode, 7, 100, 500)
    if mode != NO_INDEX:
        assert sorted(block.order[:400].tolist()) == list(range(100, 500))
        assert block.starts[-1] == 400


def test_the_copy_has_the_middle_of_each_column_as_zero() -> None:
    columns = 1e6 + np.random.default_rng(2).random((3, 500))
    block = BlockIndex(3, False).block(columns, STAMPS, 1, 0, 500)
    middle = (columns.min(axis=1) + columns.max(axis=1)) / 2
    assert block.narrow[:, :500] == pytest.approx(columns - middle[:, None], abs=1e-7)
    assert np.array_equal(block.least, columns.min(axis=1))
    assert np.array_equal(block.most, columns.max(axis=1))


def test_cells_have_equal_shares_along_a_column() -> None:
    columns = np.random.default_rng(3).random((1, 500)) ** 4
    block = BlockIndex(1, True, 5).block(columns, STAMPS, 1, 0, 500)
    assert np.diff(block.starts).tolist() == [100] * 5
