"""The border of the answer: what is told by bounds, against trying all that could be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.election_worlds import SCORES, Workload
from tests.support.looping import proposal_of
from topwater.replica import Refresher
from topwater.replica.border import Border
from topwater.replica.prospects import Prospects
from topwater.replica.worth import Worth


def borders(workload: Workload, windows: int = 3) -> list[tuple[Any, Border]]:
    """The proposal and the border of each window."""
    refresher, found = workload.made(Refresher), []
    for view in workload.views(windows):
        slots = refresher.replica.slots(view.keys)
        scores = refresher.terms.scores(view.values, refresher.values.of_slots(slots))
        proposal = refresher._proposals.propose(view, slots, scores)
        beliefs = refresher.learners.beliefs
        found.append((proposal, border_of(proposal, beliefs)))
        refresher.refresh(view)
    return found


def border_of(proposal: Any, beliefs: Worth) -> Border:
    return Border(proposal, beliefs, Prospects(beliefs, proposal))


def workload_of(score: str, **more: Any) -> Workload:
    plain: dict[str, Any] = {"keys": 1_500, "busy": 0.9, "seeded": 0.8, "whole": False}
    return Workload(11, score, **{**plain, **more})


@pytest.mark.parametrize("spread", ["even", "heavy"])
@pytest.mark.parametrize("score", list(SCORES))
def test_what_is_said_not_to_matter_costs_the_answer_nothing(score: str, spread: str) -> None:
    for proposal, border in borders(workload_of(score, spread=spread), 2):
        rows = np.arange(len(proposal))
        loss = border.loss(rows, border.could_score(rows))
        assert not loss[~border.may_matter(rows)].any()


def test_a_row_that_is_shown_matters_wherever_it_is() -> None:
    """With more shown than are judged in any case; whatever moves falls below the border."""
    beliefs = Worth(aim="accuracy")
    beliefs.values.start(np.linspace(-1.0, 1.0, 50))
    ranking = np.arange(800.0, 0.0, -1.0)
    proposal = proposal_of(800, k=600, ranking=ranking, bounds_at=lambda _, low, high: (low, high))
    border, rows = border_of(proposal, beliefs), np.arange(800)
    matters = border.may_matter(rows)
    assert matters.tolist() == [True] * 600 + [False] * 200
    loss = border.loss(rows, border.could_score(rows))
    assert (loss > 0).tolist() == matters.tolist()


def test_of_a_sum_most_keys_do_not_matter() -> None:
    for proposal, border in borders(workload_of("sum")):
        assert np.count_nonzero(border.may_matter(np.arange(len(proposal)))) < 850


@pytest.mark.parametrize("k", [3, 2_000])
@pytest.mark.parametrize("score", ["sum", "wave", "product", "root"])
def test_contested_rows_are_those_that_could_cross_the_border(score: str, k: int) -> None:
    for proposal, border in borders(workload_of(score, k=k, lacking=0.1)):
        rows = np.arange(len(proposal))
        tried = border.could_score(rows)
        shown = proposal.position < min(k, len(proposal.ranking))
        now = proposal.places.score_of(rows)
        scores = tried.scores
        low, high = np.minimum(now, scores.min(axis=1)), np.maximum(now, scores.max(axis=1))
        floor = -np.inf if border.room else low[shown].min()
        crosses = np.where(shown, low < high[~shown].max(initial=-np.inf), high > floor)
        if crosses.any():
            assert border.contested(rows).tolist() == crosses.tolist()
            assert border.contested(rows, tried).tolist() == crosses.tolist()
        assert border.unsettled or not crosses.any()
