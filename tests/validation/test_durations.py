"""Spans of time, as people write them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from topwater.errors import QueryError
from topwater.validation import FARTHEST, millis, span


@pytest.mark.parametrize(
    ("written", "length"),
    [
        (250, 250),
        (np.int32(250), 250),
        (timedelta(seconds=2), 2_000),
        ("90s", 90_000),
        ("1.5 hours", 5_400_000),
        ("PT1M30S", 90_000),
        ("p1dt2h", 93_600_000),
    ],
)
def test_durations(written: Any, length: int) -> None:
    assert millis(written) == length


@pytest.mark.parametrize(
    "wrong", ["", "soon", "5 parsecs", "P", "PT", "-5 s", 1.5, True, None, "9" * 20 + "d"]
)
def test_what_is_no_duration(wrong: Any) -> None:
    with pytest.raises(QueryError, match=r"^lateness: .* is not a duration") as caught:
        millis(wrong, field="lateness")
    assert "PT9M" in caught.value.fix


@pytest.mark.parametrize("length", [0, 1, 999, 60_000, 5_400_000, 86_400_000, FARTHEST - 1])
def test_a_span_reads_back(length: int) -> None:
    assert millis(span(length)) == length
