"""Policies: their contract, and the worked examples of the papers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.looping import proposal_of, query_of
from topwater.errors import QueryError
from topwater.model import FloatArray, IntArray
from topwater.replica import Refresher, WindowView
from topwater.replica.look_ups import Polls
from topwater.replica.policies import (
    BestBefore,
    Borderline,
    FromTheTop,
    LeastRecent,
    Policy,
    TrueBestBefore,
    evaluations_left,
    rankers,
    resolve,
)
from topwater.replica.proposals import Proposal
from topwater.replica.refresh_settings import RefreshSettings
from topwater.replica.store import NEVER
from topwater.replica.worth import Worth
from topwater.testing import Scripted, check_policy

NAMES = [prefix + name for name in rankers for prefix in ("", "at-", "wsj-", "gnr-")]


@pytest.mark.parametrize("name", NAMES)
def test_contract(name: str) -> None:
    check_policy(name, steps=5)


@pytest.mark.parametrize("ranker", list(rankers))
def test_proposer_and_ranker_are_settings_of_their_own(ranker: str) -> None:
    """Whether the proposer is in the name or in a setting, the same keys are fetched."""
    for prefix, place in (("at-", "candidates"), ("wsj-", "window"), ("gnr-", "replica")):
        assert resolve(prefix + ranker) == (rankers[ranker], place)
        named, set_apart = (
            fetched_by({"policy": prefix + ranker}),
            fetched_by({"policy": ranker, "refresh_from": place}),
        )
        assert named == set_apart
        assert any(named) == (ranker != "wst")


def fetched_by(settings: dict[str, Any]) -> list[list[Any]]:
    """What four windows fetch: the keys 0 to 11 in the first two, the even ones in the others."""
    values = {key: [(0, float(key)), (100_000, float(-key))] for key in range(12)}
    source = Scripted(values)
    query = query_of()
    chosen = RefreshSettings.of({"remote": "remote", "budget": 4, "spare": 2, **settings})
    refresher = Refresher(chosen, query.score, query.window, query.k, source, source.truth)
    for window in range(4):
        closes = query.window.window(window).end
        keys = np.arange(0, 12, 1 + window // 2)
        source.now = closes
        stream = {"n": np.ones(len(keys))}
        refresher.refresh(WindowView(window, closes, keys, stream, np.full(len(keys), closes)))
    return [call for call in source.calls if call]


def elected(policy: Policy, proposal: Proposal, names: str, budget: int) -> str:
    return "".join(names[row] for row in policy.rank(proposal)[:budget])


def test_figure_6d() -> None:
    """The list G E C F A, k 3, N 1: TSM looks at the top, BSM around the border."""
    proposal = proposal_of(5, k=3)
    assert elected(FromTheTop(), proposal, "GECFA", 2) == "GE"
    assert set(elected(Borderline(), proposal, "GECFA", 2)) == {"C", "F"}
    assert elected(Borderline(), proposal, "GECFA", 5) == "FCAEG"


def test_bsm_goes_on_where_one_side_ends() -> None:
    assert Borderline().rank(proposal_of(9, k=2)).tolist() == [2, 1, 3, 0, 4, 5, 6, 7, 8]
    assert Borderline().rank(proposal_of(3, k=5)).tolist() == [2, 1, 0]


def test_lru_takes_the_oldest() -> None:
    proposal = proposal_of(4, asked=np.array([5, 3, 9, 4]))
    assert LeastRecent().rank(proposal).tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize("name", ["rnd", "lru", "wbm", "bst", "wbm*"])
def test_equals_are_drawn_whatever_their_rank(name: str) -> None:
    """Of ten equal keys each comes first now and then, and as often as the others."""
    policy = rankers[name].make(0)

    def first(window: int, position: IntArray) -> int:
        proposal = proposal_of(
            10,
            window=window,
            position=position,
            rates=np.ones(10),
            truth=lambda _: (np.ones(10), np.full(10, 100.0)),
        )
        return int(policy.rank(proposal)[0])

    found = [first(window, np.arange(10)) for window in range(400)]
    assert found == [first(window, np.arange(10)[::-1]) for window in range(400)]
    assert 20 <= np.bincount(found, minlength=10).min() <= np.bincount(found).max() <= 60


def in_seconds(**columns: Any) -> dict[str, Any]:
    times = ("now", "width", "step", "last_event", "fetched", "asked")
    return {name: x * 1_000 if name in times else x for name, x in columns.items()}


def wbm(best_before: list[float], intervals: list[float], **columns: Any) -> tuple[Any, Proposal]:
    """WBM with best-before times as in a figure, in seconds, which an earlier election set."""
    n = len(best_before)
    policy = BestBefore()
    policy._times.put(
        np.arange(n), np.column_stack([np.array(best_before), np.array(intervals)]) * 1_000
    )
    proposal = proposal_of(
        n,
        rates=1 / np.array(intervals),
        fetched=np.full(n, -(10**6)),
        **in_seconds(**columns),
    )
    return policy, proposal


def fresh_until(best_before: list[int], intervals: list[int]) -> FloatArray:
    """τ + I, in milliseconds."""
    return np.asarray(1_000.0 * (np.array(best_before) + np.array(intervals)))


def test_acquatop_figure_5() -> None:
    """Width 5, slide 2, now 5: possibly stale A, B, E; L 1, 1, 3; V 3, 3, 4; B 1 takes E.

    ::

        time  0    1    2    3    4    5
        last  B    A    C    D    E
    """
    last = np.array([2, 2, 3, 4, 5])
    policy, proposal = wbm(
        [5, 5, 7, 8, 5],
        [6, 6, 5, 5, 8],
        now=5,
        width=5,
        step=2,
        last_event=last,
    )
    assert elected(policy, proposal, "ABCDE", 1) == "E"
    assert set(elected(policy, proposal, "ABCDE", 3)) == {"A", "B", "E"}
    needed, fresh = evaluations_left(proposal, fresh_until([5, 5, 7, 8, 5], [6, 6, 5, 5, 8]))
    stale = [0, 1, 4]
    assert (needed[stale].tolist(), fresh[stale].tolist()) == ([1, 1, 3], [3, 3, 4])


def test_acqua_figure_2() -> None:
    """Now 8, slide 1: possibly stale a, c, d; min(L, V) 1, 3, 1; B 1 takes c, then τ_c is 11."""
    policy, proposal = wbm(
        [8, 10, 8, 7],
        [4, 5, 3, 2],
        now=8,
        width=4,
        step=1,
        last_event=np.array([5, 6, 7, 7]),
    )
    assert elected(policy, proposal, "abcd", 1) == "c"
    assert set(elected(policy, proposal, "abcd", 3)) == {"a", "c", "d"}
    needed, fresh = evaluations_left(proposal, fresh_until([8, 10, 8, 7], [4, 5, 3, 2]))
    stale = [0, 2, 3]
    assert (needed[stale].tolist(), fresh[stale].tolist()) == ([1, 3, 3], [4, 3, 1])
    assert np.minimum(needed, fresh)[stale].tolist() == [1, 3, 1]
    fetched = np.array([2])
    policy.observe(
        Polls(8_000, fetched, np.ones(1), np.ones(1, bool), np.ones(1), np.ones(1), fetched)
    )
    assert policy._times.at(fetched)[0, 0] == pytest.approx(11_000)


def test_a_best_before_time_long_past_moves_past_now() -> None:
    policy, proposal = wbm([1], [3], now=20, width=5, step=1, last_event=np.array([20]))
    policy.rank(proposal)
    one = np.array([0])
    policy.observe(Polls(20_000, one, np.ones(1), one < 0, np.ones(1), np.ones(1), one))
    assert policy._times.at(one)[0, 0] == pytest.approx(22_000)


def test_wbm_spends_what_is_left_on_the_least_recently_fetched() -> None:
    """Only b is possibly stale; d is known never to change."""
    policy, proposal = wbm(
        [9, 8, 9, 9],
        [5, 5, 5, np.inf],
        now=8,
        width=4,
        step=1,
        last_event=np.array([8, 8, 8, 8]),
        asked=np.array([7, 3, 5, 1]),
    )
    assert elected(policy, proposal, "abcd", 4) == "bca"


def test_a_fetch_before_its_time_leaves_the_best_before_time() -> None:
    policy, proposal = wbm([25], [30], now=20, width=5, step=1, last_event=np.array([20]))
    policy.rank(proposal)
    one = np.array([0])
    policy.observe(Polls(20_000, one, np.ones(1), one < 0, np.ones(1), np.ones(1), one))
    assert policy._times.at(one)[0, 0] == pytest.approx(25_000)


def best_before(policy: BestBefore, **columns: Any) -> float:
    """Of the only key, which changes every 100 s, after an election."""
    policy.rank(proposal_of(1, step=60_000, width=100_000, rates=np.array([0.01]), **columns))
    return float(policy._times.at(np.array([0]))[0, 0])


def test_the_first_fetch_of_a_key_moves_its_best_before_time_too() -> None:
    """It is not a poll, so `observe` never hears of it."""
    policy = BestBefore()
    assert best_before(policy, window=0, now=60_000, fetched=np.array([NEVER])) == 60_000
    assert best_before(policy, window=1, now=120_000, fetched=np.array([60_000])) == 160_000
    assert best_before(policy, window=2, now=180_000, fetched=np.array([60_000])) == 160_000


def test_best_before_times_start_with_the_first_window_for_what_was_known_then() -> None:
    known, new = np.array([50_000]), np.array([NEVER])
    assert best_before(BestBefore(), window=3, now=280_000, fetched=known) == 100_000
    assert best_before(BestBefore(), window=3, now=280_000, fetched=new) == 280_000


def test_tumbling_windows_are_ordered_by_how_long_values_last() -> None:
    columns: dict[str, Any] = {"now": 10, "width": 5, "last_event": np.array([6, 10])}
    policy, proposal = wbm([10, 10], [40, 30], step=5, **columns)
    assert policy.rank(proposal).tolist() == [0, 1]
    policy, proposal = wbm([10, 10], [40, 30], step=1, **columns)
    assert policy.rank(proposal).tolist() == [1, 0]


def test_a_rate_of_zero_is_never_stale() -> None:
    proposal = proposal_of(2, now=60, rates=np.array([0.0, 1.0]))
    assert BestBefore().rank(proposal).tolist() == [1]


def test_wbm_star_knows_what_is_stale() -> None:
    proposal = proposal_of(
        3,
        value=np.array([1.0, 2.0, np.nan]),
        truth=lambda _: (np.array([1.0, 3.0, np.nan]), np.full(3, 100.0)),
    )
    assert TrueBestBefore().rank(proposal).tolist() == [1]


@pytest.mark.parametrize(
    "settings",
    [
        {"policy": "best"},
        {"policy": "at-"},
        {"policy": None},
        {"policy": 7},
        {"policy": ["lru"]},
        {"policy": "at-wbm", "estimator": None},
        {"policy": "lru", "budget": 0},
        {"budget": -1},
        {"budget": 1.5},
        {"budget": True},
        {"budget": []},
        {"budget": {"fetches": 3, "deadline": "1s"}},
        {"budget": {"deadline": "soon"}},
        {"budget": {"deadline": 0}},
        {"budget": {"deadline": "1s", "carry_over": True}},
        {"budget": {"fetches": 3, "accuracy": 1.5}},
        {"budget": {"fetches": 3, "accuracy": "high"}},
        {"budget": {"fetches": 3, "accuracy": True}},
        {"budget": {"fetches": 3, "carry_over": "yes"}},
        {"budget": {"fetches": 3, "acuracy": 0.9}},
        {"spare": -1},
        {"spare": 2.5},
        {"limit": 0},
        {"seed": -1},
        {"seed": None},
        {"aim": "precision"},
        {"refresh_from": "everywhere"},
        {"estimator": "guess"},
        {"estimator": {"known": {"a": -1.0}}},
        {"estimator": {"known": {"a": "often"}}},
        {"estimator": {"unknown": {}}},
        {"default": float("nan")},
        {"default": "none"},
        {"hint": "yes"},
        {"remote": ""},
        {"reomte": "x"},
    ],
)
def test_settings_that_contradict_or_mean_nothing_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(QueryError):
        RefreshSettings.of({"remote": "x", **settings})


@pytest.mark.parametrize(
    ("settings", "field", "told", "alternative"),
    [
        ({"policy": "best"}, "policy", "'best' is unknown", "lru, wbm, tsm"),
        ({"policy": "at-best"}, "policy", "'at-best' is unknown", "after at-, wsj-, gnr-"),
        ({"budget": -1}, "budget.fetches", "at least 0, not -1", "how many keys"),
        ({"policy": "wbm", "estimator": None}, "estimator", "change rates", "irregular"),
        ({"policy": "at-tsm", "budget": 0}, "budget", "may fetch nothing", 'policy="wst"'),
        ({"estimator": "guess"}, "estimator", "'guess' is unknown", "interval, irregular"),
        ({"aim": "precision"}, "aim", "'precision' is unknown", "relevance, accuracy"),
        ({"refresh_from": "all"}, "refresh_from", "'all' is unknown", "candidates, window"),
        ({"policy": "bst"}, "policy", "knows the truth", "worth"),
        ({"policy": "gnr-wbm*"}, "policy", "knows the truth", "lru"),
    ],
)
def test_a_query_that_is_refused_when_it_is_built_names_the_alternatives(
    settings: dict[str, Any], field: str, told: str, alternative: str
) -> None:
    with pytest.raises(QueryError) as caught:
        query_of(**settings)
    assert caught.value.field == field
    assert told in str(caught.value)
    assert alternative in caught.value.fix


def test_policies_that_know_the_truth_are_never_offered() -> None:
    with pytest.raises(QueryError) as caught:
        query_of(policy="bst")
    assert "wbm*" not in caught.value.fix
    assert "bst" not in caught.value.fix


def test_worth_ranks_nothing_in_an_empty_window() -> None:
    assert Worth().rank(proposal_of(0)).tolist() == []
