"""Spans of time as windows and budgets write them."""

from __future__ import annotations

import pytest

from topwater.rspql.parser.spans import duration
from topwater.windows import FARTHEST


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("PT9M", 540_000),
        ("pt9m", 540_000),
        ("P1D", 86_400_000),
        ("P1DT1H1M1.5S", 90_061_500),
        ("P2W", 1_209_600_000),
        ("PT0.5S", 500),
        ("10s", 10_000),
        ("30min", 1_800_000),
        ("1h", 3_600_000),
        ("2d", 172_800_000),
        ("100ms", 100),
        ("10", 10),
        ("0", 0),
    ],
)
def test_durations(text: str, span: int) -> None:
    assert duration(text) == span


@pytest.mark.parametrize(
    "text",
    [
        "P",
        "PT",
        "P1DT",
        "P1M",
        "P1Y",
        "PT1.5M",
        "1x",
        "PT0.0001S",
        "NaN",
        "-5",
        "1e5",
        "9" * 30,
        "",
    ],
)
def test_what_is_no_duration_says_why(text: str) -> None:
    told = duration(text)
    assert isinstance(told, str)
    assert len(told) > 10


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("P1Y", "year"),
        ("P2M", "month"),
        ("PT", "'PT'"),
        ("5parsecs", "'parsecs'"),
        ("1.5ms", "1.5ms"),
        ("x" * 101, "long"),
    ],
)
def test_the_reason_names_what_is_wrong(text: str, why: str) -> None:
    assert why in str(duration(text))


def test_the_longest_span() -> None:
    assert duration(str(FARTHEST - 1)) == FARTHEST - 1
    assert isinstance(duration(str(FARTHEST)), str)
