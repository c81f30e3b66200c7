"""Who spends a budget: nobody has more, and each does what it is called."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from topwater.replica.joins.allowance import Allowance
from topwater.replica.joins.wish import Wanted
from topwater_lab.bench.wallet_rivals import (
    Cache,
    SplitWallet,
    by_copies,
    by_ranked_key,
    by_split,
    by_ttl,
    by_worth,
    ttls_within,
)
from topwater_lab.bench.wallet_worlds import Case, World

SHARED = Case("shared", costs=(1, 5), kind="shared")
SHORT, WARM_UP = 14, 6


def test_all_spend_the_same_and_no_window_of_ours_more() -> None:
    world = World(SHARED, 4, SHORT)
    ours = by_worth(world, "accuracy", WARM_UP)
    others = [
        by_split(world, "accuracy", WARM_UP, 0.5),
        by_ranked_key(world, "accuracy", WARM_UP),
        by_copies(world, "accuracy", WARM_UP),
    ]
    assert ours.most <= SHARED.budget
    assert ours.cost == pytest.approx(SHARED.budget, abs=2)
    assert [each.cost for each in others] == pytest.approx([SHARED.budget] * 3, abs=2)
    assert len({ours.ndcg, *(each.ndcg for each in others)}) == 4


def test_a_split_keeps_what_is_too_little_for_a_look_up() -> None:
    case = Case("dear", costs=(1, 20))
    settings = dataclasses.replace(case.settings("accuracy"), budget=Allowance(24))
    wallet = SplitWallet(settings, 0.5)
    some = [Wanted(np.arange(9), np.arange(9), np.array([1.0] * 8 + [0.0])) for _ in range(2)]
    taken = [[len(rows) for rows in wallet.chosen(0, some)] for _ in range(7)]
    assert taken == [[8, 0], [8, 1], [8, 0], [8, 1], [8, 1], [8, 0], [8, 1]]


def test_a_cache_reads_what_is_as_old_as_it_may_be() -> None:
    world = World(SHARED, 4, 40)
    for service in (0, 1):
        cache = Cache(world, service, 0)
        ages = [
            window - at[present]
            for window, (present, (at, _)) in enumerate(
                zip(world.present(service), cache.read_at(4), strict=True)
            )
        ]
        assert max(each.max() for each in ages) == 3
        often = world.present(service)[5:].sum(1).mean() / 4
        assert cache.reads(4, 5) == pytest.approx(often, rel=0.1)


def test_caches_that_read_everything_are_right_and_dear() -> None:
    world = World(SHARED, 4, SHORT)
    whole = by_ttl(world, WARM_UP, (1, 1))
    assert (whole.precision, whole.ndcg) == pytest.approx((1.0, 1.0))
    assert whole.cost > 3 * SHARED.budget
    pairs = ttls_within(world, WARM_UP)
    assert len(pairs) > 5
    for ttls in pairs[::4]:
        found = by_ttl(world, WARM_UP, ttls)
        assert found.cost <= SHARED.budget
        assert found.precision < whole.precision
