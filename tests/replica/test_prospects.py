"""What is to be expected of keys: found once for all that are alike, as if each was alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.election_worlds import Workload
from tests.support.full_election import FullRefresher
from topwater.replica.prospects import MOST_LATER, Prospects


@pytest.mark.parametrize("hint", [False, True])
@pytest.mark.parametrize(("keys", "budget"), [(300, 20), (300, 250), (40, 10)])
def test_of_many_rows_as_of_each_by_itself(keys: int, budget: int, hint: bool) -> None:
    """Most were fetched once, or twice; at many times."""
    workload = Workload(11, keys=keys, seeded=0.5, failing=0.2, lacking=0.1)
    workload = replace(workload, settings={"budget": budget, "hint": hint})
    refresher = workload.made(FullRefresher)
    for view in workload.views(7):
        slots = refresher.replica.slots(view.keys)
        scores = refresher.terms.scores(view.values, refresher.values.of_slots(slots))
        proposal = refresher._proposals.propose(view, slots, scores)
        prospects = Prospects(refresher.learners.beliefs, proposal)
        together = prospects.of(np.arange(len(proposal)))
        for row in range(len(proposal)):
            alone = prospects.of(np.array([row]))
            assert [each[row] for each in together] == [each[0] for each in alone]
            assert [each.tolist() for each in prospects.aged(np.array([row]))] == [
                [together.stale[row]],
                [together.changes[row]],
            ]
        assert (together.uses <= 1.0 + MOST_LATER).all()
        refresher.refresh(view)


def test_a_source_that_failed_will_rather_fail_again() -> None:
    workload = Workload(3, keys=30, seeded=0.0, failing=1.0, settings={"budget": 5})
    refresher = workload.made(FullRefresher)
    first, second = workload.views(2)
    refresher.refresh(first)
    slots = refresher.replica.slots(second.keys)
    scores = refresher.terms.scores(second.values, refresher.values.of_slots(slots))
    proposal = refresher._proposals.propose(second, slots, scores)
    answers = Prospects(refresher.learners.beliefs, proposal).of(np.arange(len(proposal))).answers
    assert answers.tolist() == np.where(proposal.vain > 0, 0.5, 1.0).tolist()
    assert (answers < 1).any()


def test_what_has_aged_is_the_same_where_it_is_found_for_few_of_many() -> None:
    workload = Workload(5, keys=3_000, busy=0.95, seeded=0.7, settings={"budget": 200})
    refresher = workload.made(FullRefresher)
    for view in workload.views(3):
        slots = refresher.replica.slots(view.keys)
        scores = refresher.terms.scores(view.values, refresher.values.of_slots(slots))
        proposal = refresher._proposals.propose(view, slots, scores)
        refresher.replica.told = refresher.learners.beliefs.rates.told = True
        prospects, rows = Prospects(refresher.learners.beliefs, proposal), np.arange(500, 2_700)
        stale, changes = prospects.aged(rows)
        outlook = prospects.of(rows)
        assert (stale == outlook.stale).all()
        assert (changes == outlook.changes).all()
        refresher.refresh(view)
        refresher.replica.mark(slots[:900])
