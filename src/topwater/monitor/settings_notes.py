"""What answers say of a query whose settings were changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from topwater.model import Answer
from topwater.monitor.filled_windows import FilledWindows
from topwater.windows import Windows


class SettingsNotes:
    """Notes in the next answer what changed, and in each that has too little that it is not exact.

    Examples
    --------
    >>> from topwater.windows import tumbling
    >>> windows, notes = tumbling(10), SettingsNotes(tumbling(10))
    >>> notes.restore_facts({"tuned": ["k: 1 → 3"], "unsure": [[0, 0]]})
    >>> noted = [notes.added_to(Answer(windows.window(each), ())) for each in (0, 1)]
    >>> [(answer.tuned, answer.exact) for answer in noted]
    [(('k: 1 → 3',), False), ((), True)]
    """

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._tuned: tuple[str, ...] = ()
        self._unsure = FilledWindows(windows)

    def added_to(self, answer: Answer) -> Answer:
        """The same answer, with what there is to say."""
        window = answer.window.index
        if self._unsure.first_from(window) == window:
            answer = replace(answer, exact=False)
        self._unsure.expire(window)
        if self._tuned:
            answer, self._tuned = replace(answer, tuned=self._tuned), ()
        return answer

    def facts(self) -> dict[str, Any]:
        """For JSON."""
        return {"tuned": list(self._tuned), "unsure": self._unsure.snapshot()}

    def restore_facts(self, facts: Mapping[str, Any]) -> None:
        """Take over what :meth:`facts` gave."""
        self._tuned = tuple(facts["tuned"])
        self._unsure = FilledWindows(self._windows, facts["unsure"])
