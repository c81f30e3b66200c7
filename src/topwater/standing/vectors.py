"""Compiled: 64 objects at once, by explicit vectors if this Numba can make them, else by loops.

A mask has a bit for each of 64 rows. ``vector_intrinsics`` writes LLVM's instructions by means
that are not all public, so it is tried out before it is used: it must give the masks that
``vector_loops`` gives.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

import numpy as np

from topwater.standing import vector_loops
from topwater.standing.lanes import LANES

__all__ = ["lowest", "not_above", "squares_within", "squares_within_plane"]


def gives_right_masks(vectors: ModuleType) -> bool:
    """Does a module give the same masks as the loops?"""
    columns = np.arange(2 * LANES, dtype=np.float32).reshape(2, LANES) % np.float32(7)
    point, bound = np.array([2, 3], np.float32), np.float32(5)
    found, expected = np.zeros(4, np.uint64), np.zeros(4, np.uint64)
    vector_loops.masks(columns, point, bound, expected)
    try:
        vectors.masks(columns, point, bound, found)
    except Exception:  # whatever a compiler raises that is not the one this was written for
        return False
    return bool(np.array_equal(found, expected))


def best_module(name: str = "topwater.standing.vector_intrinsics") -> ModuleType:
    """The module with explicit vectors, or the one with loops if that can't be had."""
    try:
        vectors = import_module(name)
    except (ImportError, AttributeError):
        return vector_loops
    return vectors if gives_right_masks(vectors) else vector_loops


_vectors = best_module()
squares_within = _vectors.squares_within
squares_within_plane = _vectors.squares_within_plane
not_above = _vectors.not_above
lowest = _vectors.lowest
