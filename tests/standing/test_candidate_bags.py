"""A bag and its top: against lists, sorted and counted anew after every step."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.standing_arrays import bags_of, entries, skyband, top_of
from topwater.standing import candidate_bags as bags
from topwater.standing.kernel_records import RELAXED, STRICT

Entry = tuple[float, int]


def best(held: list[Entry], k: int) -> list[Entry]:
    """Least cost first; of equal ones the younger."""
    return sorted(held, key=lambda entry: (entry[0], -entry[1]))[:k]


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("rule", [STRICT, RELAXED])
@pytest.mark.parametrize("seed", range(4))
def test_bag_and_top_are_those_of_a_list(k: int, rule: int, seed: int) -> None:
    """Each stamp is its position; the window has 25."""
    rng, heap = np.random.default_rng(seed), np.empty(2 * k + 2)
    (bag, _), pool = bags_of(k, rule)
    window: list[Entry] = []
    for seq, cost in enumerate((rng.integers(0, 30, 150) / 8.0).tolist(), 1):
        window = [*window[-24:], (cost, seq)]
        bags.top_drop(bag, pool, seq - 25)
        bags.skip_expired(bag, pool, seq - 25)
        assert bags.has_room(bag, pool)
        new = bags.insert(bag, pool, cost, seq, seq, 0)
        bags.place_in_top(bag, pool, cost, seq, seq)
        if bag["size"] < k and bag["covers"] == 0:
            bags.refill(bag, pool)
        bags.tidy(bag, pool, new, 0.2, heap)
        kept, band = entries(bag, pool), skyband([entry[0] for entry in window], k)
        assert top_of(bag, pool) == best(window, k)
        assert {window[at] for at in band} <= set(kept)
        if rule == STRICT:
            assert kept == [window[at] for at in band]
        assert bag["oldest"] == min(entry[1] for entry in best(window, k))
        assert bags.kth_cost(bag, pool) == (best(window, k)[-1][0] if len(window) >= k else np.inf)


def test_pruning_leaves_the_skyband() -> None:
    (bag, _), pool = bags_of(2)
    costs = (np.random.default_rng(3).integers(0, 15, 60) / 2.0).tolist()
    for seq, cost in enumerate(costs, 1):
        bags.insert(bag, pool, cost, seq, seq, 0)
    bags.prune(bag, pool, np.empty(3))
    assert entries(bag, pool) == [(costs[at], at + 1) for at in skyband(costs, 2)]


def test_entries_are_found_by_position_and_in_their_order() -> None:
    (bag, _), pool = bags_of(2)
    for seq in (3, 9, 5, 20):
        bags.insert(bag, pool, float(seq), seq, seq, 0)
    assert [seq for _, seq in entries(bag, pool)] == [3, 5, 9, 20]
    assert bags.position_of(bag, pool, 9) == bag["base"] + 2
    assert bags.position_of(bag, pool, 4) == -1
    assert bags.beaten_after(pool, bag["base"], bag["base"] + 4) == 0
    assert bags.next_best(bag, pool) == bag["base"]
    first, sizes = np.array([bag["base"] + 1]), np.array([2])
    assert bags.positions_in(pool, first, sizes).tolist() == [5, 9]


def test_a_full_bag_makes_room_where_old_ones_were() -> None:
    (bag, _), pool = bags_of(1, room=3)
    for seq in (1, 2, 3):
        bags.insert(bag, pool, 1.0, seq, seq, 0)
    assert not bags.has_room(bag, pool)
    bags.skip_expired(bag, pool, 2)
    assert bags.has_room(bag, pool)
    assert (entries(bag, pool), bag["head"], bag["tail"]) == ([(1.0, 3)], 0, 1)
