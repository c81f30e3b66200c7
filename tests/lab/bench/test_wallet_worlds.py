"""Worlds with two services: their truth, and what they say of themselves."""

from __future__ import annotations

import numpy as np
import pytest

from topwater_lab.bench.wallet_worlds import CASES, STEP, Case, World

PLAIN = Case("plain", paces=(1, 1 / 20))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_true_ranking_is_right_and_the_reverse_is_not(case: Case) -> None:
    world = World(case, 3, 8)
    view = [*world.views()][-1]
    first, second = world.entries_of(view.keys)
    price = world.remote["shop"].at(first, view.end)
    trust = world.remote["other"].at(second, view.end)
    scores = world.scores(view, price, trust)
    assert world.accuracy(view, view.best_first(scores, 10)) == pytest.approx((1.0, 1.0))
    assert world.accuracy(view, view.best_first(-scores, 10))[0] == 0.0
    assert world.accuracy(view, np.empty(0, np.int64))[0] == 0.0
    assert world.accuracy(view, np.flatnonzero(np.isnan(scores))[:10])[0] == 0.0


def test_a_row_has_the_counts_and_the_last_event_of_its_window() -> None:
    world = World(PLAIN, 1, 9)
    views = [*world.views()]
    assert [view.end for view in views] == [STEP * (at + 1) for at in range(9)]
    assert [view.values["n"].sum() for view in views] == [1_000 * min(5, at + 1) for at in range(9)]
    assert all((view.last_event > view.end - 5 * STEP).all() for view in views)
    assert all((view.last_event <= view.end).all() for view in views)
    seen = world.present(0)
    assert [np.flatnonzero(row).tolist() for row in seen] == [each.keys.tolist() for each in views]


def test_services_change_as_often_as_they_are_said_to() -> None:
    worlds = [World(PLAIN, seed, 60) for seed in range(3)]
    often = [sum(len(world.remote[name]) - 250 for world in worlds) for name in ("shop", "other")]
    assert 10 < often[0] / often[1] < 40
    turns = World(Case("turns", paces=(1, 1 / 20), kind="turns"), 0, 40)
    for name, restless in (("shop", 0), ("other", 1)):
        times = turns.remote[name].times
        changes = np.histogram(times[times > 0], [0, 20 * STEP, 40 * STEP])[0]
        assert changes[restless] > 8 * changes[1 - restless]


def test_vendors_are_shared_and_copies_have_the_same() -> None:
    world = World(Case("shared", kind="shared"), 2, 6)
    products = np.arange(250)
    _, vendors = world.entries_of(products)
    assert len(np.unique(vendors)) <= 25
    for at in (1, 200_000):
        whole = world.remote["other"].at(vendors, at)
        assert whole.tolist() == world.by_product["other"].at(products, at).tolist()
    assert world.present(1).shape == (6, 25)


def test_what_differs_is_what_is_said_first() -> None:
    assert [case.differs for case in CASES[:4]] == [1, 5, 20, 5]
    assert Case("dear", costs=(1, 5)).budget == 36
