"""What fetches are worth: few keys weighed in full choose as all of them would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.support.election_worlds import Workload
from tests.support.full_election import FullProposal, FullRefresher, FullWorth
from topwater.model import FloatArray
from topwater.replica.appraisal import Appraisal
from topwater.replica.border import JUDGED
from topwater.replica.proposals import Proposal


def weighed(workload: Workload, windows: int = 3) -> Iterator[tuple[Proposal, Appraisal, Any]]:
    """Of each window the proposal, its appraisal, and all its columns."""
    refresher = workload.made(FullRefresher)
    for view in workload.views(windows):
        slots = refresher.replica.slots(view.keys)
        scores = refresher.terms.scores(view.values, refresher.values.of_slots(slots))
        proposal = refresher._proposals.propose(view, slots, scores)
        beliefs = refresher.learners.beliefs
        yield proposal, Appraisal(beliefs, proposal), refresher._all_columns(view, slots)
        refresher.refresh(view)


def full_worth(
    appraisal: Appraisal, everything: FullProposal, most: int | None = None
) -> FloatArray:
    return FullWorth(appraisal._beliefs, everything).worth(most)


@pytest.mark.parametrize("score", ["sum", "product", "wave", "share"])
@pytest.mark.parametrize("spread", ["even", "heavy", "same"])
def test_every_worth_is_that_of_the_whole_window(score: str, spread: str) -> None:
    workload = Workload(3, score, spread, keys=900, seeded=0.7, failing=0.2, bad=0.05)
    for proposal, appraisal, everything in weighed(workload):
        right = full_worth(appraisal, everything)
        rows = np.flatnonzero(~appraisal._unseen(np.arange(len(proposal))))
        assert appraisal.worth(rows).tolist() == right[rows].tolist()
        trifles = rows[~appraisal._border.may_matter(rows)]
        assert appraisal.left_over_worth(trifles).tolist() == right[trifles].tolist()


@pytest.mark.parametrize("most", [None, 0, 1, 10, 300, 5_000])
def test_the_best_are_the_first_of_all(most: int | None) -> None:
    for proposal, appraisal, everything in weighed(Workload(5, keys=4_000, seeded=0.9)):
        right = full_worth(appraisal, everything, most)
        rows = np.flatnonzero(right > 0)
        rows = rows[np.lexsort((everything.position[rows], -right[rows]))]
        found = appraisal.best(np.arange(len(proposal)), most)
        assert found.rows[:most].tolist() == rows[:most].tolist()
        assert found.worth[:most].tolist() == right[rows[:most]].tolist()


def test_where_the_first_are_worth_enough_the_others_are_not_weighed() -> None:
    """The budget is small, and those that can change the answer take it."""
    for proposal, appraisal, _ in weighed(Workload(5, keys=4_000, seeded=1.0)):
        appraisal.left_over_worth = None  # type: ignore[assignment, method-assign]
        assert len(appraisal.best(np.arange(len(proposal)), 5).rows) >= 5


@pytest.mark.parametrize("aim", ["relevance", "accuracy"])
@pytest.mark.parametrize("score", ["product", "sum", "stepped", "least", "greatest", "wave"])
def test_of_many_that_are_all_known_the_best_are_the_first(score: str, aim: str) -> None:
    """Enough to be bounded first: those that matter, and what is left of a budget."""
    settings = {"aim": aim, "budget": 40}
    workload = Workload(9, score, "heavy", keys=14_000, busy=0.9, seeded=1.0, settings=settings)
    for proposal, appraisal, everything in weighed(workload, 2):
        right = full_worth(appraisal, everything)
        rows = np.flatnonzero(right > 0)
        rows = rows[np.lexsort((everything.position[rows], -right[rows]))]
        for most in (30, 700, 2_500):
            found = Appraisal(appraisal._beliefs, proposal).best(np.arange(len(proposal)), most)
            assert found.rows[:most].tolist() == rows[:most].tolist()
            assert found.worth[:most].tolist() == right[rows[:most]].tolist()


def test_a_key_far_from_the_answer_is_worth_what_it_brings_alone() -> None:
    """What it brings with others moved is found for the first keys only, and is not nothing."""
    far = 0
    for proposal, appraisal, _ in weighed(Workload(5, "remote", keys=1_800, busy=0.9, seeded=0.9)):
        rows = np.flatnonzero(~appraisal._unseen(np.arange(len(proposal))))
        outlook = appraisal._prospects.of(rows)
        tried = appraisal._border.could_score(rows)
        alone = outlook.stale * appraisal._border.loss(rows, tried)
        beyond = proposal.places.at(rows) >= JUDGED
        left = appraisal._left_over(rows, outlook, tried)
        right = outlook.uses * outlook.answers * alone + left
        assert appraisal.worth(rows)[beyond].tolist() == right[beyond].tolist()
        far += int(np.count_nonzero(alone[beyond] > 0))
    assert far > 20
