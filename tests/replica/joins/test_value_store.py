"""One value of a join: remembered, learnt from, forgotten."""

from __future__ import annotations

import numpy as np

from topwater.model import KeyArray
from topwater.replica.joins.join import Join
from topwater.replica.joins.value_store import Asked, Frame, ValueStore
from topwater.replica.key_slots import KeySlots
from topwater.scoring import Formula
from topwater.windows import sliding

FRAME = Frame(Formula("n * price"), sliding(3_000, 1_000), 3, 0)


def store_of(count: int) -> tuple[ValueStore, np.ndarray]:
    index = KeySlots()
    store = ValueStore(Join(("price",), default=2.0), "price", FRAME, index)
    return store, store.replica.lend(np.arange(count))


def told(store: ValueStore, slots: np.ndarray, values: list[float], now: int) -> None:
    why: KeyArray = np.full(len(slots), "", object)
    asked = Asked(slots, now // 1_000, now, np.full(len(slots), now))
    good = np.ones(len(slots), bool)
    store.take_in(asked, np.array(values), good, why)


def test_what_came_is_remembered_and_drifts_with_time() -> None:
    store, slots = store_of(40)
    for now in range(1_000, 9_000, 1_000):
        told(store, slots[:30], [float(each % 7 + now % 3_000) for each in range(30)], now)
    fresh, later = store.drifts(slots, 8_000), store.drifts(slots, 60_000)
    assert (fresh.stale[:30] == 0).all()
    assert (fresh.stale[30:] == 1).all()
    assert (later.stale[:30] > 0.5).all()
    assert len(np.unique(later.moved.points()[0][35])) > 5


def test_it_knows_how_long_ago_values_were_read() -> None:
    store, slots = store_of(2)
    told(store, slots[:1], [7.0], 3_000)
    aged = store.aged(slots, 5_000)
    assert (aged.seconds.tolist(), aged.hinted.tolist()) == ([2.0, np.inf], [0, 0])


def test_facts_are_taken_over() -> None:
    store, slots = store_of(20)
    told(store, slots, [float(each) for each in range(20)], 1_000)
    again, _ = store_of(20)
    again.restore_facts(store.facts())
    assert again.facts() == store.facts()
    store.forget(slots)
    assert len(store.replica) == 0


def test_what_is_within_the_noise_is_no_change() -> None:
    store = ValueStore(Join(("price",), noise="2 %"), "price", FRAME, KeySlots())
    slots = store.replica.lend(np.arange(2))
    told(store, slots, [100.0, 100.0], 1_000)
    told(store, slots, [105.0, 107.0], 2_000)
    assert store.replica.value[slots].tolist() == [100.0, 107.0]
