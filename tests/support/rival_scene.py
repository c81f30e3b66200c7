"""A grid engine that has been fed, and what its compiled steps are handed."""

from __future__ import annotations

import numpy as np

from topwater.model import FloatArray
from topwater.standing.costs import EUCLIDEAN
from topwater.standing.engines import NumericQuery
from topwater_lab.rivals.grid_engine import Gridded
from topwater_lab.rivals.grid_search import Scene, Stream


def fed_engine(columns: FloatArray, k: int, width: int, *, skyband: bool = False) -> Gridded:
    """An engine with one query, for the middle of the unit cube."""
    engine, d = Gridded(skyband, cells=4), len(columns)
    engine.admit(0, NumericQuery(EUCLIDEAN, 0, np.full(d, 0.5), np.ones(d), k, width, 1))
    engine.feed(columns, np.arange(1, columns.shape[1] + 1), 1, columns.shape[1])
    return engine


def scene_of(engine: Gridded, columns: FloatArray, *, skyband: bool = False) -> Scene:
    """What a step is handed after the last row."""
    stamps = np.arange(1, columns.shape[1] + 1)
    stream = Stream(columns, stamps, engine._cursor, 1, columns.shape[1], engine.reach)
    return Scene(skyband, engine._watchers(), engine._grid, engine._listing, stream, engine._space)
