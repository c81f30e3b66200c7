"""Errors over many seeds: the trials, what they give, and the table."""

from __future__ import annotations

import pytest

from topwater.errors import QueryError
from topwater_lab.experiments.world_errors import Outcome, Trial, lines, outcomes, report, trials
from topwater_lab.experiments.worlds import FEW, KINDS

SMALL = [
    Trial("levels", 40, 5, "accuracy", 3, 24),
    Trial("levels", 40, 5, "relevance", 3, 24),
    Trial("levels", 40, None, "accuracy", 3, 24),
]


@pytest.fixture(scope="module")
def found() -> list[Outcome]:
    return outcomes(SMALL, workers=1, quiet=True)


def test_each_trial_is_judged_by_its_aim(found: list[Outcome]) -> None:
    assert [(each.aim, each.budget, each.seed) for each in found] == [
        (trial.aim, trial.budget, trial.seed) for trial in SMALL
    ]
    assert all(0.0 < figure <= 1.0 for each in found for figure in (each.right, each.said))
    assert [each.look_ups for each in found[:2]] == [5.0, 5.0]
    assert found[2].look_ups != 5.0
    assert found[0].right != found[1].right
    assert outcomes(SMALL[:1], workers=1, quiet=True) == found[:1]
    assert len(report(found)["outcomes"]) == len(SMALL)


def test_all_worlds_are_tried_with_all_seeds_or_those_named() -> None:
    held = trials(range(5))
    assert {each.kind for each in held} == set(KINDS)
    assert {each.seed for each in held} == set(range(5))
    assert {each.keys for each in held} == {FEW, 2_000}
    assert {each.aim for each in held} == {"accuracy", "relevance"}
    some = trials(range(9), set_point=True, quick=True, only="cold sum, moving; walks")
    assert {(each.kind, each.aim) for each in some} == {
        ("cold sum, moving", "accuracy"),
        ("walks", "accuracy"),
    }
    assert {each.budget for each in some} == {None}
    assert len(some) == 2 * 4
    with pytest.raises(QueryError, match="no world called 'walk'"):
        trials(range(2), only="walk")


def test_the_table_tells_means_and_their_errors() -> None:
    made = [
        Outcome("walks", 73, 5, "accuracy", seed, right, right + 0.1, 4.0)
        for seed, right in enumerate([0.7, 0.9])
    ]
    head, line, last = lines(made)
    assert "said more by" in head
    assert " ".join(line.split()) == "walks 73 precision 0.800 ± 0.100 0.100 ± 0.000 4.0"
    assert "0.100 on average over 1 rows" in last
    (_, alone, _) = lines(made[:1])
    assert "0.700 ± nan" in alone
