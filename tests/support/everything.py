"""The oracle for changing scores: it remembers every event, and scores the window when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from topwater.candidates.objects import Objects
from topwater.candidates.rescorable import UNSEEN, ChangingList

if TYPE_CHECKING:
    from collections.abc import Iterable

    from topwater.model import Arrivals, FloatArray, IntArray, KeyArray
    from topwater.windows import Windows

Row = tuple[float, int, Any]
"""(score, time, key)"""


class Everything:
    """All events and all remote values; the score is stream + remote."""

    def __init__(self, windows: Windows, remote: dict[Any, float]) -> None:
        self.windows = windows
        self.remote = dict(remote)
        self.events: list[tuple[int, Any, float]] = []

    def arrive(self, events: Iterable[tuple[int, Any, float]], *lists: ChangingList) -> None:
        """(time, key, stream part) of each event, in the order of arrival."""
        batch = self.objects(list(events))
        for lst in lists:
            lst.add(batch)

    def objects(self, events: list[tuple[int, Any, float]]) -> Arrivals:
        """Remember the events; return them as the lists want them."""
        self.events += events
        stream = np.array([part for _, _, part in events], np.float64)
        return self.windows.group(
            Objects(
                stream + np.array([self.remote[key] for _, key, _ in events], np.float64),
                np.array([time for time, _, _ in events], np.int64),
                self.keys(key for _, key, _ in events),
                stream,
            )
        )

    def change(
        self, values: dict[Any, float], *lists: ChangingList, unseen: Iterable[Any] = ()
    ) -> None:
        """New remote values; the lists are not told when the ``unseen`` keys came."""
        self.remote.update(values)
        keys = self.keys(values)
        remote = np.array(list(values.values()), np.float64)
        seen = dict(sorted((time, key)[::-1] for time, key, _ in self.events))
        hidden = set(unseen)
        times = [UNSEEN if key in hidden else seen.get(key, UNSEEN) for key in values]

        def score(stream: FloatArray, which: IntArray) -> FloatArray:
            return stream + remote[which]

        for lst in lists:
            lst.rescore(keys, score, np.array(times, np.int64))

    def ranking(self, window: int) -> list[Row]:
        """All objects of a window: the latest event of each key, scored now; best first."""
        span = self.windows.window(window)
        latest: dict[Any, tuple[int, float]] = {}
        for time, key, part in self.events:
            if span.start < time <= span.end and time >= latest.get(key, (UNSEEN, 0.0))[0]:
                latest[key] = (time, part)
        found = [(part + self.remote[key], time, key) for key, (time, part) in latest.items()]
        return sorted(found, key=lambda row: (-row[0], -row[1], row[2]))

    def keys(self, keys: Iterable[Any]) -> KeyArray:
        strings = any(isinstance(key, str) for key in self.remote)
        return np.array(list(keys), object if strings else np.int64)
