"""Shards: where keys go, and one answer from several."""

from __future__ import annotations

from dataclasses import replace

from topwater.model import Answer, LookUp, Window
from topwater.monitor.shards import merge


def test_shards_take_turns_in_whatever_order_they_come() -> None:
    each = Answer(Window(0, 0, 9), ())
    one = replace(each, looked_up=tuple(LookUp(key, None, 1.0, ok=True) for key in (5, 1, 9)))
    two = replace(each, looked_up=tuple(LookUp(key, None, 1.0, ok=True) for key in (4, 8)))
    none = replace(each, looked_up=())
    for order in ([one, two, none], [two, none, one]):
        found = merge(order, 3, smallest=False, accuracy=None)
        assert [look_up.key for look_up in found.looked_up] == [4, 5, 1, 8, 9]
