"""Rows of a window with two remote values each, of which some were read just now."""

from __future__ import annotations

import numpy as np

from topwater.model import Fetched
from topwater.replica.joins.entry_store import EntryStore
from topwater.replica.joins.join import Join
from topwater.replica.joins.row_values import Judge, RowValues
from topwater.replica.joins.value_store import Asked, Frame
from topwater.replica.key_slots import KeySlots
from topwater.replica.window_view import WindowView
from topwater.scoring import Formula
from topwater.scoring.condition_parser import read_condition
from topwater.windows import sliding

K, NOW = 2, 3_000


def scene(
    score: str, where: str | None, sold: list[float], read: dict[str, dict[int, float]]
) -> RowValues:
    """Rows 0, 1, …, of which some values were read just now."""
    condition = None if where is None else read_condition(where)
    judge = Judge(Formula(score), condition)
    index = KeySlots()
    frame = Frame(judge.score, sliding(3_000, 1_000), K, 0)
    slots = index.slots_of(np.arange(len(sold)), add=True)
    index.hold(slots)
    stores = []
    for name in ("price", "trust"):
        store = EntryStore(Join((name,), source=name), frame, [name], index)
        known = [*read.get(name, {})]
        if known:
            values = np.array([*read[name].values()])
            asked = Asked(slots[known], 2, NOW, np.full(len(known), 5))
            store.take_in(asked, Fetched(values, np.ones(len(known), bool)))
        stores.append(store)
    view = WindowView(
        2, NOW, index, {"sold": np.array(sold)}, np.arange(len(sold)) + 5, slots=slots
    )
    return RowValues(view, stores, judge)
