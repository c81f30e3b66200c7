"""What is left of a window's deadline when its keys are fetched."""

from __future__ import annotations

from topwater.protocols import Clock

_SPARE, _REMEMBERED = 0.05, 0.95
"""Seconds that are left to the end of a window's deadline; and what remains, a window later, of
the longest time that ranking took."""


class TimeLeft:
    """Keeps account of a deadline: work before the fetch, the fetch, and the ranking after it.

    Parameters
    ----------
    clock
        By which the deadline counts. Without one only fetching is taken to cost time, which suits
        evaluations: what they do does not depend on the machine.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or _Standing()
        self._begun: float | None = None
        self._started = self._fetched = self._ranking = 0.0

    def begin(self) -> None:
        """Work on the next windows begins: their deadlines count from here, one after the other."""
        self._begun = self._clock.now()

    def start_window(self) -> None:
        """Work on a window begins, if it did not begin already."""
        self._started = self._clock.now() if self._begun is None else self._begun

    def for_fetching(self, deadline: float | None) -> float | None:
        """What remains of the window's seconds, without what ranking will take."""
        if deadline is None:
            return None
        return deadline - (self._clock.now() - self._started + self._reserve(deadline))

    def end_fetch(self, seconds: float = 0.0) -> None:
        """All is fetched, by its own account in this many seconds; what follows is ranking."""
        if isinstance(self._clock, _Standing):
            self._clock.time += seconds
        self._fetched = self._clock.now()

    def end_window(self) -> None:
        """The window is answered, and the next one begins."""
        ended = self._clock.now()
        self._ranking = max(ended - self._fetched, _REMEMBERED * self._ranking)
        if self._begun is not None:
            self._begun = ended

    def _reserve(self, deadline: float) -> float:
        """What of the deadline is kept for ranking, so that the answer is out by then.

        Some more than it took lately, as there are others on the machine.
        """
        return min(deadline / 2, self._ranking + min(_SPARE, deadline / 8))


class _Standing:
    """A clock that stands still but where it is told what fetching took."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time
