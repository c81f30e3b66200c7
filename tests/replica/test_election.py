"""Who is fetched: the unknown first, then as the policy ranks, as far as the purse reaches."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.election_scene import refresher_of, view_of
from topwater.replica import Refresher, WindowView
from topwater.replica.appraisal import Appraised


def elected(refresher: Refresher, view: WindowView, allowance: int) -> list[int]:
    slots = refresher.replica.slots(view.keys)
    scores = refresher.terms.scores(view.values, refresher.values.of_slots(slots))
    proposal = refresher._proposals.propose(view, slots, scores)
    rows = refresher._election.elect(proposal, allowance).rows
    return [int(key) for key in proposal.keys[rows]]


def test_keys_never_asked_for_come_first_the_higher_ranked_before_the_lower() -> None:
    refresher = refresher_of(policy="tsm")
    refresher.seed_replica(np.array([1, 2]), np.array([50.0, 40.0]), 0)
    view = view_of(0, [1, 2, 8, 9], [0.0, 0.0, 1.0, 2.0])
    assert elected(refresher, view, 3) == [9, 8, 1]


def test_a_key_that_was_asked_for_in_vain_is_left_to_the_policy() -> None:
    refresher = refresher_of(policy="tsm", k=1, spare=0)
    refresher.seed_replica(np.array([1]), np.array([50.0]), 0)
    refresher.replica.miss(refresher.replica.slots(np.array([9])), 5)
    assert elected(refresher, view_of(0, [1, 9], [0.0, 0.0]), 1) == [1]


@pytest.mark.parametrize(
    ("policy", "budget", "right"),
    [
        ("tsm", 2, [3, 2]),
        ("tsm", None, [3, 2, 1]),
        ("asm", 2, [3, 2, 1]),
        ("wst", 2, []),
    ],
)
def test_the_allowance_binds_all_but_the_bounds(
    policy: str, budget: int | None, right: list[int]
) -> None:
    refresher = refresher_of(policy=policy, budget=budget, k=3)
    refresher.seed_replica(np.array([1, 2, 3]), np.array([1.0, 2.0, 3.0]), 0)
    assert elected(refresher, view_of(0, [1, 2, 3]), 2) == right


def test_without_a_limit_what_the_policy_leaves_out_follows() -> None:
    refresher = refresher_of(policy="ttl:1 h", budget=None)
    refresher.seed_replica(np.array([1, 2]), np.array([1.0, 2.0]), 0)
    assert sorted(elected(refresher, view_of(0, [1, 2]), 9)) == [1, 2]


def test_with_carry_over_the_purse_says_how_many_are_worth_it() -> None:
    asked: list[int] = []
    refresher = refresher_of(budget={"fetches": 2, "carry_over": True})
    refresher.seed_replica(np.arange(6), np.arange(6) / 2, 0)

    def worthwhile(worths: np.ndarray) -> int:
        asked.append(len(worths))
        assert (np.diff(worths) <= 0).all()
        return 1

    refresher.purse.worthwhile = worthwhile  # type: ignore[method-assign]
    assert len(elected(refresher, view_of(60, range(6)), 6)) == 1
    assert len(asked) == 1


@pytest.mark.parametrize("seed", range(8))
def test_those_read_longest_ago_whatever_the_order_of_rows(seed: int) -> None:
    """Against sorting all: by when they were read, and of equals the higher ranked."""
    rng = np.random.default_rng(seed)
    keys, count = np.arange(30), int(rng.integers(0, 12))
    read = rng.integers(0, 5, 30) * 1_000
    values = rng.normal(size=30)
    chosen = rng.permutation(keys)[:7]
    found = []
    for order in (keys, keys[::-1], rng.permutation(keys)):
        refresher = refresher_of()
        for at in np.unique(read):
            # Every sixth key was never read.
            some = keys[(read == at) & (keys % 6 > 0)]
            refresher.replica.put(refresher.replica.slots(some), values[some], int(at))
        view = view_of(0, order)
        slots = refresher.replica.slots(view.keys)
        scores = refresher.terms.scores(view.values, refresher.values.of_slots(slots))
        proposal = refresher._proposals.propose(view, slots, scores)
        places = {int(key): row for row, key in enumerate(proposal.keys)}
        elected = Appraised(np.array([places[int(key)] for key in chosen]), np.ones(7))
        more = refresher._election.with_oldest(proposal, elected, count, 15)
        assert more.worth.tolist() == [1.0] * 7 + [0.0] * (len(more.rows) - 7)
        found.append([int(key) for key in proposal.keys[more.rows]])
    left = [int(key) for key in keys if key % 6 and key not in set(chosen.tolist())]
    right = sorted(left, key=lambda key: (read[key], -values[key]))[: min(count, 8)]
    assert found == [chosen.tolist() + right] * 3
