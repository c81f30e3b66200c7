"""The generated stream: the same rows however it is cut."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.errors import QueryError
from topwater_lab.bids.generator import SCHEMA, Bids, bids_from

FIRST = [("lot-5071", 14.19), ("lot-4245", 16.93), ("lot-3451", 10.0)]
BIDS = Bids(rows_per_second=20, seconds=30, disorder_ms=700, lots=50)


@given(cuts=st.lists(st.integers(0, len(BIDS)), max_size=6))
def test_any_cut_gives_the_same_stream(cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(BIDS)]
    parts = [BIDS.batch(a, b) for a, b in itertools.pairwise(ends)]
    assert pa.Table.from_batches(parts) == pa.Table.from_batches([BIDS.batch(0, len(BIDS))])


def test_the_first_rows_never_change() -> None:
    """Recorded answers and checkpoints rely on it."""
    rows = Bids(rows_per_second=2).batch(0, 3).to_pylist()
    assert [(row["key"], row["value"]) for row in rows] == FIRST


def test_disorder_is_bounded_and_times_stay_in_the_stream() -> None:
    times = BIDS.batch(0, len(BIDS)).column("time").cast(pa.int64()).to_numpy() // 1_000
    newest = np.maximum.accumulate(times)
    assert 0 < (newest - times).max() <= 700
    assert times.min() > BIDS.origin_ms
    assert times.max() <= BIDS.origin_ms + 30_000


def test_a_few_lots_and_a_few_bids_stand_out() -> None:
    table = Bids(rows_per_second=100, seconds=600).batch(0, 60_000)
    values = table.column("value").to_numpy()
    counts = np.sort(np.unique(table.column("key").to_numpy(False), return_counts=True)[1])[::-1]
    assert table.schema == SCHEMA
    assert values.min() >= 10
    assert values.max() > 50 * np.median(values)
    assert counts[:100].sum() > counts[100:1_000].sum() / 2


@pytest.mark.parametrize(
    "options", [{"rate": "5"}, {"seconds": "x"}, {"seconds": "0"}, {"seed": "-1"}]
)
def test_wrong_settings_are_named(options: dict[str, str]) -> None:
    with pytest.raises(QueryError, match=next(iter(options))):
        bids_from(options)
