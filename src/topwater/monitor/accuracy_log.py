"""Says in the log when answers can't be as right as was asked, or can't be as right as they say."""

from __future__ import annotations

import logging

from topwater.model import Answer, Key

_log = logging.getLogger("topwater.accuracy")
_ADVICE = {
    "out_of_reach": (
        "the accuracy asked for is out of reach: allow more look-ups by at_most, or ask for less"
    ),
    "noisy": (
        "the source gives a different number at each look-up, however soon: that is noise; the "
        "setting noise= says how far apart two look-ups of the same value may lie"
    ),
    "doubtful": "what answers say of their precision is contradicted by look-ups drawn at random",
}


class AccuracyLog:
    """Hears all answers of a query, and warns when a set-point gets out of reach.

    And when an audit contradicts what answers say of themselves. Once each time it does, for each
    group, and not again before an answer was as it should be. Of these times the first, the second,
    the fourth, the eighth and so on are told, so that a query at the edge of what it can reach
    fills no disk.

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
        self._going: set[tuple[str, Key | None]] = set()

    def hear(self, answer: Answer) -> None:
        """One more window was answered."""
        if answer.freshness is None:
            return
        for fault, advice in _ADVICE.items():
            what = fault, answer.group
            if not getattr(answer.freshness, fault):
                self._going.discard(what)
            elif what not in self._going:
                self._going.add(what)
                self._warn(answer, advice)

    def _warn(self, answer: Answer, advice: str) -> None:
        self.times += 1
        if self.times & (self.times - 1) == 0:
            about = ", ".join(answer.facts)
            _log.warning(
                "since the window %s (%s) %s (time %d)", answer.title, about, advice, self.times
            )
