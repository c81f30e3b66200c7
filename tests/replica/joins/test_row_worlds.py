"""Possible worlds of rows: what knowing an entry brings, summed over the rows that have it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.joined_rows import K, scene
from topwater.replica.joins.row_worlds import RowWorlds

KNOWN = {"price": dict.fromkeys(range(20), 1.0), "trust": dict.fromkeys(range(20), 1.0)}


def worlds_of(values: object, seed: int = 0) -> RowWorlds:
    scores = values.scores()  # type: ignore[attr-defined]
    rows = values.view.best_first(scores)  # type: ignore[attr-defined]
    rest = np.setdiff1d(np.arange(len(scores)), rows)
    rows = np.concatenate([rows, rest])
    return RowWorlds(values, rows, scores[rows], K, [seed, 2])  # type: ignore[arg-type]


def test_what_was_read_just_now_is_worth_nothing() -> None:
    values = scene("sold * price * trust", None, [float(each) for each in range(20)], KNOWN)
    worlds = worlds_of(values)
    assert [each.tolist() for each in worlds.worth("relevance")] == [[0.0] * 20] * 2
    assert worlds.fare(K) == (1.0, 1.0)


def test_what_was_never_read_is_a_draw_and_worth_a_look_up() -> None:
    price = {each: float(each + 1) for each in range(20)}
    values = scene("price * trust + 0 * sold", None, [1.0] * 24, {**KNOWN, "price": price})
    worlds = worlds_of(values)
    price_worth, trust_worth = worlds.worth("relevance")
    unread = np.isin(worlds.entries[0].slots, values.slots[0][20:])
    assert price_worth[~unread].max() == 0
    assert price_worth[unread].min() > 0.005
    assert trust_worth.max() == pytest.approx(0.0, abs=1e-9)
    precision, ndcg = worlds.fare(K)
    assert 0.3 < precision < 1.0
    assert 0.2 < ndcg < 1.0


def test_a_filter_that_may_fail_is_worth_a_look_up() -> None:
    trust = {each: float(each % 2) for each in range(1, 20)}
    sold = [50.0, *(float(each) for each in range(1, 20))]
    values = scene("sold * price", "trust > 0.2", sold, {**KNOWN, "trust": trust})
    worlds = worlds_of(values)
    _, worth = worlds.worth("accuracy")
    assert worlds.entries[1].slots[int(np.argmax(worth))] == values.slots[1][0]
    assert worth.max() > 0.1


def test_the_same_is_drawn_for_the_same_window() -> None:
    price = {each: float(each + 1) for each in range(20)}
    values = scene("price * trust + 0 * sold", None, [1.0] * 24, {**KNOWN, "price": price})
    first, second = worlds_of(values).worth("accuracy"), worlds_of(values).worth("accuracy")
    assert [each.tolist() for each in first] == [each.tolist() for each in second]
