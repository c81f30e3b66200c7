"""How a structure says that it is broken."""

from __future__ import annotations


def require(holds: object, broken: str) -> None:
    """Raise ``AssertionError`` unless ``holds``; unlike ``assert``, also under ``python -O``.

    Examples
    --------
    >>> require(2 > 1, "order")
    >>> require(1 > 2, "order")
    Traceback (most recent call last):
    ...
    AssertionError: order
    """
    if not holds:
        raise AssertionError(broken)
