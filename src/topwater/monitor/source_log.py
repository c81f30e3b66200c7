"""Says in the log when nothing usable comes from a source."""

from __future__ import annotations

import logging

from topwater.model import Answer
from topwater.problems import tally

_log = logging.getLogger("topwater.remote")


class SourceLog:
    """Hears all answers of a query, and warns of those for which nothing usable came.

    Not of each: of the first, the second, the fourth, the eighth and so on, so that a source that
    is wrong for days fills no disk.

    Examples
    --------
    >>> from topwater.model import Window
    >>> log = SourceLog()
    >>> log.hear(Answer(Window(0, 0, 10), ()))
    >>> log.in_vain
    0
    """

    def __init__(self) -> None:
        self.in_vain = 0

    def hear(self, answer: Answer) -> None:
        """One more window was answered."""
        if answer.freshness is None or not answer.freshness.nothing_usable:
            return
        self.in_vain += 1
        if self.in_vain & (self.in_vain - 1) == 0:
            _log.warning(
                "nothing usable came from the source for the window %s (%s); "
                "such windows so far: %d; check() of the source, with a key, says more",
                answer.title,
                tally(answer.problems),
                self.in_vain,
            )
