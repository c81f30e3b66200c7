"""Whatever a source does, the answer is out by the deadline.

A source that raises, hangs, answers late, or returns too few or the wrong things costs its keys,
and nothing else. The loop puts this round every source that it is given.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import numpy as np

from topwater.errors import SourceError
from topwater.model import Fetched, KeyArray, Millis
from topwater.protocols import Source
from topwater.remote.fetched_values import valid, where_it_broke
from topwater.remote.threads import Crew
from topwater.remote.wrappers.wrapper import Around, failed

_log = logging.getLogger("topwater.remote")
_SPARE = 3
_LONGEST_CHECK = 30.0
_reported: set[str] = set()


class Guarded(Around):
    """A source that keeps its contract, round one that may not.

    A source that may be late is called in a thread of its own, always the same one as long as it
    comes back in time. A call that does not is given up, and the next one gets another thread,
    so a source that hangs is called from several; when four calls hang, further keys fail at
    once. A thread can't be stopped from outside: C code that never lets other threads run makes
    even this late.

    Examples
    --------
    >>> class Raises:
    ...     def fetch(self, keys, deadline=None):
    ...         raise OSError("gone")
    >>> Guarded(Raises()).fetch(np.array([1, 2]), 1.0).problems()
    {'broken': 2}
    """

    punctual = True

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._crew = Crew(1, _SPARE)

    def __getstate__(self) -> dict[str, Any]:
        return {"source": self.source}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["source"])  # type: ignore[misc]

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``, as far as they came by the deadline."""
        if not len(keys):
            return Fetched(np.empty(0), np.empty(0, bool))
        if deadline is None or (deadline > 0 and getattr(self.source, "punctual", False)):
            return asked(self.source, keys, deadline)
        if not deadline > 0:
            return failed(keys, "late")
        return self._within(keys, deadline)

    def _within(self, keys: KeyArray, deadline: float) -> Fetched:
        begun = time.perf_counter()
        # A source that returns what it has at the last moment must still be heard.
        given = deadline - min(0.05, 0.1 * deadline)
        (got,) = self._crew.run([lambda: asked(self.source, keys, given)], deadline)
        return failed(keys, "late", time.perf_counter() - begun) if got is None else got

    def start(self) -> None:
        """Look whether the source can be reached, as a query begins.

        Raises
        ------
        SourceError
            If it can't, and its ``at_start`` is ``"stop"``; by default that is only logged.
        """
        if self.at_start == "ignore":
            return
        (done,) = self._crew.run([self._checked], _LONGEST_CHECK)
        late = _unreachable(f"did not come back within {_LONGEST_CHECK:g} seconds")
        problem = late if done is None else done[0]
        if problem is None:
            return
        if self.at_start == "stop":
            raise problem
        _log.warning("%s", problem)

    def _checked(self) -> list[SourceError | None]:
        """What the check says, if anything."""
        try:
            self.check()
        except SourceError as error:
            return [error]
        except Exception as error:
            return [_unreachable(f"raised {type(error).__name__}")]
        return [None]

    def seek(self, now: Millis) -> None:
        """Tell a source that has a time of its own what time it is."""
        try:
            super().seek(now)
        except Exception as error:
            _report_once(self.source, error)

    def close(self) -> None:
        """Close the source, and let the thread go."""
        self._crew.close()
        super().close()


def guarded(source: Source) -> Guarded:
    """The source itself if it is guarded already, or else a new guard around it.

    A query guards its source once, and hands the guard down to all that fetch: they share it, and
    so its thread.
    """
    return source if isinstance(source, Guarded) else Guarded(source)


def asked(source: Source, keys: KeyArray, deadline: float | None) -> Fetched:
    """Call a source, and make of what it does something that keeps the contract."""
    begun = time.perf_counter()
    try:
        got = source.fetch(keys, deadline)
        # Where there is no deadline the cost decides nothing, and the same should stay the same.
        spent = 0.0 if deadline is None else time.perf_counter() - begun
        return valid(got, len(keys), spent, tuple(getattr(source, "names", ())))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever it is, the window must be answered
        _report_once(source, error)
        return failed(keys, "broken", time.perf_counter() - begun)


def _unreachable(what: str) -> SourceError:
    return SourceError(f"its check {what}", field="source", fix="call its check() to see why")


def _report_once(source: Source, error: BaseException) -> None:
    """Say once where it broke."""
    inner: Any = source
    while isinstance(inner, Around):  # those in between only pass it on
        inner = inner.source
    what = f"the source {type(inner).__name__} {where_it_broke(error)}"
    if what not in _reported:
        _reported.add(what)
        _log.warning("%s; its keys fail", what)
