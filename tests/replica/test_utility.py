"""What an answer loses, in closed form and recomputed."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.replica.utility import Aim, Utility, gains


def brute_loss(n: int, k: int, i: int, j: int, aim: Aim) -> float:
    """Show 0 … n-1; the truth has i at place j."""
    truth = [key for key in range(n) if key != i]
    truth.insert(j, i)
    shown = range(min(k, n))
    discount = [1 / np.log2(place + 2) for place in shown]
    gain = gains(n)
    dcg = sum(gain[truth.index(key)] * d for key, d in zip(shown, discount, strict=True))
    ideal = sum(gain[place] * d for place, d in zip(shown, discount, strict=True))
    precision = len(set(truth[: len(shown)]) & set(shown)) / len(shown)
    ndcg_weight, precision_weight = (1.0, 0.0) if aim == "relevance" else (0.05, 0.95)
    return float(ndcg_weight * (1 - dcg / ideal) + precision_weight * (1 - precision))


@pytest.mark.parametrize("aim", ["relevance", "accuracy"])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (1, 5), (2, 1), (5, 3), (7, 7), (6, 9), (8, 2)])
def test_the_loss_of_a_move_is_what_recomputing_gives(n: int, k: int, aim: Aim) -> None:
    utility = Utility.over(n, k, aim)
    for i in range(n):
        for j in range(n):
            found = utility.loss(np.array(i), np.array(j))
            assert found == pytest.approx(brute_loss(n, k, i, j, aim), abs=1e-12), (i, j)


@pytest.mark.parametrize("aim", ["relevance", "accuracy"])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (1, 5), (2, 1), (5, 3), (7, 7), (6, 9), (8, 2)])
def test_the_loss_of_an_absence_is_what_recomputing_gives(n: int, k: int, aim: Aim) -> None:
    """Key 0 has no value as far as is known, and is not shown; the truth has it at place j."""
    utility, gain = Utility.over(n, k, aim), gains(n)
    for j in range(n):
        truth = [*range(1, j + 1), 0, *range(j + 1, n)]
        shown, due = [key for key in truth if key][:k], truth[:k]
        discount = 1 / np.log2(np.arange(2, len(due) + 2))
        places = np.array([truth.index(key) for key in shown], np.int64)
        ndcg = gain[places] @ discount[: len(places)] / (gain[: len(due)] @ discount)
        precision = len(set(shown) & set(due)) / len(due)
        weights = (1.0, 0.0) if aim == "relevance" else (0.05, 0.95)
        right = weights[0] * (1 - ndcg) + weights[1] * (1 - precision)
        assert utility.absence(np.array(j)) == pytest.approx(right, abs=1e-12), j


def test_no_move_is_a_gain_however_deep() -> None:
    """Far down the gains are tiny, and must not drown in those of the first places."""
    utility = Utility.over(200, 150, "relevance")
    places = np.arange(200)
    loss = utility.loss(places[:, None], places[None, :])
    assert (loss >= 0).all()
    shown = np.arange(149)
    assert (loss[shown, shown + 1] > 0).all()
    assert (loss[shown + 1, shown] > 0).all()
