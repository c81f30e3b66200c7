"""The columnar list keeps exactly what MinTopk keeps, not only the same answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topwater.candidates import build
from topwater.model import Items
from topwater.protocols import CandidateList
from topwater.testing import WINDOWS
from topwater.windows import Windows

ROWS = st.lists(
    st.tuples(st.integers(-2, 6), st.floats(0, 1, exclude_min=True), st.integers(0, 3)),
    max_size=20,
)
STEPS = st.lists(st.tuples(ROWS, st.integers(0, 4)), min_size=1, max_size=6)


def compare(panes: CandidateList, mintopk: CandidateList) -> None:
    kept, least = list(panes), list(mintopk)
    assert kept == least


@pytest.mark.parametrize("windows", WINDOWS, ids=str)
@settings(max_examples=20, deadline=None)
@given(steps=STEPS, k=st.integers(1, 4))
def test_the_candidates_are_those_of_mintopk(
    windows: Windows, steps: list[tuple[list[tuple[int, float, int]], int]], k: int
) -> None:
    panes, mintopk = build("panes", windows, k), build("mintopk", windows, k)
    current = 0
    for rows, slides in steps:
        score, share, key = np.array(rows).reshape(-1, 3).T
        time = windows.window(current).start + np.ceil(share * 2 * windows.width).astype(np.int64)
        arrivals = windows.group(Items(score, time, key.astype(np.int64)))
        panes.add(arrivals)
        mintopk.add(arrivals)
        compare(panes, mintopk)
        for _ in range(slides):
            panes.expire(current)
            mintopk.expire(current)
            current += 1
            compare(panes, mintopk)
