"""The limit of PA: the printed tables, exact arithmetic, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from tests.support.timing import effort
from topwater.candidates.published.criterion import limit, lowest_rank, probabilities
from topwater.errors import QueryError

K = [1, 2, 5, 10, 20, 50, 100, 200, 500]
TABLE_V = {
    10**3: [18, 21, 26, 32, 40, 56, 72, 91, 106],
    10**4: [22, 25, 30, 37, 46, 65, 86, 116, 172],
    10**5: [25, 28, 34, 41, 51, 72, 95, 128, 192],
    10**6: [28, 32, 38, 46, 56, 78, 103, 138, 207],
}
TABLE_X = {
    10**3: [4, 7, 12, 19, 33, 69, 125, 232, 539],
    10**4: [4, 7, 12, 19, 33, 69, 126, 236, 555],
    10**5: [4, 7, 12, 19, 33, 69, 126, 237, 557],
    10**6: [4, 7, 12, 19, 33, 69, 126, 237, 557],
}
SIZES = [1_000, 3_000, 10_000, 50_000, 10**6, 10**7]


@pytest.mark.parametrize("n", TABLE_V)
def test_table_v_to_the_letter(n: int) -> None:
    assert [limit(k, n, 1e-3) for k in K] == TABLE_V[n]


@pytest.mark.parametrize("n", TABLE_X)
def test_table_x(n: int) -> None:
    assert [lowest_rank(n, k) for k in K] == TABLE_X[n]


def exact(rank: int, n: int, k: int) -> Fraction:
    """Equation (9) in whole numbers."""
    terms = (
        Fraction(comb(n - 1, place - 1) * comb(n - 1, rank - 1), comb(2 * n - 2, rank + place - 2))
        for place in range(1, k + 1)
    )
    return Fraction(n * n, 4 * n - 2) * sum(terms)


@pytest.mark.parametrize("n", [50, 10**3, 10**7])
@pytest.mark.parametrize("k", [1, 4, 20])
def test_probabilities_equal_exact_arithmetic(n: int, k: int) -> None:
    ranks = np.array([k + 1, k + 7, k + 25])
    right = [float(exact(rank, n, k)) for rank in ranks.tolist()]
    assert probabilities(ranks, n, k) == pytest.approx(right, rel=1e-10)


def test_the_sum_over_what_is_not_kept_is_as_told() -> None:
    for n in TABLE_V:
        for k, most in [(1, 1.1), (5, 1.1), (10, 1.1), (100, 1.9), (500, 3.4)]:
            first = k + limit(k, n, 1e-3) + 1
            lost = probabilities(np.arange(first, min(n, first + 1500) + 1), n, k).sum()
            assert lost < most * 1e-3


def test_it_grows_with_n_and_with_k_up_to_half_of_n() -> None:
    for k in K:
        limits = [limit(k, n) for n in SIZES]
        assert limits == sorted(limits)
    for n in SIZES:
        limits = [limit(k, n) for k in range(1, 300, 7)]
        assert limits == sorted(limits)


def test_a_smaller_error_needs_more() -> None:
    assert limit(9, 40_000, 1e-5) > limit(9, 40_000, 1e-3) > limit(9, 40_000, 0.1)


def test_it_is_stable_and_quick_for_ten_million() -> None:
    def afresh() -> None:
        limit.cache_clear()
        limit(500, 10**7)

    assert effort(afresh, 0.05) < 0.05
    assert limit(500, 10**6) < limit(500, 10**7) < 1.1 * limit(500, 10**6)


@pytest.mark.parametrize(("k", "n"), [(1, 1), (1, 2), (5, 3), (10, 10), (10, 11), (3, 6)])
def test_small_windows_keep_at_least_one_and_at_most_all(k: int, n: int) -> None:
    assert 1 <= limit(k, n) <= max(1, n - k)


@pytest.mark.parametrize("sigma", [0, 1, -0.1, 7, float("nan")])
def test_sigma_must_be_a_probability(sigma: float) -> None:
    with pytest.raises(QueryError, match=r"^sigma: must lie between 0 and 1"):
        limit(5, 100, sigma)


@pytest.mark.parametrize(("k", "n", "field"), [(0, 10, "k"), (5, 0, "n")])
def test_sizes_must_be_positive(k: int, n: int, field: str) -> None:
    with pytest.raises(QueryError, match=f"^{field}: must be at least 1"):
        limit(k, n)
