"""The entries of a join: many rows may have one, and a row may have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from topwater.model import Fetched
from topwater.monitor.labels import LabelBook, codes_of
from topwater.replica.joins.entry_store import EntryStore
from topwater.replica.joins.join import Join
from topwater.replica.joins.value_store import Asked, Frame
from topwater.replica.key_slots import KeySlots
from topwater.replica.window_view import WindowView
from topwater.scoring import Formula
from topwater.windows import sliding

FRAME = Frame(Formula("n * trust"), sliding(3_000, 1_000), 3, 0)
JOIN = Join(("trust", "name"), source="vendors", key="vendor")
VENDORS = [7, 8, 7, None, 9]


def view_of(vendors: list[Any] = VENDORS) -> WindowView:
    labels = pa.array(vendors, pa.int64())
    book = LabelBook()
    codes = book.add(codes_of(labels), labels)
    count = len(vendors)
    times = np.arange(count) + 5
    values = {"n": np.ones(count), "vendor": codes}
    return WindowView(2, 3_000, np.arange(count), values, times, labels={"vendor": book})


def store_of(join: Join = JOIN) -> EntryStore:
    return EntryStore(join, FRAME, ["trust"], KeySlots())


def came(trust: list[float], names: list[str | None]) -> Fetched:
    return Fetched.of_columns({"trust": np.array(trust), "name": np.array(names, object)})


def asked_of(slots: np.ndarray) -> Asked:
    return Asked(slots, 2, 3_000, np.full(len(slots), 5))


def test_rows_share_the_entries_of_their_keys() -> None:
    store = store_of()
    slots = store.slots_of(view_of())
    assert slots[0] == slots[2] != slots[1]
    assert slots[3] == -1
    assert store.keys_at(slots[[0, 1, 4]]).tolist() == [7, 8, 9]


def test_what_came_serves_all_rows_of_an_entry() -> None:
    store, view = store_of(), view_of()
    slots = store.slots_of(view)
    store.present(slots, view)
    bad = store.take_in(asked_of(slots[:2]), came([0.5, np.nan], ["acme", None]))
    assert bad == 1
    assert store.columns(slots)["trust"][[0, 2]].tolist() == [0.5, 0.5]
    assert np.isnan(store.columns(slots)["trust"][[1, 3]]).all()
    assert store.read_at(slots, 3_000).tolist() == [True, True, True, True, False]
    cells = store.cells(slots, "trust", 3_000)
    assert [cell.value for cell in cells[:3]] == [0.5, None, 0.5]
    assert [cell.assumed for cell in cells] == [None, "not_found", None, "not_found", "never"]
    assert [cell.age for cell in cells] == [0, 0, 0, None, None]
    assert [cell.value for cell in store.cells(slots, "name", 3_000)][:2] == ["acme", None]


def test_a_row_without_a_key_has_the_default() -> None:
    store = store_of(Join(("trust",), key="vendor", default=0.25))
    slots = store.slots_of(view_of())
    assert store.columns(slots)["trust"][3] == 0.25


def test_what_is_only_shown_survives_a_restart() -> None:
    store, view = store_of(), view_of()
    slots = store.slots_of(view)
    store.take_in(asked_of(slots[:2]), came([0.5, 0.7], ["acme", "zeta"]))
    again = store_of()
    again.stores["trust"].replica.restore(store.stores["trust"].replica.snapshot())
    again.restore_texts(store.texts())
    other = again.slots_of(view)
    assert [cell.value for cell in again.cells(other[:2], "name", 3_000)] == ["acme", "zeta"]
    again.forget(again.first.used())
    assert again.texts().num_rows == 0
    assert again.size == 0


def test_a_view_without_any_key_has_no_entries() -> None:
    assert store_of().slots_of(view_of([None, None])).tolist() == [-1, -1]
