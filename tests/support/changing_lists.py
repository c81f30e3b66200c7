"""What the tests of lists for changing scores share: windows, events and a world of keys."""

from __future__ import annotations

from typing import Any

from tests.support.everything import Everything
from topwater.model import Items
from topwater.windows import Windows

ACQUATOP = Windows(9, 3, start=1)
"""W0 = (1, 10], W1 = (4, 13], W2 = (7, 16], W3 = (10, 19]."""


AT_9 = [(2, "A", 1), (3, "B", 5), (5, "C", 6), (6, "D", 2), (8, "E", 7), (9, "F", 4)]


PAIRS = ["topk+n", "panes+n"]


def world(windows: Windows = ACQUATOP, keys: str = "ABCDEFGXYZ") -> Everything:
    return Everything(windows, dict.fromkeys(keys, 0.0))


def keys_of(items: Items) -> list[Any]:
    return items.key.tolist()  # type: ignore[no-any-return]
