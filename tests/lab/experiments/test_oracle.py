"""The truth, and the clairvoyant bound against trying every set of fetches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from topwater.replica.utility import Aim
from topwater.scoring.accuracy import ndcg, precision
from topwater_lab.experiments.generated_evening import make_evening
from topwater_lab.experiments.oracle import Greedy, Oracle, clairvoyant, ranked
from topwater_lab.experiments.workloads import Workload, follower_growth


def workload(evaluations: int = 12, ch: int = 40) -> Workload:
    evening = make_evening(2)
    return follower_growth(evening, evening.views("true", evaluations), "true", ch, 0)


def test_the_oracle_sorts_by_true_scores() -> None:
    work = workload(5)
    oracle = Oracle.of(work)
    for view in work.views:
        truth = work.remote.at(view.keys, view.end)
        scores = work.scores(view, truth).tolist()
        rows = sorted(
            range(len(scores)), key=lambda r: (-scores[r], -view.last_event[r], view.keys[r])
        )
        assert [oracle.places[view.index][row] for row in rows] == list(range(len(rows)))
        assert oracle.judge(view.index, np.array(rows[:5]), 5).ndcg == 1.0
        assert oracle.judge(view.index, np.array(rows[5:10]), 5).precision == 0.0


@pytest.mark.parametrize("aim", ["relevance", "accuracy"])
def test_one_fetch_is_chosen_as_by_trying_all(aim: Aim) -> None:
    work = workload()
    oracle = Oracle.of(work)
    keys, replica = work.initial()
    for view, bound in zip(work.views, clairvoyant(work, oracle, 1, 5, aim), strict=True):
        slots = np.searchsorted(keys, view.keys)
        truth = oracle.values[view.index]
        found = _utility(work, oracle, view.index, bound.rows, aim)
        for row in [None, *range(len(slots))]:
            values = replica[slots].copy()
            if row is not None:
                values[row] = truth[row]
            rows = ranked(work.scores(view, values), view)[:5]
            assert found >= _utility(work, oracle, view.index, rows, aim) - 1e-9
        fetched = np.isin(view.keys, bound.fetched)
        replica[slots[fetched]] = truth[fetched]


def test_greedy_is_near_the_best_of_all_pairs() -> None:
    work = workload(3)
    oracle = Oracle.of(work)
    view = work.views[2]
    keys, replica = work.initial()
    values, truth = replica[np.searchsorted(keys, view.keys)], oracle.values[2]
    best = 0.0
    for pair in itertools.combinations(range(len(values)), 2):
        tried = values.copy()
        tried[list(pair)] = truth[list(pair)]
        rows = ranked(work.scores(view, tried), view)[:5]
        best = max(best, _utility(work, oracle, 2, rows, "relevance"))
    everything = np.arange(len(values))
    places = oracle.places[2]
    search = Greedy.among(everything, view, oracle.scores[2], places, 5, "relevance")
    stale = np.flatnonzero(values != truth)
    chosen = search.choose(work.scores(view, values), stale, 2)
    values[chosen] = truth[chosen]
    rows = ranked(work.scores(view, values), view)[:5]
    assert best - 0.05 <= _utility(work, oracle, 2, rows, "relevance") <= best


@pytest.mark.parametrize("aim", ["relevance", "accuracy"])
def test_with_enough_budget_the_bound_is_perfect(aim: Aim) -> None:
    work = workload()
    oracle = Oracle.of(work)
    for view, bound in zip(work.views, clairvoyant(work, oracle, 60, 5, aim), strict=True):
        verdict = oracle.judge(view.index, bound.rows, 5)
        assert verdict.precision == 1.0
        if aim == "relevance":
            assert verdict.ndcg == pytest.approx(1.0)


def test_the_bound_keeps_to_the_budget_and_fetches_no_key_twice() -> None:
    work = workload()
    for bound in clairvoyant(work, Oracle.of(work), 3, 5, "relevance"):
        assert len(set(bound.fetched.tolist())) == len(bound.fetched) <= 3


def _utility(
    work: Workload,
    oracle: Oracle,
    window: int,
    rows: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    aim: Aim,
) -> float:
    places = oracle.places[window]
    by_order, by_set = (1.0, 0.0) if aim == "relevance" else (0.05, 0.95)
    n = len(work.views[window].keys)
    return float(by_order * ndcg(places[rows], n, 5) + by_set * precision(places[rows], n, 5))
