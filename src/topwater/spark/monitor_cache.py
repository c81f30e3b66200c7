"""Monitors that stay in a Python worker from one micro-batch to the next.

A worker may meet its shard again or not, and may have run an attempt that came to nothing. So a
monitor is taken out when it is used, comes back when its record was written, and is believed only
as far as the state's head knows the record that it is of.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, TypeAlias

from topwater.monitor.journal import Journal

Place: TypeAlias = tuple[str, int]
"""Of which run of a query, and which shard."""


class MonitorCache:
    """The monitors that were used last.

    Parameters
    ----------
    most
        How many to keep at most.
    size
        How many bytes their states may have together. The one used last is kept in any case.
    """

    def __init__(self, most: int = 64, size: int = 64 * 2**20) -> None:
        self._most = most
        self._size = size
        self._kept: OrderedDict[Place, Journal[Any]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, place: Place) -> Journal[Any] | None:
        """The monitor of this place with its journal; it is not kept any more."""
        return self._kept.pop(place, None)

    def put(self, place: Place, journal: Journal[Any]) -> None:
        """Keep a monitor, in the place of one that was used longest ago."""
        self.drop(place)
        self._kept[place] = journal
        while len(self._kept) > 1 and self._full():
            self.drop(next(iter(self._kept)))

    def drop(self, place: Place) -> None:
        """Let a monitor go, and close its source."""
        journal = self._kept.pop(place, None)
        if journal is not None:
            journal.monitor.close()

    def _full(self) -> bool:
        # In memory a monitor takes some twenty times what its state does.
        return len(self) > self._most or sum(map(_size, self._kept.values())) > self._size


def _size(journal: Journal[Any]) -> int:
    return journal.size


CACHE = MonitorCache()
"""That of this process."""
