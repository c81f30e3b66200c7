"""Numbers as people write them."""

from __future__ import annotations


def number_text(value: float) -> str:
    """A number as people write it: four digits that matter, and none of a power of ten.

    Examples
    --------
    >>> number_text(476912.25), number_text(0.50831), number_text(3.0)
    ('476,912', '0.5083', '3')
    """
    return f"{value:,.0f}" if 1_000 <= abs(value) < 1e15 else f"{value:.4g}"
