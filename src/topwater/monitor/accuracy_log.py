"""Says in the log when answers can't be as right as was asked."""

from __future__ import annotations

import logging

from topwater.model import Answer, Key

_log = logging.getLogger("topwater.accuracy")


class AccuracyLog:
    """Hears all answers of a query, and warns when a set-point gets out of reach.

    Once each time it does, for each group, and not again before an answer was within reach. Of
    these times the first, the second, the fourth, the eighth and so on are told, so that a query at
    the edge of what it can reach fills no disk.

    Examples
    --------
    >>> from topwater.model import Window
    >>> log = AccuracyLog()
    >>> log.hear(Answer(Window(0, 0, 10), ()))
    >>> log.times
    0
    """

    def __init__(self) -> None:
        self.times = 0
        self._going: set[Key | None] = set()

    def hear(self, answer: Answer) -> None:
        """One more window was answered."""
        if answer.freshness is None:
            return
        if not answer.freshness.out_of_reach:
            self._going.discard(answer.group)
        elif answer.group not in self._going:
            self._going.add(answer.group)
            self._tell(answer)

    def _tell(self, answer: Answer) -> None:
        self.times += 1
        if self.times & (self.times - 1) == 0:
            _log.warning(
                "the accuracy asked for is out of reach since the window %s (%s); "
                "times so far: %d; allow more look-ups by at_most, or ask for less",
                answer.title,
                ", ".join(answer.facts),
                self.times,
            )
