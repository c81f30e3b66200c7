"""Possible worlds: what would knowing one key's value bring, when others may be stale too?

A world is one guess of all true scores. In each, the answer shown is compared with the answer
that would be shown if one key's true score were known and the rest believed as before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from topwater.model import BoolArray, FloatArray, IntArray
from topwater.replica.utility import Aim, gains, weights

if TYPE_CHECKING:
    from topwater.replica.possible_values import Moved

WORLDS = 128
_SORTED = 200
"""From how many keys a world on sorting it is faster than counting who is above each."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Which values moved in each of some worlds, and to what.

    Attributes
    ----------
    flat, column
        Where: the place in a table with a row a world, and the column in it.
    value
        What each has become.
    """

    flat: IntArray
    column: IntArray
    value: FloatArray

    def worlds(
        self, scores: FloatArray, score_at: Callable[[IntArray, FloatArray], FloatArray]
    ) -> FloatArray:
        """The scores in all worlds.

        Parameters
        ----------
        scores
            As they are.
        score_at
            What they become, of some columns with other values.
        """
        worlds = np.tile(scores, WORLDS)
        worlds[self.flat] = score_at(self.column, self.value)
        return worlds.reshape(WORLDS, len(scores))


def drawn_moves(could_be: Moved, stale: FloatArray, rng: np.random.Generator) -> Drawn:
    """In each world some values have moved: those that are stale in it.

    The numbers that decide a value's course do not depend on the others that are stale.
    """
    # Imported late: the compiler takes half a second to load.
    from topwater.replica.world_kernels import moved_in_worlds

    chosen = rng.bit_generator.random_raw(WORLDS * len(stale))
    moved, column = moved_in_worlds(chosen, np.ascontiguousarray(stale))
    chosen = chosen[moved]
    return Drawn(moved, column, could_be.draw(column, decided(chosen, 1), decided(chosen, 2)))


def decided(chosen: npt.NDArray[np.uint64], part: int) -> FloatArray:
    """A number from 0 to 1 out of each: three parts of 21 bits are independent of each other."""
    bits = (chosen >> np.uint64(21 * part)) & np.uint64(2**21 - 1)
    return np.asarray(bits * 2.0**-21)


def gain_of_knowing(
    believed: FloatArray,
    worlds: FloatArray,
    k: int,
    aim: Aim,
    known: FloatArray | None = None,
) -> FloatArray:
    """The mean gain in utility from knowing each key, over all worlds.  O(worlds · keys · log).

    Parameters
    ----------
    believed
        The scores believed, best first.
    worlds
        Possible true scores: a row a world, a column a key, in the order of ``believed``.
    k, aim
        How many keys are shown, and what counts.
    known
        The scores that one would then believe, where a look-up does not tell all: like ``worlds``.

    Examples
    --------
    >>> worlds = np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 9.0]])
    >>> gain_of_knowing(np.array([3.0, 2.0, 1.0]), worlds, 1, "accuracy").round(2).tolist()
    [0.0, 0.0, 0.49]
    """
    shown = min(k, len(believed))
    moves = _Moves(believed, worlds, shown, worlds if known is None else known)
    ndcg_weight, precision_weight = weights(aim)
    found = precision_weight * moves.set_gain()
    found += ndcg_weight * moves.order_gain()
    # Each key's worlds come in order, so the sums are those over all of them.
    return np.asarray(np.bincount(moves.here, found, len(believed)) / len(worlds))


def fare(scores: FloatArray, shown: int, k: int) -> tuple[float, float]:
    """Mean precision@k and nDCG@k of showing the first columns, if each row has the true scores.

    What is not a number has no place. Ties keep the order of the columns, so a world like ours is a
    perfect one.

    Examples
    --------
    >>> fare(np.array([[3.0, 2.0, np.nan], [3.0, 2.0, 5.0]]), shown=2, k=2)[0]
    0.75
    """
    return fare_of(scores, np.tile(np.arange(shown), (len(scores), 1)), k)


def fare_of(scores: FloatArray, columns: IntArray, k: int) -> tuple[float, float]:
    """The same where other columns are shown in each world, best first: a row a world."""
    scored = np.isfinite(scores)
    if not scored.all():
        scores = np.where(scored, scores, -np.inf)
    n, shown = np.count_nonzero(scored, axis=1), columns.shape[1]
    world = np.repeat(np.arange(len(scores)), shown)
    above = _places(scores, world, columns.ravel()).reshape(columns.shape)
    due = np.minimum(k, n)
    right = np.count_nonzero(above < due[:, None], axis=1)
    # The gain of a place is 2^-place − 2^-n: of what is shown, and of what is due.
    discount = 1.0 / np.log2(np.arange(2, k + 2))
    seen = np.take_along_axis(scored, columns, axis=1)
    gain = np.where(seen, np.exp2(-above) - np.exp2(-n)[:, None], 0.0)
    sums = np.cumsum([np.exp2(-np.arange(k)) * discount, discount], axis=1)[:, due - 1]
    ideal = sums[0] - np.exp2(-n) * sums[1]
    some = due > 0
    precision = np.divide(right, due, out=np.ones(len(due)), where=some)
    ndcg = np.divide(gain @ discount[:shown], ideal, out=np.ones(len(due)), where=some)
    return float(precision.mean()), min(1.0, float(ndcg.mean()))


class _Moves:
    """The keys that leave their places, in the worlds where that changes what is shown.

    Such a key is shown, or is worth as much as one that is; knowing any other brings nothing.

    Attributes
    ----------
    world, here, there
        Of each: the world, its place now, and the place it would get if it were known.
    place
        Where it truly belongs.
    first
        Where the keys shown and the next one truly belong: a row a world.
    """

    def __init__(
        self, believed: FloatArray, worlds: FloatArray, shown: int, known: FloatArray
    ) -> None:
        self.n, self.shown = len(believed), shown
        moved = known != believed
        at, column = _where(moved[:, :shown])
        enters = moved[:, shown:] & (known[:, shown:] >= believed[shown - 1])
        below, other = _where(enters)
        self.world = np.concatenate([at, below])
        self.here = np.concatenate([column, other + shown])
        above = np.searchsorted(-believed, -known[self.world, self.here], side="left")
        self.there = above - (above > self.here)
        self.first = _first_places(worlds, min(shown + 1, self.n))
        entered = _places(worlds, below, other + shown)
        self.place = np.concatenate([self.first[at, column], entered])

    def set_gain(self) -> FloatArray:
        """In precision: a key that crosses the border changes places with the one next to it."""
        shown = self.shown
        right, first = (self.place < shown).astype(np.float64), self.first < shown
        follower = first[self.world, shown] if self.n > shown else 0.0
        last = first[self.world, shown - 1]
        gain = np.where(self.there >= shown, follower - right, 0.0)
        return np.asarray(np.where(self.here >= shown, right - last, gain) / shown)

    def order_gain(self) -> FloatArray:
        """In nDCG: the key takes its new place, and those between move by one."""
        world, here, there = self.world, self.here, self.there
        gain, discount = gains(self.n), np.zeros(self.n + 1)
        discount[: self.shown] = 1.0 / np.log2(np.arange(2, self.shown + 2))
        up, down = self._shifts(gain[self.first], discount)
        own = gain[self.place] * (discount[there] - discount[here])
        most = up.shape[1] - 1
        passed = up[world, np.minimum(there + 1, most)] - up[world, np.minimum(here + 1, most)]
        overtaken = down[world, np.minimum(here, self.shown)]
        overtaken = overtaken - down[world, np.minimum(here, np.minimum(there, self.shown))]
        ideal = gain[: self.shown] @ discount[: self.shown]
        return np.asarray((own + np.where(there > here, passed, overtaken)) / ideal)

    def _shifts(self, gain: FloatArray, discount: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What is won if all keys up to a place move up by one, or down by one.

        Beyond the first place that is not shown nothing is won, so the sums end there.
        """
        (worlds, first), shown = gain.shape, self.shown
        up, down = np.zeros((worlds, first + 1)), np.zeros((worlds, shown + 1))
        steps = discount[: first - 1] - discount[1:first]
        np.cumsum(gain[:, 1:] * steps, axis=1, out=up[:, 2:])
        steps = discount[1 : shown + 1] - discount[:shown]
        np.cumsum(gain[:, :shown] * steps, axis=1, out=down[:, 1:])
        return up, down


def _where(marked: BoolArray) -> tuple[IntArray, IntArray]:
    """The rows and columns that are marked, row by row; NumPy is slow at it."""
    flat, columns = np.flatnonzero(marked), max(1, marked.shape[1])
    rows = flat // columns
    return rows, flat - rows * columns


def _first_places(scores: FloatArray, count: int) -> IntArray:
    """The places of the first keys in each world."""
    worlds = len(scores)
    world, column = np.repeat(np.arange(worlds), count), np.tile(np.arange(count), worlds)
    return _places(scores, world, column).reshape(worlds, count)


def _places(scores: FloatArray, world: IntArray, column: IntArray) -> IntArray:
    """The place of each of some keys, each in one world, from 0; equals keep the order shown."""
    if len(world) < _SORTED * len(scores):
        # One layout of arrays, so that one loop is compiled.
        # Imported late: the compiler takes half a second to load.
        from topwater.replica.world_kernels import places_among

        return places_among(scores, np.ascontiguousarray(world), np.ascontiguousarray(column))
    order = np.argsort(-scores, axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(scores.shape[1])[None, :], axis=1)
    return np.asarray(places[world, column])
