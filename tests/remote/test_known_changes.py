"""Step functions: what each key is worth at a time, and when that changes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.errors import QueryError
from topwater.remote.known_changes import Steps

TIMES = np.array([60, 0, 0, 120, 30])
KEYS = np.array([7, 8, 7, 7, 9])
VALUES = np.array([3, 2, 1, 3, 5])
STEPS = Steps.of(TIMES, KEYS, VALUES)
"""7: 1 from 0, 3 from 60 (told again at 120); 8: 2 from 0; 9: 5 from 30."""


@pytest.mark.parametrize(
    ("at", "values"),
    [(-5, [1, 2, 5]), (0, [1, 2, 5]), (60, [1, 2, 5]), (61, [3, 2, 5]), (10**12, [3, 2, 5])],
)
def test_a_read_sees_what_was_before_it(at: int, values: list[float]) -> None:
    assert STEPS.at(np.array([7, 8, 9]), at).tolist() == values


@pytest.mark.parametrize(("at", "due"), [(-5, 60), (0, 60), (60, 60), (61, math.inf)])
def test_the_same_value_again_is_no_change(at: int, due: float) -> None:
    assert STEPS.changes_after(np.array([7, 8, 9]), at).tolist() == [due, math.inf, math.inf]


def test_rates_extent_and_size() -> None:
    assert STEPS.distinct.tolist() == [7, 8, 9]
    assert STEPS.rates().tolist() == [1 / 0.120, 0, 0]
    assert STEPS.extent == (1.0, 5.0)
    assert STEPS.complete_at == 30
    assert len(STEPS) == 5


def test_a_key_that_nothing_is_known_of() -> None:
    for key in (6, 10):
        with pytest.raises(QueryError, match=f"key {key}"):
            STEPS.at(np.array([7, key]), 0)


SNAPSHOTS = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(-50, 50)), st.integers(0, 2), min_size=1
)


@given(SNAPSHOTS, st.integers(-60, 60))
def test_it_is_what_a_search_through_all_snapshots_finds(
    snapshots: dict[tuple[int, int], int], at: int
) -> None:
    keys, times = (np.array(column) for column in zip(*snapshots, strict=True))
    steps = Steps.of(times, keys, np.array(list(snapshots.values())))
    for key in set(keys.tolist()):
        of_key = sorted((t, v) for (k, t), v in snapshots.items() if k == key)
        before = [v for t, v in of_key if t < at] or [of_key[0][1]]
        changes = [t for (_, old), (t, new) in itertools.pairwise(of_key) if new != old]
        due = min((t for t in changes if t >= at), default=math.inf)
        assert steps.at(np.array([key]), at).tolist() == [before[-1]]
        assert steps.changes_after(np.array([key]), at).tolist() == [due]
