"""The experiment `worlds` on a few windows: its shape, its determinism, and its bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from topwater.replica.utility import Aim
from topwater_lab.experiments import world_runs
from topwater_lab.experiments.oracle import Greedy, ranked
from topwater_lab.experiments.world_runs import AIMS, OURS, POLICIES, Cell, Contest, Truth
from topwater_lab.experiments.worlds import FEW, KINDS, World

SMALL = Contest("walks", FEW, 5, 28, (5,))


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    return world_runs.cells([SMALL], workers=1, quiet=True)


def test_the_report_has_the_agreed_shape(cells: list[Cell]) -> None:
    report = world_runs.report(cells)
    assert report["experiment"] == "worlds"
    figures = "precision ndcg said_precision said_ndcg bound_precision bound_ndcg"
    names = f"world keys budget policy aim {figures}".split()
    assert all(list(cell) == names for cell in report["cells"])
    assert [(c.policy, c.aim) for c in cells] == list(world_runs.contenders())
    assert {c.policy for c in cells} == set(POLICIES)
    assert {c.aim for c in cells if c.policy == OURS} == set(AIMS)
    found = np.array([[getattr(c, name) for name in figures.split()] for c in cells])
    assert (found >= 0).all()
    assert (found <= 1 + 1e-9).all()


def test_it_is_the_same_again(cells: list[Cell]) -> None:
    again = world_runs.work(SMALL)
    assert sorted(again, key=repr) == sorted(cells, key=repr)


def test_the_bound_is_not_beaten(cells: list[Cell]) -> None:
    for cell in cells:
        assert cell.precision <= cell.bound_precision + 1e-9, cell
        assert cell.ndcg <= cell.bound_ndcg + 1e-9, cell


def test_means_are_over_seeds(cells: list[Cell]) -> None:
    better = replace(cells[0], precision=cells[0].precision + 0.2)
    assert world_runs._mean([cells[0], better]).precision == pytest.approx(cells[0].precision + 0.1)


def test_the_whole_experiment_has_every_kind_and_cold_starts_of_two_sizes() -> None:
    for quick in (False, True):
        held = world_runs.contests(range(7, 12), quick=quick)
        assert {each.kind for each in held} == set(KINDS)
        cold = {(each.keys, b) for each in held if KINDS[each.kind].cold for b in each.budgets}
        wanted = {(2_000, 10), (2_000, 100), (20_000, 100)}
        assert cold == wanted if quick else wanted | {(20_000, 10)}
        assert {each.seed for each in held} == ({7} if quick else {7, 8, 9})


@pytest.mark.parametrize("aim", AIMS)
def test_the_bound_looks_at_enough_rows(aim: Aim) -> None:
    """Searching among all rows of a window finds nothing better."""
    truth = Truth(World(KINDS["levels"], FEW, 2, 12))
    remembered = np.full(FEW, 20.0)
    for true in truth.windows:
        few = truth._chosen(true, remembered, 4, aim)
        rows = np.arange(len(true.places))
        search = Greedy.among(rows, true.view, true.scores, true.places, 5, aim)
        mine, stale = remembered[true.view.keys], rows[remembered[true.view.keys] != true.values]
        all_of_them = search.choose(truth._scores(true.view, mine), stale, 4)
        found = []
        for chosen in (few, all_of_them):
            known = mine.copy()
            known[chosen] = true.values[chosen]
            found.append(search.utility(truth._scores(true.view, known)[None, :])[0])
        assert found[0] == pytest.approx(found[1])
        remembered[true.view.keys[few]] = true.values[few]


def test_true_places_are_those_of_the_true_ranking() -> None:
    truth = Truth(World(KINDS["cold product"], 300, 2, 12))
    true = truth.windows[-1]
    assert true.places[ranked(true.scores, true.view)].tolist() == list(range(len(true.places)))
    assert true.scores == pytest.approx(true.view.values["mentions"] * true.values)
