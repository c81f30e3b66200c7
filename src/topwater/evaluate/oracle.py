"""What was true, and how well a contender with the same budget could have done at best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from topwater.evaluate.metrics import ndcg, precision, true_ranks
from topwater.evaluate.workloads import Workload
from topwater.model import FloatArray, IntArray, KeyArray
from topwater.replica import WindowView
from topwater.replica.utility import Aim

_WEIGHTS: dict[Aim, tuple[float, float]] = {"relevance": (1.0, 0.0), "accuracy": (0.05, 0.95)}
_LEAST_GAIN = 1e-9


def ranked(scores: FloatArray, view: WindowView) -> IntArray:
    """Rows of a window, best first: by score, then the younger, then the smaller key."""
    return np.lexsort((view.keys, -view.last_event, -scores))


def true_ranking(workload: Workload, view: WindowView) -> IntArray:
    """The rows of a window as they should be ranked."""
    return ranked(workload.true_scores(view), view)


@dataclass(frozen=True, slots=True)
class Bound:
    """One window's answer with clairvoyance: its rows, and the keys it fetched."""

    rows: IntArray
    fetched: KeyArray


def clairvoyant(workload: Workload, budget: int, k: int, aim: Aim) -> Iterator[Bound]:
    """The bound: fetch, one by one, the key whose true value raises the utility most.

    Values fetched stay in the replica until they are stale, as everybody's do. Once no single
    fetch raises the utility, the rest of the budget is kept. It is greedy, and looks at one
    window at a time: a strong contender, hardly a supremum.
    """
    keys, values = workload.initial()
    replica = values.copy()
    for view in workload.views:
        slots = np.searchsorted(keys, view.keys)
        chosen = _Greedy(workload, view, k, aim).choose(replica[slots], budget)
        replica[slots[chosen]] = workload.remote.at(view.keys[chosen], view.closes)
        top = ranked(workload.scores(view, replica[slots]), view)[:k]
        yield Bound(top, view.keys[chosen])


class _Greedy:
    """The search within one window."""

    def __init__(self, workload: Workload, view: WindowView, k: int, aim: Aim) -> None:
        self.workload = workload
        self.view = view
        self.k = k
        self.weights = _WEIGHTS[aim]
        self.true_scores = workload.true_scores(view)
        self.truth = ranked(self.true_scores, view)

    def choose(self, remembered: FloatArray, budget: int) -> IntArray:
        """Rows to fetch, in order."""
        scores = self.workload.scores(self.view, remembered)
        stale = np.flatnonzero(scores != self.true_scores)
        chosen: list[int] = []
        utility = self.utility(scores[None, :])[0]
        while len(chosen) < budget and len(stale):
            trials = np.repeat(scores[None, :], len(stale), axis=0)
            trials[np.arange(len(stale)), stale] = self.true_scores[stale]
            utilities = self.utility(trials)
            best = int(np.argmax(utilities))
            if utilities[best] < utility + _LEAST_GAIN:
                break
            utility, scores = utilities[best], trials[best]
            chosen.append(int(stale[best]))
            stale = np.delete(stale, best)
        return np.array(chosen, np.int64)

    def utility(self, scores: FloatArray) -> FloatArray:
        """Of rankings by these scores, one a row."""
        tie = np.empty(len(self.truth))
        tie[np.lexsort((self.view.keys, -self.view.last_event))] = np.arange(len(self.truth))
        order = np.lexsort((np.broadcast_to(tie, scores.shape), -scores), axis=-1)
        ranks = true_ranks(self.truth, order[:, : self.k])
        n = len(self.truth)
        by_order, by_set = self.weights
        return by_order * ndcg(ranks, n, self.k) + by_set * precision(ranks, n, self.k)
