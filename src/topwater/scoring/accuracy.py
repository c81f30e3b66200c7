"""How right an answer is, window by window: nDCG@k, precision@k, join accuracy.

An answer is given by the *true ranks* of its rows: ``ranks[i]`` is the place, from 0, that the
item shown at place i has in the true ranking of all n items of the window. An item that is not
in the true ranking has a rank of n or more, and earns nothing.

The relevance of an item is n − rank (the best of six has relevance 6, the last 1), its gain
2^relevance − 1, and the gain at place i counts 1 / log2(i + 2).
"""

from __future__ import annotations

import numpy as np

from topwater.model import FloatArray, IntArray


def dcg(relevance: FloatArray) -> FloatArray:
    """The discounted cumulative gain of answers with these relevances, along the last axis.

    Examples
    --------
    >>> dcg(np.array([6.0, 3.0, 1.0])).round(4).item()
    67.9165
    """
    return np.asarray((np.exp2(relevance) - 1.0) @ _discount(np.shape(relevance)[-1]))


def ndcg(ranks: IntArray, n: int, k: int) -> FloatArray:
    """nDCG@k of answers given by true ranks, along the last axis; 1 for an empty window.

    Gains are taken as shares of 2^n, so that windows of any size can be judged.

    Examples
    --------
    >>> ndcg(np.array([[0, 3, 5], [5, 2, 1]]), n=6, k=3).round(4).tolist()
    [0.7541, 0.2883]
    """
    shown = np.asarray(ranks)[..., :k]
    if n == 0:
        return np.ones(shown.shape[:-1])
    ideal = _gain(np.arange(min(k, n)), n) @ _discount(min(k, n))
    return np.asarray(_gain(shown, n) @ _discount(shown.shape[-1]) / ideal)


def precision(ranks: IntArray, n: int, k: int) -> FloatArray:
    """The share of the true top k that an answer shows, along the last axis.

    In a window of fewer than k items, all of them are the true answer: the share is of
    min(k, n), and of an empty window it is 1.

    Examples
    --------
    >>> precision(np.array([[0, 3, 5], [5, 2, 1]]), n=6, k=3).round(4).tolist()
    [0.3333, 0.6667]
    """
    shown = np.asarray(ranks)[..., :k]
    if n == 0:
        return np.ones(shown.shape[:-1])
    due = min(k, n)
    return np.asarray((shown < due).sum(axis=-1) / due)


def accuracy(remembered: FloatArray, true: FloatArray) -> float:
    """Join accuracy: the share of the joined rows that the true join has too; 1 for none.

    Dehghanzadeh and others compare answers row by row: a row with a stale remote value is wrong.

    Examples
    --------
    >>> accuracy(np.array([1.0, 2.0, 9.0, np.nan]), np.array([1.0, 2.0, 3.0, 4.0]))
    0.5
    """
    return float(np.mean(remembered == true)) if len(true) else 1.0


def _gain(ranks: IntArray, n: int) -> FloatArray:
    inside = np.exp2(-np.minimum(ranks, n).astype(np.float64)) - np.exp2(-float(n))
    return np.asarray(inside)


def _discount(places: int) -> FloatArray:
    return np.asarray(1.0 / np.log2(np.arange(2, places + 2)))
