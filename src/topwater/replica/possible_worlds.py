"""Possible worlds: what would knowing one key's value bring, when others may be stale too?

A world is one guess of all true scores. In each, the answer shown is compared with the answer
that would be shown if one key's true score were known and the rest believed as before.
"""

from __future__ import annotations

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.replica.utility import Aim, gains, weights


def gain_of_knowing(believed: FloatArray, worlds: FloatArray, k: int, aim: Aim) -> FloatArray:
    """The mean gain in utility from knowing each key, over all worlds.  O(worlds · keys · log).

    Parameters
    ----------
    believed
        The scores believed, best first.
    worlds
        Possible true scores: a row a world, a column a key, in the order of ``believed``.
    k, aim
        How many keys are shown, and what counts.

    Examples
    --------
    >>> worlds = np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 9.0]])
    >>> gain_of_knowing(np.array([3.0, 2.0, 1.0]), worlds, 1, "accuracy").round(2).tolist()
    [0.0, 0.0, 0.49]
    """
    n = len(believed)
    shown = min(k, n)
    place = _places(worlds)
    here = np.arange(n)
    above = np.searchsorted(-believed, -worlds, side="left")
    there = np.where(worlds == believed, here, above - (above > here))
    ndcg_weight, precision_weight = weights(aim)
    gain = precision_weight * _set_gain(place, there, shown)
    gain += ndcg_weight * _order_gain(place, there, shown)
    return np.asarray(gain.mean(axis=0))


def fare(scores: FloatArray, shown: int, k: int) -> tuple[float, float]:
    """Mean precision@k and nDCG@k of showing the first columns, if each row has the true scores.

    What is not a number has no place. Ties keep the order of the columns, so a world like ours is a
    perfect one.

    Examples
    --------
    >>> fare(np.array([[3.0, 2.0, np.nan], [3.0, 2.0, 5.0]]), shown=2, k=2)[0]
    0.75
    """
    scores = np.where(np.isfinite(scores), scores, -np.inf)
    scored = scores > -np.inf
    n = np.count_nonzero(scored, axis=1)
    due, above = np.minimum(k, n), _places(scores)[:, :shown]
    right = np.count_nonzero(above < due[:, None], axis=1)
    # The gain of a place is 2^-place − 2^-n: of what is shown, and of what is due.
    discount = 1.0 / np.log2(np.arange(2, k + 2))
    gain = np.where(scored[:, :shown], np.exp2(-above) - np.exp2(-n)[:, None], 0.0)
    sums = np.cumsum([np.exp2(-np.arange(k)) * discount, discount], axis=1)[:, due - 1]
    ideal = sums[0] - np.exp2(-n) * sums[1]
    some = due > 0
    precision = np.divide(right, due, out=np.ones(len(due)), where=some)
    ndcg = np.divide(gain @ discount[:shown], ideal, out=np.ones(len(due)), where=some)
    return float(precision.mean()), min(1.0, float(ndcg.mean()))


def _places(scores: FloatArray) -> IntArray:
    """The place of each key in each world, from 0; equal scores keep the order shown."""
    order = np.argsort(-scores, axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(scores.shape[1])[None, :], axis=1)
    return places


def _set_gain(place: IntArray, there: IntArray, shown: int) -> FloatArray:
    """In precision: a key that crosses the border changes places with the one next to it."""
    here = np.arange(place.shape[1])
    right = (place < shown).astype(np.float64)
    follower = right[:, [shown]] if place.shape[1] > shown else np.zeros((len(place), 1))
    leaves = (here < shown) & (there >= shown)
    enters = (here >= shown) & (there < shown)
    gain = np.where(leaves, follower - right, 0.0)
    return np.asarray(np.where(enters, right - right[:, [shown - 1]], gain) / shown)


def _order_gain(place: IntArray, there: IntArray, shown: int) -> FloatArray:
    """In nDCG: the key takes its new place, and those between move by one."""
    worlds, n = place.shape
    here = np.broadcast_to(np.arange(n), place.shape)
    gain = gains(n)[place]
    discount = np.zeros(n + 1)
    discount[:shown] = 1.0 / np.log2(np.arange(2, shown + 2))
    # What is won if all keys up to a place move up by one, or down by one.
    up, down = np.zeros((worlds, n + 1)), np.zeros((worlds, n + 1))
    np.cumsum(gain[:, 1:] * (discount[: n - 1] - discount[1:n]), axis=1, out=up[:, 2:])
    np.cumsum(gain * (discount[1:] - discount[:n]), axis=1, out=down[:, 1:])
    own = gain * (discount[there] - discount[here])
    passed = np.take_along_axis(up, there + 1, 1) - np.take_along_axis(up, here + 1, 1)
    overtaken = np.take_along_axis(down, here, 1)
    overtaken = overtaken - np.take_along_axis(down, np.minimum(here, there), 1)
    ideal = gains(n)[:shown] @ discount[:shown]
    return np.asarray((own + np.where(there > here, passed, overtaken)) / ideal)
