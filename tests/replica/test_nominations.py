"""What a shard nominates and offers, against sets and sorting."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.model import IntArray, Shard
from topwater.replica.nominations import IN_TIME, Nominations
from topwater.replica.offers import Offer
from topwater.replica.refresh_settings import RefreshSettings
from topwater.replica.terms import Terms
from topwater.replica.window_view import WindowView
from topwater.scoring import Formula
from topwater.windows import sliding

WINDOWS = sliding(50, 10)
HALF = Shard(0, 2)
K = 4


def nominations(
    shard: Shard = HALF, score: str = "n * remote", limit: int | None = None, budget: int = 7
) -> Nominations:
    settings = RefreshSettings("remote", budget=budget, limit=limit)  # type: ignore[arg-type]
    return Nominations(Terms(settings, Formula(score), WINDOWS, K), shard)


def offered(
    made: Nominations, index: int, keys: IntArray, n: IntArray, last: IntArray | None = None
) -> Offer:
    """A window with these keys; the slots are held as panes would."""
    slots = made.replica.lend(keys)
    view = WindowView(
        index,
        WINDOWS.window(index).end,
        made.replica.index,
        {"n": n.astype(np.float64)},
        np.zeros(len(keys), np.int64) if last is None else last,
        slots,
    )
    found = made.offer(view)
    made.replica.reclaim()
    return found


def nominated(offer: Offer) -> set[int]:
    return set(offer.keys.filter(offer.nominated).to_pylist())


@pytest.mark.parametrize("seed", range(8))
def test_all_that_were_nominated_and_the_best_of_the_others_are_offered(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made, kept = nominations(), set[int]()
    for window in range(12):
        keys = rng.permutation(2_000)[: int(rng.integers(1, 1_500))]
        n = rng.integers(0, 40, len(keys))
        offer = offered(made, window, keys, n)
        best = sorted(zip(-n, keys, strict=True))
        new = [int(key) for _, key in best if key not in kept]
        came = nominated(offer) - kept
        assert came == set(new[: len(came)])
        kept |= came
        others = [key for key in new if key not in came][: K + 512]
        assert set(offer.keys.to_pylist()) == (kept & set(keys.tolist())) | set(others)
        assert offer.left_out == len(keys) - len(offer.keys)
    assert len(kept) == len(made.replica)


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("budget", [1, 7, 20])
def test_nominations_of_all_shards_are_no_more_than_the_budget(shards: int, budget: int) -> None:
    """A shard that had nothing to nominate may do so later, but not without end."""
    rng = np.random.default_rng(shards)
    made = [nominations(Shard(each, shards), budget=budget) for each in range(shards)]
    for window in range(30):
        for number, each in enumerate(made):
            keys = 1_000 * number + np.arange(int(rng.integers(0, 40)) * (window > 5))
            offered(each, window, keys, np.ones(len(keys), np.int64))
            assert each.credit <= budget
        assert sum(len(each.replica) for each in made) <= budget * (window + 1)
    assert sum(len(each.replica) for each in made) >= min(budget * 18, shards * 18)


def test_where_the_budget_is_a_time_there_is_a_number_for_it() -> None:
    settings = RefreshSettings("remote", budget={"deadline": "1 s"})  # type: ignore[arg-type]
    made = Nominations(Terms(settings, Formula("n * remote"), WINDOWS, K), Shard(1, 4))
    keys = np.arange(3_000)
    assert len(nominated(offered(made, 0, keys, keys))) == IN_TIME // 4


@pytest.mark.parametrize("score", ["n * log(remote - 2)", "n + sqrt(0 - remote)", "n / remote"])
def test_a_value_is_taken_that_scores_can_be_made_of(score: str) -> None:
    offer = offered(nominations(score=score), 0, np.arange(9), np.arange(9))
    assert nominated(offer) == {8, 7, 6, 5}
    assert offer.unscored == 0


def test_keys_without_any_score_are_nominated_last_and_counted() -> None:
    made = nominations(score="log(n) * remote", budget=8)
    offer = offered(made, 0, np.arange(6), np.array([0, 0, 0, 1, 2, 3]))
    assert nominated(offer) == {3, 4, 5, 0}
    assert (offer.left_out, offer.unscored) == (2, 2)


def test_the_memory_is_bounded_as_that_of_a_replica() -> None:
    made = nominations(Shard(), limit=10, budget=20)
    for window in range(5):
        keys = np.arange(40 * window, 40 * window + 40)
        offered(made, window, keys, keys)
        assert len(made.replica) <= 10


@pytest.mark.parametrize("seed", range(4))
def test_it_goes_on_where_a_snapshot_was_taken(seed: int) -> None:
    rng = np.random.default_rng(seed)
    windows = [(rng.permutation(90)[:40], rng.integers(0, 9, 40)) for _ in range(10)]
    one, two = nominations(), nominations()
    for window, (keys, n) in enumerate(windows):
        right, found = offered(one, window, keys, n), offered(two, window, keys, n)
        assert found.keys.to_pylist() == right.keys.to_pylist()
        assert found.nominated.tolist() == right.nominated.tolist()
        again = nominations()
        again.restore(*two.snapshot())
        two = again
