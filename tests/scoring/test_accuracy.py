"""The worked example of AcquaTop's section 2.1.2, number by number, and the edges."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.scoring.accuracy import accuracy, dcg, ndcg, precision

TRUTH = "ABCDEF"


def ranks(answer: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.array([TRUTH.index(item) for item in answer], np.int64)


def test_the_ideal_gain_of_the_published_example() -> None:
    assert dcg(np.array([6.0, 5.0, 4.0])) == pytest.approx(90.0588, abs=5e-5)


@pytest.mark.parametrize(
    ("answer", "gain", "normal", "right"),
    [("ADF", 67.9165, 0.7541, 1 / 3), ("FCB", 25.9639, 0.2883, 2 / 3), ("ABC", 90.0588, 1, 1)],
)
def test_the_published_answers(answer: str, gain: float, normal: float, right: float) -> None:
    assert dcg((6 - ranks(answer)).astype(np.float64)) == pytest.approx(gain, abs=5e-5)
    assert ndcg(ranks(answer), 6, 3) == pytest.approx(normal, abs=5e-5)
    assert precision(ranks(answer), 6, 3) == pytest.approx(right)


def test_a_small_window_is_judged_by_what_it_holds() -> None:
    assert precision(np.array([1, 0]), n=2, k=5) == 1.0
    assert ndcg(np.array([0, 1]), n=2, k=5) == 1.0
    assert ndcg(np.array([1, 0]), n=2, k=5) < 1.0


def test_an_empty_window_is_answered_perfectly() -> None:
    nothing = np.empty(0, np.int64)
    assert ndcg(nothing, 0, 5) == precision(nothing, 0, 5) == 1.0
    assert accuracy(np.empty(0), np.empty(0)) == 1.0


def test_missing_rows_cost_what_they_would_have_gained() -> None:
    assert ndcg(np.array([0]), n=6, k=3) == pytest.approx(63 / 90.0588, abs=1e-5)
    assert precision(np.array([0]), n=6, k=3) == pytest.approx(1 / 3)


def test_windows_of_thousands_do_not_overflow() -> None:
    assert ndcg(np.arange(5), n=5_000, k=5) == 1.0
    assert ndcg(np.array([1, 0, 2, 3, 4]), n=5_000, k=5) == pytest.approx(
        float(ndcg(np.array([1, 0, 2, 3, 4]), n=60, k=5))
    )


def test_many_answers_at_once_equal_one_at_a_time() -> None:
    rng = np.random.default_rng(3)
    many = np.stack([rng.permutation(30)[:7] for _ in range(50)])
    for metric in (ndcg, precision):
        one_by_one = [float(metric(one, 30, 7)) for one in many]
        assert metric(many, 30, 7).tolist() == pytest.approx(one_by_one)
