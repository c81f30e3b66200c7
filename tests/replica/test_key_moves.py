"""Rows of keys on either scale: kept as they were written, read as is asked."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from topwater.model import FloatArray
from topwater.replica.key_moves import LOG, MEAN, PACES, SEEN, SIZE, KeyMoves
from topwater.replica.possible_values import COUNT

SLOTS = np.arange(5)


def rows_of(seed: int = 0) -> FloatArray:
    """As they are kept: in single precision."""
    found = np.abs(np.random.default_rng(seed).normal(20, 4, (5, 5 + 2 * COUNT)))
    return found.astype(np.float32).astype(np.float64)


def test_what_was_written_is_read_on_both_scales() -> None:
    for powers in (False, True):
        keys, rows = KeyMoves(), rows_of()
        keys.take(powers=powers)
        keys.write(SLOTS, rows)
        assert (keys.read(SLOTS) == rows).all()
        assert keys.read(np.array([77])).tolist() == [[0.0] * rows.shape[1]]
        at, data = keys.rows(SLOTS)
        assert (np.abs(data[at].astype(np.float64)) == rows).all()


def test_on_the_other_scale_changes_are_shares_of_a_level() -> None:
    keys, rows = KeyMoves(), rows_of()
    keys.write(SLOTS, rows)
    keys.take(powers=True)
    logs = keys.read(SLOTS)
    assert logs[:, MEAN] == pytest.approx(np.log(rows[:, MEAN]))
    for column in (PACES, *range(SIZE, SIZE + COUNT)):
        assert logs[:, column] == pytest.approx(rows[:, column] / rows[:, MEAN])
    for column in (SEEN, *range(LOG, LOG + COUNT)):
        assert (logs[:, column] == rows[:, column]).all()
    # The bounds of many keys are found from just what is read of a few.
    at, data = keys.rows(SLOTS)
    assert (data[at].astype(np.float64) == logs).all()
    # Nothing was written: back again, all is as it was.
    keys.take(powers=False)
    assert (keys.read(SLOTS) == rows).all()


def test_rows_of_both_scales_are_kept_together_and_restored() -> None:
    keys, rows = KeyMoves(), rows_of()
    keys.write(SLOTS, rows)
    keys.take(powers=True)
    keys.write(SLOTS[:2], keys.read(SLOTS[:2]))
    before = keys.read(SLOTS)
    again = KeyMoves()
    again.restore(pa.table(keys.snapshot(SLOTS)), SLOTS + 3)
    again.take(powers=True)
    assert (again.read(SLOTS + 3) == before).all()
    at, data = again.rows(SLOTS + 3)
    assert (data[at].astype(np.float64) == before).all()
    again.take(powers=False)
    assert again.read(SLOTS + 3)[:, MEAN] == pytest.approx(rows[:, MEAN], rel=1e-5)
    assert again.bytes_per_key == 4 * (5 + 2 * COUNT) + 4


def test_rows_that_are_no_measure_stay_numbers() -> None:
    keys = KeyMoves()
    rows = np.tile([[-1e300], [0.0], [1e300]], (1, 5 + 2 * COUNT))
    rows[:, SEEN] = 1.0
    keys.write(SLOTS[:3], rows)
    keys.take(powers=True)
    assert np.isfinite(keys.read(SLOTS)).all()
    keys.reset(SLOTS)
    assert not keys.holds(SLOTS).any()
