"""A stream of mentions and what the remote side said meanwhile: read from files, or made up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

import numpy as np
from pyarrow import csv

from topwater.errors import QueryError
from topwater.model import IntArray, Millis
from topwater.remote.known_changes import Steps
from topwater.replica import WindowView
from topwater.windows import Windows

Counts = Literal["paper", "true"]

WIDTH: Millis = 100_000
STEP: Millis = 60_000
EVALUATIONS = 150
EVENING: Millis = 1_420_574_422_643
"""Where the windows of the evening recording start."""

_FILES = ("mentions_evening.csv.gz", "followers_evening.csv.gz", "dfc_evening.csv.gz")


@dataclass(frozen=True, slots=True)
class Recording:
    """What happened: mentions, in order of time, and two time-varying remote values.

    Attributes
    ----------
    name
        Where it comes from.
    times, keys
        The mentions.
    windows
        100 s wide, sliding by 60 s.
    followers
        How many followers each user had.
    growth
        The difference between two successive rounds.
    """

    name: str
    times: IntArray
    keys: IntArray
    windows: Windows
    followers: Steps
    growth: Steps

    def views(self, counts: Counts, evaluations: int = EVALUATIONS) -> tuple[WindowView, ...]:
        """What the stream says of each window: made once, shared by all runs."""
        if counts not in get_args(Counts):
            raise QueryError(f"{counts!r} is unknown", field="counts", fix="use: paper or true")
        return tuple(self._view(index, counts) for index in range(evaluations))

    def _view(self, index: int, counts: Counts) -> WindowView:
        """In ``(start, end]``. Paper counts: at most one mention per user and slide.

        ::

            window      (─────────────────────────────]
            slides      (─────────────────](──────────────────]
            counted      at most 1          at most 1
        """
        window = self.windows.window(index)
        first, last = np.searchsorted(self.times, [window.start, window.end], side="right")
        times, mentioned = self.times[first:last], self.keys[first:last]
        keys, rows = np.unique(mentioned, return_inverse=True)
        latest = np.full(len(keys), window.start)
        np.maximum.at(latest, rows, times)
        if counts == "paper":
            second = times > window.start + self.windows.step
            rows = np.unique(rows * 2 + second) // 2
        mentions = np.bincount(rows, minlength=len(keys)).astype(np.float64)
        return WindowView(index, window.end, keys, {"mentions": mentions}, latest)


def read_evening(folder: Path) -> Recording:
    """The evening recording: three files, as ``--data`` names their folder."""
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        raise QueryError(
            f"{missing[0]} is not in {folder}",
            field="data",
            fix="name the folder of the recording, or leave it out for a generated one",
        )
    times, keys, _ = _columns(folder / _FILES[0])
    order = np.argsort(times, kind="stable")
    windows = Windows(WIDTH, STEP, start=EVENING)
    followers, growth = (Steps.of(*_columns(folder / name)) for name in _FILES[1:])
    return Recording("evening", times[order], keys[order], windows, followers, growth)


def _columns(path: Path) -> tuple[IntArray, IntArray, IntArray]:
    table = csv.read_csv(path)
    columns = [table.column(at).to_numpy().astype(np.int64) for at in range(3)]
    return cast("tuple[IntArray, IntArray, IntArray]", tuple(columns))
