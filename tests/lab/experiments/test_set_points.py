"""Set-points in a small world, and what is told of them."""

from __future__ import annotations

import json

import pytest

from topwater_lab.experiments.set_points import (
    ACCURACY,
    Row,
    Trial,
    best_budget,
    lines,
    report,
    rows,
    trials,
    with_set_point,
)
from topwater_lab.experiments.world_runs import Truth
from topwater_lab.experiments.worlds import DESIGN_SEEDS, FEW, KINDS, World


def row(world: str = "levels", **more: float | None) -> Row:
    figures = {"precision": 0.9, "said": 0.91, "look_ups": 3.0, "best": 2.5, "bound": 1.0} | more
    return Row(world, FEW, ACCURACY, 50, **figures)  # type: ignore[arg-type]


def test_every_kind_of_world_is_tried() -> None:
    assert {each.kind for each in trials(range(5))} == set(KINDS)
    quick = trials(range(5), quick=True)
    assert {each.kind for each in quick} == {kind.name for kind in KINDS.values() if not kind.cold}
    assert {each.seed for each in quick} == {0}


def test_a_small_world_is_told_in_full() -> None:
    (found,) = rows([Trial("levels", 30, DESIGN_SEEDS[0], 35)], workers=1, quiet=True)
    assert found.said == pytest.approx(ACCURACY, abs=0.05)
    assert found.precision == pytest.approx(ACCURACY, abs=0.1)
    assert found.bound >= found.precision
    assert found.best is not None
    assert 0 < found.look_ups < 15
    (told,) = json.loads(json.dumps(report([found])))["rows"]
    assert told["times"] == pytest.approx(found.look_ups / found.best)


def test_the_best_budget_lies_between_what_was_tried() -> None:
    world = World(KINDS["levels"], 20, 1, 30)
    truth = Truth(world)
    assert best_budget(world, truth, 0.01, 50) == pytest.approx(0.01, abs=0.1)
    assert best_budget(world, truth, 1.1, 2) is None


def test_answers_are_those_that_are_judged() -> None:
    world = World(KINDS["levels"], 10, 1, 25)
    answers = with_set_point(world, 0.5, 9)
    assert len(answers) == 5
    Truth(world).judge(answers)


def test_the_table_says_what_it_comes_to() -> None:
    told = "\n".join(
        lines([row(), row("walks", precision=0.8, best=None), row("noise", bound=0.5)])
    )
    assert "within 0.03 of 0.9 in 1 of 2 worlds where that can be" in told
    assert "with at most 1.3 times the look-ups of the best fixed budget in 1" in told
    assert "levels" in told
    assert "1.20" in told
