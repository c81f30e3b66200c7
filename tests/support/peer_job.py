"""A job for other engines, small enough to do by hand."""

from __future__ import annotations

import numpy as np

from topwater.model import Arrivals, Items
from topwater_lab.bench.core_grid import Point
from topwater_lab.bench.peer_job import Job

RIGHT = ([0.95, 0.9, 0.6], [10, 2, 6])
"""The best score and key of panes 0 and 1, of 1 and 2, and of 2 and 3."""


def job_by_hand(k: int = 1) -> Job:
    """Panes of two objects each, windows of two panes; pane 0 is there already."""
    return Job(
        Point(4, 2, k),
        _arrivals([0], [0.95, 0.05][:k], [10, 11][:k]),
        _arrivals([1, 2, 3], [0.1, 0.9, 0.3, 0.2, 0.4, 0.6], [1, 2, 3, 4, 5, 6]),
    )


def _arrivals(panes: list[int], scores: list[float], keys: list[int]) -> Arrivals:
    ends = np.linspace(0, len(keys), len(panes) + 1).astype(np.int64)
    key = np.array(keys, np.int64)
    return Arrivals(np.array(panes, np.int64), ends, Items(np.array(scores), key.copy(), key))
