"""Between which values each of many could lie after a change, compiled: one pass, for bounds alone.

What :class:`~topwater.replica.possible_values.Moved` says of a few values takes a dozen
arrays. Of a large window nearly all keys are asked for no more than these two numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from topwater.model import FloatArray
from topwater.replica.key_moves import LOG, MEAN, PACED, PACES, RESIDUALS, SEEN, SIZE
from topwater.replica.possible_values import BACK, COUNT, FAR, LEVEL, TREND, WALK
from topwater.replica.ways_to_move import LEVEL_PRIOR, NEAR, SIGNIFICANT, TINY_WEIGHT

_UNLIKELY = TINY_WEIGHT * (1.0 - 1e-9)
"""Exponentials may differ from NumPy's in their last digit: in doubt, a way counts."""

# Of what is found for one key: how far it goes by each way comes first.
_SEEN, _LEVEL, _NEAR, _SHIFT, _OWN = COUNT, COUNT + 1, COUNT + 2, COUNT + 3, COUNT + 4

_compiled = njit(cache=True, nogil=True)


class Shared(NamedTuple):
    """What all keys have in common.

    Attributes
    ----------
    powers
        Whether values are logarithms.
    mean, memory, usual_square
        See :class:`~topwater.replica.ways_to_move.WaysToMove`.
    prior, size, trust
        Of each way: how likely it is, its mean residual, and for how many of them that counts.
    least, greatest
        Of each ring.
    """

    powers: bool
    mean: float
    memory: float
    usual_square: float
    prior: FloatArray
    size: FloatArray
    trust: FloatArray
    least: FloatArray
    greatest: FloatArray


class Asked(NamedTuple):
    """The row of each key, its value, how often that has changed by now, and in how many seconds.

    ``keys`` are the rows; the first is that of keys of which nothing was learnt.
    """

    keys: npt.NDArray[np.float32]
    rows: npt.NDArray[np.int32]
    values: FloatArray
    changes: FloatArray
    seconds: FloatArray


@_compiled
def reaches(asked: Asked, shared: Shared) -> tuple[FloatArray, FloatArray]:
    """The least and the greatest that each value could be; never nearer than they truly are.

    Of logarithms, what each is counts elsewhere: it is not found again from its own.
    """
    keys, rows, values, changes, seconds = asked
    mean, memory, least, greatest = shared.mean, shared.memory, shared.least, shared.greatest
    low, high = np.empty(len(rows)), np.empty(len(rows))
    own, before = np.empty(_OWN), -1
    for at in range(len(rows)):
        row, value = rows[at], values[at]
        # Keys of which nothing was learnt are alike, and many were read at the same time.
        if row != before or changes[at] != changes[at - 1] or seconds[at] != seconds[at - 1]:
            _find_own(keys[row], changes[at], seconds[at], shared, own)
            before = row
        seen, level = own[_SEEN], own[_LEVEL]
        if level != level:
            level = value
        level = (LEVEL_PRIOR * mean + seen * level) / (LEVEL_PRIOR + seen)
        down, up = (np.inf, -np.inf) if shared.powers else (value, value)
        for way in range(COUNT):
            far, center, ring = own[way], value, way
            if far < 0.0:
                down, up = min(down, value), max(up, value)
                continue
            if way == BACK:
                center = mean + memory * (value - mean)
            elif way == LEVEL:
                center, ring = level, FAR if abs(value - level) > own[_NEAR] else LEVEL
            elif way == TREND:
                center = value + own[_SHIFT]
            one, other = center + far * least[ring], center + far * greatest[ring]
            down, up = min(down, one), max(up, other)
            if one != one or other != other:
                down, up = -np.inf, np.inf
                break
        low[at], high[at] = down, up
    return low, high


@_compiled
def _find_own(
    key: npt.NDArray[np.float32],
    changes: float,
    seconds: float,
    shared: Shared,
    own: FloatArray,
) -> None:
    """How far a key goes by each way, less than nowhere if that is unlikely; and what else counts.

    That is how often it was seen and its level, how far from it is near, and where its pace leads.
    """
    most = np.float64(key[LOG])
    for way in range(1, COUNT):
        most = max(most, np.float64(key[LOG + way]))
    total = 0.0
    for way in range(COUNT):
        total += shared.prior[way] * math.exp(np.float64(key[LOG + way]) - most)
    known, paced = np.float64(key[RESIDUALS]), np.float64(key[PACED])
    seen = max(abs(np.float64(key[SEEN])), 1.0)
    for way in range(COUNT):
        weight = shared.prior[way] * math.exp(np.float64(key[LOG + way]) - most) / total
        size, trust = np.float64(key[SIZE + way]), shared.trust[way]
        scale = (trust * shared.size[way] + size) / (trust + known)
        far = scale
        if way == LEVEL:
            far, own[_NEAR] = math.sqrt(1.0 + 1.0 / (seen + LEVEL_PRIOR)) * scale, NEAR * scale
        elif way == WALK:
            far = math.sqrt(changes) * scale
        elif way == TREND:
            far = math.sqrt(1.0 + seconds**2 / (paced + shared.usual_square)) * scale
            own[_SHIFT] = _pace(key, shared.usual_square, scale) * seconds
        own[way] = -1.0 if weight < _UNLIKELY else far
    own[_SEEN] = seen
    own[_LEVEL] = np.float64(key[MEAN]) if key[SEEN] != 0 else np.nan


@_compiled
def _pace(key: npt.NDArray[np.float32], usual_square: float, scale: float) -> float:
    """In units a second, where it is significant."""
    paces, paced = np.float64(key[PACES]), np.float64(key[PACED])
    pace = abs(paces) / math.sqrt(max(paced, 1e-9))
    if pace > SIGNIFICANT * (1.25 * scale) and key[RESIDUALS] > 1.5:
        return paces / (paced + usual_square)
    return 0.0
