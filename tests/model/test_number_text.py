"""Numbers as people write them."""

from __future__ import annotations

import pytest

from topwater.model import number_text


@pytest.mark.parametrize(
    ("value", "text"),
    [(476_912.25, "476,912"), (0.50831, "0.5083"), (3.0, "3"), (-1_200.0, "-1,200"), (0.0, "0")],
)
def test_four_digits_matter(value: float, text: str) -> None:
    assert number_text(value) == text


def test_what_is_too_long_is_a_power_of_ten() -> None:
    assert number_text(2e15) == "2e+15"
