"""What was true, and how well a contender with the same budget could have done at best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from topwater.model import FloatArray, IntArray, KeyArray
from topwater.replica import WindowView
from topwater.replica.utility import Aim
from topwater.scoring.accuracy import ndcg, precision
from topwater_lab.experiments.workloads import Workload

_WEIGHTS: dict[Aim, tuple[float, float]] = {"relevance": (1.0, 0.0), "accuracy": (0.05, 0.95)}
_LEAST_GAIN = 1e-9


def ranked(scores: FloatArray, view: WindowView) -> IntArray:
    """Rows of a window, best first: by score, then the younger, then the smaller key."""
    return np.lexsort((view.keys, -view.last_event, -scores))


@dataclass(frozen=True, slots=True)
class Verdict:
    """How right an answer is."""

    ndcg: float
    precision: float


@dataclass(frozen=True, slots=True)
class Oracle:
    """The truth of every window of a workload, found once and used by all runs.

    Attributes
    ----------
    values, scores
        Per window, the true remote value and the true score of each row.
    places
        Per window, the place of each row in the true ranking, from 0.
    """

    values: tuple[FloatArray, ...]
    scores: tuple[FloatArray, ...]
    places: tuple[IntArray, ...]

    @staticmethod
    def of(workload: Workload) -> Oracle:
        """See everything."""
        values = [workload.remote.at(view.keys, view.end) for view in workload.views]
        pairs = list(zip(workload.views, values, strict=True))
        scores = [workload.scores(view, true) for view, true in pairs]
        places = [
            np.argsort(ranked(score, view))
            for score, view in zip(scores, workload.views, strict=True)
        ]
        return Oracle(tuple(values), tuple(scores), tuple(places))

    def judge(self, window: int, rows: IntArray, k: int) -> Verdict:
        """An answer, given by rows of the window's view, best first."""
        places = self.places[window]
        ranks, n = places[rows], len(places)
        return Verdict(float(ndcg(ranks, n, k)), float(precision(ranks, n, k)))


@dataclass(frozen=True, slots=True)
class Bound:
    """One window's answer with clairvoyance: its rows, and the keys it fetched."""

    rows: IntArray
    fetched: KeyArray


def clairvoyant(
    workload: Workload, oracle: Oracle, budget: int, k: int, aim: Aim
) -> Iterator[Bound]:
    """The bound: fetch, one by one, the key whose true value raises the utility most.

    Values fetched stay in the replica until they are stale, as everybody's do. Of the fetches
    that the budget allows, only the first so many are made that serve the window best. It is
    greedy, and looks at one window at a time: a strong contender, hardly a supremum.
    """
    keys, values = workload.initial()
    replica = values.copy()
    for view in workload.views:
        slots, true = np.searchsorted(keys, view.keys), oracle.values[view.index]
        scores, places = oracle.scores[view.index], oracle.places[view.index]
        search = Greedy.among(np.arange(len(slots)), view, scores, places, k, aim)
        stale = np.flatnonzero(replica[slots] != true)
        chosen = search.choose(workload.scores(view, replica[slots]), stale, budget)
        replica[slots[chosen]] = true[chosen]
        top = ranked(workload.scores(view, replica[slots]), view)[:k]
        yield Bound(top, view.keys[chosen])


@dataclass(frozen=True, slots=True)
class Greedy:
    """The search within one window, among some of its rows.

    Attributes
    ----------
    true_scores, places, tie
        Of each of these rows: its true score, its true place in the whole window, and which comes
        first of two that score the same.
    n, k, aim
        How many rows the window has, how many are shown, and what counts.
    """

    true_scores: FloatArray
    places: IntArray
    tie: IntArray
    n: int
    k: int
    aim: Aim

    @staticmethod
    def among(
        rows: IntArray, view: WindowView, scores: FloatArray, places: IntArray, k: int, aim: Aim
    ) -> Greedy:
        """Among these rows of a window with these true scores and places."""
        tie = np.argsort(np.lexsort((view.keys[rows], -view.last_event[rows])))
        return Greedy(scores[rows], places[rows], tie, len(places), k, aim)

    def choose(self, scores: FloatArray, stale: IntArray, budget: int) -> IntArray:
        """Which of the stale ones to fetch, in order, if these are the scores believed.

        A fetch that raises nothing may prepare one that does, so the search goes on to the end
        of the budget, and then keeps what led to its best moment.
        """
        best = utility = self.utility(scores[None, :])[0]
        chosen: list[int] = []
        needed = 0
        while len(chosen) < budget and len(stale) and utility < 1.0 - _LEAST_GAIN:
            trials = np.repeat(scores[None, :], len(stale), axis=0)
            trials[np.arange(len(stale)), stale] = self.true_scores[stale]
            utilities = self.utility(trials)
            pick = int(np.argmax(utilities))
            utility, scores = utilities[pick], trials[pick]
            chosen.append(int(stale[pick]))
            stale = np.delete(stale, pick)
            if utility > best + _LEAST_GAIN:
                best, needed = utility, len(chosen)
        return np.array(chosen[:needed], np.int64)

    def utility(self, scores: FloatArray) -> FloatArray:
        """Of rankings by these scores, one a row."""
        order = np.lexsort((np.broadcast_to(self.tie, scores.shape), -scores), axis=-1)
        ranks = self.places[order[:, : self.k]]
        by_order, by_set = _WEIGHTS[self.aim]
        return by_order * ndcg(ranks, self.n, self.k) + by_set * precision(ranks, self.n, self.k)
