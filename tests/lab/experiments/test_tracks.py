"""Contenders on a workload: window by window as the plain reference does it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.reference import Loop, Outcome, play
from topwater.remote.known_changes import Steps
from topwater.remote.replay import Replay
from topwater.replica import Budget, Refresher
from topwater_lab.experiments.generated_evening import make_evening
from topwater_lab.experiments.oracle import Oracle
from topwater_lab.experiments.tracks import CLAIRVOYANT, Contender, Record, build, run
from topwater_lab.experiments.workloads import Workload, follower_growth

EVALUATIONS = 40


@pytest.fixture(scope="module")
def workload() -> Workload:
    evening = make_evening(3)
    return follower_growth(evening, evening.views("true", EVALUATIONS), "true", 20, 0)


def reference(workload: Workload, policy: str, budget: int = 7) -> list[Outcome]:
    return play(Loop(workload, k=5, n=10, budget=budget), policy)


@pytest.mark.parametrize("policy", ["wst", "at-tsm", "at-bsm", "at-asm", "wsj-tsm"])
@pytest.mark.parametrize("budget", [1, 4, 7, 15])
def test_policies_without_chance_answer_as_the_reference(
    workload: Workload, policy: str, budget: int
) -> None:
    source = Replay(workload.remote)
    refresher = build(workload, Contender(policy, budget), source)
    for view, right in zip(workload.views, reference(workload, policy, budget), strict=True):
        source.now = view.end
        ranking = refresher.refresh(view)
        assert sorted(ranking.look_ups.keys.tolist()) == sorted(right.fetched), view.index
        assert view.keys[ranking.rows].tolist() == right.answer, view.index


@pytest.mark.parametrize("policy", ["wst", "at-tsm", "at-bsm", "at-asm"])
def test_records_are_judged_as_the_reference_judges(workload: Workload, policy: str) -> None:
    for record, right in zip(
        run(workload, Contender(policy)), reference(workload, policy), strict=True
    ):
        assert record.ndcg == pytest.approx(right.ndcg)
        assert record.precision == pytest.approx(right.precision)
        assert record.accuracy == pytest.approx(right.accuracy)
        assert record.fetches == len(right.fetched)


@pytest.mark.parametrize(
    "policy", ["rnd", "wsj-lru", "at-lru", "gnr-rnd", "gnr-lru", "wsj-wbm", "at-wbm", "bst", "wbm*"]
)
def test_policies_with_chance_do_as_well_as_the_reference(workload: Workload, policy: str) -> None:
    found = [record.accuracy for record in run(workload, Contender(policy))]
    right = [outcome.accuracy for outcome in reference(workload, policy)]
    assert np.mean(found) == pytest.approx(np.mean(right), abs=0.04)


@pytest.mark.parametrize("policy", ["rnd", "lru", "wbm", "at-tsm", "at-bsm", "worth", CLAIRVOYANT])
def test_nobody_fetches_more_than_the_budget(workload: Workload, policy: str) -> None:
    assert max(record.fetches for record in run(workload, Contender(policy, budget=3))) <= 3


@pytest.mark.parametrize("policy", ["rnd", "at-lru", "wbm", "worth"])
def test_a_run_repeats_itself(workload: Workload, policy: str) -> None:
    def told(record: Record) -> tuple[float, float, int, float]:
        return record.ndcg, record.precision, record.fetches, record.estimated_precision

    contender = Contender(policy, seed=4)
    assert [*map(told, run(workload, contender))] == [*map(told, run(workload, contender))]


@pytest.mark.parametrize("policy", ["lru", "wsj-tsm", "worth"])
def test_with_fetches_enough_answers_are_right(workload: Workload, policy: str) -> None:
    for record in run(workload, Contender(policy, budget=400)):
        assert record.ndcg == record.precision == 1.0
        if policy != "worth":
            assert record.accuracy == 1.0


@pytest.mark.parametrize(
    "policy", ["rnd", "gnr-lru", "at-wbm", "at-tsm", "at-bsm", "at-asm", "bst", "wbm*", "worth"]
)
def test_with_an_unlimited_budget_answers_are_the_oracles(workload: Workload, policy: str) -> None:
    oracle, source = Oracle.of(workload), Replay(workload.remote)
    settings = replace(
        build(workload, Contender(policy), source).settings, budget=Budget(fetches=None)
    )
    refresher = Refresher(settings, workload.score, workload.windows, 5, source, source.truth)
    for view in workload.views:
        source.now = view.end
        ranking = refresher.refresh(view)
        assert ranking.exact
        right = np.argsort(oracle.places[view.index])[:5]
        assert ranking.rows.tolist() == right.tolist()
        assert ranking.scores.tolist() == oracle.scores[view.index][right].tolist()


@pytest.mark.parametrize("policy", ["wst", "rnd", "gnr-lru", "at-wbm", "at-tsm", "at-bsm", "worth"])
def test_with_a_remote_side_that_never_changes_answers_are_right(
    workload: Workload, policy: str
) -> None:
    """One fetch a window, or none: what is known from the start stays right."""
    keys, values = workload.initial()
    still = replace(workload, remote=Steps.of(np.zeros(len(keys), np.int64), keys, values))
    for record in run(still, Contender(policy, budget=1)):
        assert record.ndcg == record.precision == record.accuracy == 1.0


def test_the_bound_is_above_everybody(workload: Workload) -> None:
    oracle = Oracle.of(workload)
    bound = sum(record.ndcg for record in run(workload, Contender(CLAIRVOYANT), oracle))
    for policy in ("wst", "wsj-lru", "at-tsm", "at-bsm", "at-wbm", "worth"):
        assert sum(r.ndcg for r in run(workload, Contender(policy), oracle)) <= bound + 0.05


def test_a_source_sees_only_what_was_asked_for(workload: Workload) -> None:
    source = Replay(workload.remote)
    refresher = build(workload, Contender("worth", budget=3), source)
    for view in workload.views:
        source.now = view.end
        asked = len(source.asked)
        ranking = refresher.refresh(view)
        new = [key for keys in source.asked[asked:] for key in keys.tolist()]
        assert sorted(new) == sorted(ranking.look_ups.keys.tolist())
        assert set(new) <= set(view.keys.tolist())
