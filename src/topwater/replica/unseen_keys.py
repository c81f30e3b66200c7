"""Keys of a window that were never read: too many to weigh one by one, so cells are weighed.

A cell holds the keys whose scores with the same value would be nearly the same. What a look-up of
one of them is worth is found once for all, over the whole distribution of values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topwater.model import FloatArray, IntArray
from topwater.replica.population import Population

Int32s = npt.NDArray[np.int32]

_FINE, _COARSE = 19, 20
"""How many bits of a score are left out: two scores in a cell differ by 6 or 12 % at the most."""

_CELLS = 2**13
_THINNED = 6.0
"""How many times the usual one a share of a world may be; hardly any would be more."""


@dataclass(frozen=True)
class Cells:
    """Rows by cells.

    Attributes
    ----------
    of_row
        The cell of each row.
    first, last, count
        Of each cell: one row that stands for it, the one that scores best; the one that scores
        least; and how many it has.
    """

    of_row: Int32s
    first: IntArray
    last: IntArray
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
        from topwater.replica.unseen_kernels import ends_of_cells

        if others is None:
            code, others = _code(scores, _FINE), scores
        else:
            pairs = _CELLS * _code(scores, _COARSE).astype(np.int64) + _code(others, _COARSE)
            _, code = np.unique(pairs, return_inverse=True)
            code = code.astype(np.int32)
        count, first, last = ends_of_cells(code, int(code.max(initial=0)) + 1, scores, others)
        some = count > 0
        if not some.all():
            # Numbered one after the other.
            code = (np.cumsum(some, dtype=np.int32) - np.int32(1))[code]
        return Cells(code, first[some], last[some], count[some])

    def by_the_least(self) -> Cells:
        """The same cells, with the rows that score least to stand for them."""
        return Cells(self.of_row, self.last, self.first, self.count)


def _code(scores: FloatArray, bits: int) -> Int32s:
    """The sign, the exponent and the first digits of each score."""
    with np.errstate(over="ignore"):
        plain = scores.astype(np.float32)
    return np.asarray(plain.view(np.uint32) >> np.uint32(bits), np.int32)


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
        times: FloatArray | None = None,
    ) -> UnseenScores:
        """Found by scoring the rows that stand for cells with every point.

        ``times`` tells of each row how many times as great its values are, by what the stream says.
        """
        remote = np.tile(population.points, (len(cells.first), 1))
        if times is not None:
            remote *= times[cells.first, None]
        scores = score_at(cells.first, remote)
        return UnseenScores(
            cells, np.where(np.isfinite(scores), scores, -np.inf), population.chances
        )

    def __len__(self) -> int:
        return len(self.scores)

    def crowd(self, share: float = 1.0) -> Crowd:
        """How many keys are to be expected at each score, or a share of it."""
        expected = share * self.cells.count[:, None] * self.chances
        points = np.broadcast_to(np.arange(len(self.chances)), expected.shape)
        return Crowd(self.scores.ravel(), expected.ravel(), points.ravel())


@dataclass(frozen=True, slots=True)
class Crowd:
    """Many keys, of which it is known how many are to be expected at each of some scores.

    Attributes
    ----------
    scores, expected
        Scores, and how many keys are to be expected at each of them.
    points
        Of each, which point of the population it comes from; -1 for none.
    """

    scores: FloatArray
    expected: FloatArray
    points: IntArray

    @staticmethod
    def of(scores: FloatArray, expected: FloatArray) -> Crowd:
        """One of which not every key could be any other."""
        return Crowd(scores, expected, np.full(len(scores), -1))

    def and_more(self, other: Crowd) -> Crowd:
        """A crowd of both."""
        return Crowd(
            np.concatenate([self.scores, other.scores]),
            np.concatenate([self.expected, other.expected]),
            np.concatenate([self.points, other.points]),
        )

    def above(self, score: float) -> Crowd:
        """Those with greater scores."""
        kept = self.scores > score
        return Crowd(self.scores[kept], self.expected[kept], self.points[kept])

    def best(self, times: FloatArray, most: int, rng: np.random.Generator) -> FloatArray:
        """The best scores in each of some worlds, best first: a row a world.

        How many keys score above s is a Poisson number, whose mean is the sum of what is expected
        above it. Where there are fewer, the rest is minus infinity.

        Parameters
        ----------
        times
            A row a world, a column a point: how much likelier it is there than on average.
        most
            How many scores are wanted in each world.
        rng
            Decides.

        Examples
        --------
        >>> crowd = Crowd(np.array([1.0, 9.0]), np.array([99.0, 0.01]), np.array([0, 1]))
        >>> crowd.best(np.ones((2, 2)), 2, np.random.default_rng(0)).tolist()
        [[1.0, 1.0], [1.0, 1.0]]
        """
        # Drawn from more than there are, and thinned out.
        usual = np.append(times, np.ones((len(times), 1)), axis=1) / _THINNED
        order = np.argsort(-self.scores, kind="stable")
        above = np.cumsum(self.expected[order]) * _THINNED
        drawn = int(_THINNED * (most + 4.0 * np.sqrt(most) + 4.0))
        reached = np.cumsum(rng.exponential(size=(len(times), drawn)), axis=1)
        lots = rng.random(reached.shape)
        # Imported late: the compiler takes half a second to load.
        from topwater.replica.world_kernels import best_in_worlds

        ranked, points = self.scores[order], self.points[order]
        return best_in_worlds(reached, above, ranked, points, lots, usual, most)


NO_ONE = Crowd.of(np.empty(0), np.empty(0))
"""Nobody is to be expected anywhere."""
