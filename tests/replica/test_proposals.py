"""Which keys are proposed, and what a policy is shown of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.election_scene import MINUTE, refresher_of, view_of
from topwater.replica import Refresher, WindowView
from topwater.replica.proposals import Proposal


def proposed(refresher: Refresher, view: WindowView) -> Proposal:
    slots = refresher.replica.slots(view.keys)
    scores = refresher.terms.scores(view.values, refresher.values.of_slots(slots))
    return refresher._proposals.propose(view, slots, scores)


def known(*keys: int, **settings: Any) -> Refresher:
    """A refresher whose replica has a zero for these keys, since the beginning."""
    refresher = refresher_of(**settings)
    refresher.seed_replica(np.array(keys), np.zeros(len(keys)), 0)
    return refresher


def test_the_window_proposes_all_its_keys_with_their_places() -> None:
    proposal = proposed(known(1, 2, 3, policy="lru"), view_of(0, [1, 2, 3], [5.0, 9.0, 7.0]))
    assert proposal.keys.tolist() == [1, 2, 3]
    assert proposal.position.tolist() == [2, 0, 1]
    assert proposal.ranking.tolist() == [9.0, 7.0, 5.0]
    assert proposal.fetched.tolist() == proposal.asked.tolist() == [0, 0, 0]
    assert proposal.inside.all()
    assert (proposal.now, proposal.k, proposal.width) == (MINUTE, 2, 100_000)


def test_candidates_are_the_best_of_each_window_that_their_keys_reach() -> None:
    """Keys 1 and 2 lead, but have fallen silent: key 4 is a candidate of the next window.

    ::

        this window   (────────────────────]
        next window                  (────────────────────]
        1, 2, 3             ●
        4, 5                            ●
    """
    early, late = MINUTE - 55_000, MINUTE - 1_000
    refresher = known(1, 2, 3, 4, 5, policy="at-lru", k=1, spare=0)
    view = view_of(0, [1, 2, 3, 4, 5], [9, 8, 7, 6, 5], [early, early, early, late, late])
    assert proposed(refresher, view).keys.tolist() == [1, 4]


def test_a_key_that_was_never_fetched_is_always_proposed() -> None:
    refresher = known(1, 2, 3, policy="at-lru", k=1, spare=0)
    view = view_of(0, [1, 2, 3, 7], [9.0, 8.0, 7.0, 1.0])
    assert proposed(refresher, view).keys.tolist() == [1, 7]


def test_without_a_limit_candidates_are_all_keys() -> None:
    refresher = known(1, 2, 3, policy="at-lru", k=1, spare=0, budget=None)
    assert proposed(refresher, view_of(0, [1, 2, 3], [9.0, 8.0, 7.0])).keys.tolist() == [1, 2, 3]


def test_the_replica_proposes_what_is_outside_the_window_as_well() -> None:
    proposal = proposed(known(1, 2, 3, policy="gnr-lru"), view_of(4, [2], [1.0]))
    assert proposal.keys.tolist() == [2, 1, 3]
    assert proposal.inside.tolist() == [True, False, False]
    assert proposal.position.tolist() == [0, 1, 1]


def test_scores_can_be_tried_with_other_values() -> None:
    refresher = known(1, 2, 3, policy="at-lru", k=1, spare=0)
    proposal = proposed(refresher, view_of(0, [1, 2, 3], [1.0, 5.0, 2.0]))
    assert proposal.keys.tolist() == [2]
    tried = proposal.score_at(np.array([0, 0]), np.array([10.0, -1.0]))
    assert tried.tolist() == [15.0, 4.0]


@pytest.mark.parametrize("policy", ["worth", "at-lru", "gnr-rnd"])
def test_a_window_without_keys_proposes_none_of_it(policy: str) -> None:
    proposal = proposed(known(1, policy=policy), view_of(0, np.empty(0, np.int64)))
    assert not proposal.inside.any()
    assert len(proposal.ranking) == 0
