"""The gain of knowing one key, against showing the answer again with that key known."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.full_election import full_fare, full_gain_of_knowing
from topwater.model import FloatArray
from topwater.replica.possible_worlds import fare, gain_of_knowing
from topwater.replica.utility import Aim, weights
from topwater.scoring.accuracy import ndcg, precision


def utility(shown: list[int], truth: FloatArray, k: int, aim: Aim) -> float:
    """Plainly: sort, look up, add up."""
    n = len(truth)
    order = sorted(range(n), key=lambda key: (-truth[key], key))
    place = {key: at for at, key in enumerate(order)}
    top = shown[:k]
    gain = sum((2.0 ** (n - place[key]) - 1) / np.log2(at + 2) for at, key in enumerate(top))
    ideal = sum((2.0 ** (n - at) - 1) / np.log2(at + 2) for at in range(min(k, n)))
    ndcg_weight, precision_weight = weights(aim)
    right = sum(place[key] < min(k, n) for key in top) / min(k, n)
    return float(ndcg_weight * gain / ideal + precision_weight * right)


@pytest.mark.parametrize("aim", ["relevance", "accuracy"])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (5, 2), (5, 5), (5, 9), (9, 3)])
def test_the_gain_is_what_showing_again_would_bring(aim: Aim, n: int, k: int) -> None:
    rng = np.random.default_rng(n * 10 + k)
    believed = -np.sort(-rng.random(n))
    worlds = np.where(rng.random((40, n)) < 0.4, rng.random((40, n)), believed)
    expected = np.zeros(n)
    for truth in worlds:
        before = utility(list(range(n)), truth, k, aim)
        for key in range(n):
            known = believed.copy()
            known[key] = truth[key]
            shown = sorted(range(n), key=lambda each: (-known[each], each))
            expected[key] += utility(shown, truth, k, aim) - before
    found = gain_of_knowing(believed, worlds, k, aim)
    assert found == pytest.approx(expected / len(worlds), abs=1e-9)


@pytest.mark.parametrize(
    ("n", "shown", "k"), [(1, 1, 1), (5, 2, 2), (5, 5, 9), (6, 2, 4), (4, 0, 2)]
)
def test_an_answer_fares_as_the_metrics_say(n: int, shown: int, k: int) -> None:
    """The first columns are shown; in each world some keys have no score."""
    rng = np.random.default_rng(n * 100 + shown * 10 + k)
    worlds = np.where(rng.random((60, n)) < 0.3, np.nan, rng.integers(0, 9, (60, n)))
    judged = []
    for truth in worlds:
        scored = [key for key in range(n) if np.isfinite(truth[key])]
        order = sorted(scored, key=lambda key: (-truth[key], key))
        ranks = np.array([order.index(key) if key in order else n for key in range(shown)], int)
        judged.append([float(each(ranks, len(order), k)) for each in (precision, ndcg)])
    assert fare(worlds, shown, k) == pytest.approx(np.mean(judged, axis=0), abs=1e-12)


@pytest.mark.parametrize("aim", ["relevance", "accuracy"])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (4, 9), (40, 3), (300, 10), (600, 250)])
def test_looking_at_few_keys_changes_no_bit(aim: Aim, n: int, k: int) -> None:
    """With ties, with keys that lose their score, and with worlds in which nothing moved."""
    rng = np.random.default_rng(n)
    believed = -np.sort(-rng.integers(0, n, n).astype(np.float64))
    moved = rng.random((64, n)) < np.linspace(0, 1, 64)[:, None]
    worlds = np.where(moved, rng.integers(0, n, (64, n)), believed)
    worlds = np.where(moved & (rng.random((64, n)) < 0.1), -np.inf, worlds)
    found = gain_of_knowing(believed, worlds, k, aim)
    assert found.tolist() == full_gain_of_knowing(believed, worlds, k, aim).tolist()
    assert fare(worlds, min(k, n), k) == full_fare(worlds, min(k, n), k)
