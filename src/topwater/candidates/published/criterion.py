"""How many candidates a query over a stream in random order has to keep: the limit of PA.

An object that comes with rank l in its window of n objects may still get among the k best. The
probability of that is below p(l, n, k), for every rank l > L. What comes with a rank so low that p
is of no account need not be kept.

Pripužić, Podnar Žarko and Aberer, "Time- and Space-Efficient Sliding Window Top-k Query
Processing", ACM TODS 40(1), 2015, section 4.1.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from topwater.errors import QueryError
from topwater.model import FloatArray, IntArray

_BLOCK = 64
"""Ranks computed at a time."""


def probabilities(ranks: IntArray, n: int, k: int) -> FloatArray:
    """p(l, n, k) for each rank l: a bound on becoming a top-k object, if l is above ``L``.

    Equation (9) of the paper, read with C(2n-2, l+l'-2) as in its equation (8) before it is
    simplified; the print drops the -2. Sums of logarithms, so that nothing overflows; their error
    is below 1e-10 at n = 10⁷.

    Examples
    --------
    >>> probabilities(np.array([20, 40]), 1000, 1).round(9).tolist()
    [0.000437593, 0.0]
    """
    olds = _log_choose(n - 1, int(ranks.max()) - 1)
    both = _log_choose(2 * n - 2, int(ranks.max()) + k - 2)
    places = np.arange(1, k + 1)
    logs = olds[ranks - 1][:, None] + _log_choose(n - 1, k - 1)[places - 1]
    logs -= both[ranks[:, None] + places - 2]
    found: FloatArray = (n * n / (4 * n - 2)) * np.exp(logs).sum(axis=1)
    return found


def lowest_rank(n: int, k: int) -> int:
    """L, rounded up: the bound holds for the ranks after it.

    Examples
    --------
    >>> lowest_rank(1000, 10)
    19
    """
    root = 3 * (
        -8 * k * k * n + 4 * k * k + 8 * k * n * n + 4 * k * n - 4 * k - 5 * n * n - 2 * n + 3
    )
    return math.ceil((3 * n - 4 * k + 2 * k * n + 3 + math.sqrt(max(root, 0))) / (2 * n + 2))


@lru_cache(maxsize=4096)
def limit(k: int, n: int, sigma: float = 1e-3) -> int:
    """How many candidates PA keeps beside the k best of n objects.

    The rule is the paper's: of the ranks after L, stop at the first whose p is below sigma / 2;
    the limit is the number of ranks between k and that one. It gives all 36 values of Table V.
    The sum of p over the ranks not kept is then below sigma as long as p halves from rank to
    rank, which it does for small k only: up to k = 10 the sum is below 1.1 sigma, at k = 100 below
    1.9, at k = 500 below 3.4. The paper sketches a second pass for that, and its table was made
    without it. What is missed in truth stays below sigma all the same, as p bounds generously.

    Parameters
    ----------
    k
        How many objects an answer has.
    n
        How many objects are in the window.
    sigma
        How many objects may be missed per n objects of the stream, on average.

    Examples
    --------
    >>> limit(10, 10_000)
    37
    """
    _check(k, n, sigma)
    for start in range(min(lowest_rank(n, k), n) + 1, n + 1, _BLOCK):
        found = probabilities(np.arange(start, min(start + _BLOCK, n + 1)), n, k)
        if (found < sigma / 2).any():
            return max(1, start + int(np.argmax(found < sigma / 2)) - 1 - k)
    return max(1, n - k)


def _log_choose(n: int, most: int) -> FloatArray:
    """Logarithms of C(n, 0), C(n, 1), ... C(n, most)."""
    taken = np.arange(1, min(most, n) + 1, dtype=np.float64)
    logs = np.zeros(most + 1)
    logs[1 : len(taken) + 1] = np.cumsum(np.log((n + 1 - taken) / taken))
    logs[len(taken) + 1 :] = -np.inf
    return logs


def _check(k: int, n: int, sigma: float) -> None:
    if not 0 < sigma < 1:
        raise QueryError(
            f"must lie between 0 and 1, it is {sigma}",
            field="sigma",
            fix="give the error you accept, as 0.001: objects missed per window of the stream",
        )
    for name, value in (("k", k), ("n", n)):
        if value < 1:
            raise QueryError(f"must be at least 1, not {value}", field=name, fix="give a size")
