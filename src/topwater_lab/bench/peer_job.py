"""The job that other systems do next to our lists, and what such a system has to offer.

It is the job of a list in its steady state: the best k of each pane of the window before are
there already, new objects come, and each new window is answered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from topwater.candidates.runs import pane_column
from topwater.model import Arrivals, FloatArray, IntArray, KeyArray
from topwater_lab.bench.core_grid import Point

Answers: TypeAlias = tuple[FloatArray, KeyArray]
"""The scores and keys of all windows, one after the other, each best first."""


@dataclass(frozen=True, slots=True)
class Job:
    """The pane tops of the first window but its last pane, and new objects for some windows.

    Panes are numbered from 0; window w of the job has panes w to w + ``point.panes`` - 1.
    """

    point: Point
    held: Arrivals
    fresh: Arrivals

    @property
    def slides(self) -> int:
        """How many windows to answer."""
        return len(self.fresh.panes)


@dataclass(frozen=True, slots=True)
class Form:
    """One formulation, and about how many rows it handles for a number of windows."""

    name: str
    rows: Callable[[Point, int], float]
    most_slides: int = 1_000_000


class Engine(Protocol):
    """A system that can do the job."""

    @property
    def threads(self) -> int:
        """How many threads it may use."""

    @property
    def forms(self) -> tuple[Form, ...]:
        """The formulations that may be the best."""

    def load(self, job: Job) -> None:
        """Take the job's data in. Not timed."""

    def query(self, form: str) -> Any:
        """Do the job; the answers are in memory in the end."""

    def answers(self, result: Any) -> Answers:
        """What a query returned, as columns. Not timed."""


def by_window(window: IntArray, score: FloatArray, key: KeyArray) -> Answers:
    """Windows put in order; the rows of each are best first already."""
    order = np.argsort(window, kind="stable")
    return score[order], key[order]


def columns(arrivals: Arrivals) -> dict[str, Any]:
    """The columns of a table: pane, score, key."""
    return {
        "pane": pane_column(arrivals).astype(np.int32),
        "score": arrivals.items.score,
        "key": arrivals.items.key,
    }


def scanned(point: Point, slides: int) -> float:
    """The new objects. Looking at one once is cheaper than what else is done with rows."""
    return 0.25 * slides * point.step


def each_window(point: Point, slides: int) -> float:
    """The new objects, and the pane tops once for each window that they are in."""
    return scanned(point, slides) + slides * point.panes * point.per_pane


def skimmed(point: Point, slides: int) -> float:
    """As above, where most rows cost one comparison but each window a few calls."""
    return scanned(point, slides) + slides * (0.2 * point.panes * point.per_pane + 3_000)


def tree(point: Point, slides: int) -> float:
    """A segment tree of lists of k, with one frame per row."""
    rows = (point.panes + slides) * point.per_pane
    return scanned(point, slides) + 0.25 * rows * point.k * max(1.0, math.log2(point.panes))


def all_windows(point: Point, slides: int) -> float:
    """As ``each_window``, with the windows that are not full at the end."""
    return scanned(point, slides) + (slides + point.panes) * point.panes * point.per_pane
