"""Keys of a window that were never read: so many that they are weighed by the cell, not by the key.

A cell holds the keys whose scores with the same value would be nearly the same. What a look-up of
one of them is worth is found once for all, over the whole distribution of values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.replica.population import Population

_FINE, _COARSE = 19, 20
"""How many bits of a score are left out: two scores in a cell differ by 6 or 12 % at the most."""

_CELLS = 2**13


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows by cells.

    Attributes
    ----------
    of_row
        The cell of each row.
    first, count
        Of each cell: one row that stands for it, the one that scores best; and how many it has.
    """

    of_row: IntArray
    first: IntArray
    count: IntArray

    @staticmethod
    def of(scores: FloatArray, others: FloatArray | None = None) -> Cells:
        """Cells of rows, whatever their order.  O(rows).

        Parameters
        ----------
        scores
            Of the rows, with one value for all of them.
        others
            The same with another value, where the first does not tell all.
        """
        # Imported late: the compiler takes half a second to load.
        from topwater.replica.unseen_kernels import best_of_cells

        of_row, count = _numbered(scores, others)
        first = best_of_cells(of_row, len(count), scores, scores if others is None else others)
        return Cells(of_row, first, count)


def _numbered(scores: FloatArray, others: FloatArray | None) -> tuple[IntArray, IntArray]:
    """The number of each row's cell, and how many rows each cell has."""
    if others is None:
        code = _code(scores, _FINE)
        count = np.bincount(code, minlength=_CELLS)
        number = np.cumsum(count > 0) - 1
        return number[code], count[count > 0]
    code = _CELLS * _code(scores, _COARSE) + _code(others, _COARSE)
    _, of_row, count = np.unique(code, return_inverse=True, return_counts=True)
    return of_row, count


def _code(scores: FloatArray, bits: int) -> IntArray:
    """The sign, the exponent and the first digits of each score."""
    with np.errstate(over="ignore"):
        plain = scores.astype(np.float32)
    return np.asarray(plain.view(np.uint32) >> np.uint32(bits), np.int64)


@dataclass(frozen=True, slots=True)
class UnseenScores:
    """What the keys of some cells could score: a row a cell, a column a point of the population."""

    cells: Cells
    scores: FloatArray
    chances: FloatArray

    @staticmethod
    def of(
        cells: Cells,
        population: Population,
        score_at: Callable[[IntArray, FloatArray], FloatArray],
    ) -> UnseenScores:
        """Found by scoring the rows that stand for cells with every point."""
        points = population.points
        remote = np.tile(points, (len(cells.first), 1))
        scores = score_at(cells.first, remote)
        return UnseenScores(
            cells, np.where(np.isfinite(scores), scores, -np.inf), population.chances
        )

    def __len__(self) -> int:
        return len(self.scores)

    def intensity(self) -> tuple[FloatArray, FloatArray]:
        """How many keys are to be expected at each score."""
        expected = self.cells.count[:, None] * self.chances
        return self.scores.ravel(), expected.ravel()


def best_of_many(
    scores: FloatArray, expected: FloatArray, worlds: int, most: int, rng: np.random.Generator
) -> FloatArray:
    """The best scores of many keys in each of some worlds, best first: a row a world.

    How many keys score above s is a Poisson number, whose mean is the sum of what is expected
    above it. Where there are fewer, the rest is minus infinity.

    Parameters
    ----------
    scores, expected
        Scores, and how many keys are to be expected at each of them.
    worlds, most
        How many worlds there are, and how many scores are wanted in each.
    rng
        Decides.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> best_of_many(np.array([1.0, 9.0]), np.array([99.0, 0.01]), 2, 2, rng).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    order = np.argsort(-scores, kind="stable")
    above = np.cumsum(expected[order])
    reached = np.cumsum(rng.exponential(size=(worlds, most)), axis=1)
    at = np.searchsorted(above, reached)
    ranked = np.append(scores[order], -np.inf)
    return np.asarray(ranked[at])
