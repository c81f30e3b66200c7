"""Keep the whole window and sort it when asked: slow, and plainly right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topwater.candidates.invariants import require
from topwater.model import Arrivals, Items

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topwater.windows import Windows


class Recompute:
    """The oracle: every item of the current and later windows, sorted on demand.

    All other lists are compared with this one, so it shares no code with them.

    Parameters
    ----------
    windows
        The windows that slide over the stream.
    k
        How many items an answer has.

    Notes
    -----
    ``add`` is O(1) per pane of the batch, ``top`` O(n log n) in the items of the window,
    ``expire`` O(panes kept). Memory is the whole window.

    Examples
    --------
    >>> import numpy as np
    >>> from topwater.windows import sliding
    >>> pair = sliding(width=4, step=2)
    >>> lst = Recompute(pair, k=1)
    >>> lst.add(pair.group(Items(np.array([9.0, 5.0]), np.array([1, 3]), np.array([7, 8]))))
    >>> lst.top(0).key.tolist(), lst.top(1).key.tolist()
    ([7], [8])
    """

    def __init__(self, windows: Windows, k: int) -> None:
        self.windows = windows
        self.k = k
        self._current = 0
        self._panes: dict[int, list[Items]] = {}

    def add(self, arrivals: Arrivals) -> None:
        """Bring new items, of any pane not older than the current window."""
        for j, pane in enumerate(arrivals.panes.tolist()):
            span = slice(int(arrivals.bounds[j]), int(arrivals.bounds[j + 1]))
            self._panes.setdefault(pane, []).append(arrivals.items.take(span))

    def top(self, window: int) -> Items:
        """The best k of a window, best first.  O(n log n)."""
        first, last = self.windows.panes_in(window)
        return self._between(first, last).ranked().take(slice(0, self.k))

    def expire(self, window: int) -> None:
        """Forget what is in no window after ``window``.  O(panes kept)."""
        self._current = max(self._current, window + 1)
        first, _ = self.windows.panes_in(self._current)
        self._panes = {pane: parts for pane, parts in self._panes.items() if pane >= first}

    def __iter__(self) -> Iterator[tuple[float, int, object]]:
        kept = self._everything().ranked()
        return zip(kept.score.tolist(), kept.time.tolist(), kept.key.tolist(), strict=True)

    def __len__(self) -> int:
        return sum(len(part) for parts in self._panes.values() for part in parts)

    def snapshot(self) -> Items:
        """Every item kept."""
        return self._everything()

    def check(self) -> None:
        """Verify that each item lies in its pane, and no pane is expired."""
        first, _ = self.windows.panes_in(self._current)
        for pane, parts in self._panes.items():
            require(pane >= first, f"pane {pane} is expired")
            for part in parts:
                require((self.windows.pane_of(part.time) == pane).all(), f"not in pane {pane}")

    def _everything(self) -> Items:
        return Items.concat([part for parts in self._panes.values() for part in parts])

    def _between(self, first: int, last: int) -> Items:
        # The panes kept, not the panes of the window: a window may have a billion of them.
        inside = [parts for pane, parts in self._panes.items() if first <= pane <= last]
        return Items.concat([part for parts in inside for part in parts])
