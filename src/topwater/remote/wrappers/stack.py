"""A source as a query uses it: one that asks the service, inside all that keeps it in bounds.

::

    Stack         the answer is out by the deadline, whatever happens inside
      Recording   writes down what was asked and said, if wanted
        Counting  how many keys were asked for, and what became of them
          Batched   requests of so many keys, so many of them at once
            Retrying  a request that may pass the next time is sent again
              Breaking  a service that fails again and again is left alone
                Limited   no more requests than it allows
                  Counting  how many requests were really sent
                    the source itself

Retries are inside the batches, so that one request can wait while others go on; the limit is
inside the retries, so that these count, too; and it is inside the breaker, so that nobody waits
for a turn only to be told that the service rests.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from topwater.protocols import Source
from topwater.remote.wrappers.batch import Batched
from topwater.remote.wrappers.circuit_breaker import Breaker, Breaking
from topwater.remote.wrappers.count import Counting, Totals
from topwater.remote.wrappers.deadline import Guarded
from topwater.remote.wrappers.rate_limit import Limit, Limited
from topwater.remote.wrappers.record import Recording
from topwater.remote.wrappers.retry import Retrying
from topwater.remote.wrappers.wrapper import AtStart
from topwater.validation import checked_call, choice_of


class Stack(Guarded):
    """What :func:`stack` builds."""

    def __init__(
        self, source: Source, asked: Counting, sent: Counting, at_start: AtStart, label: str
    ) -> None:
        super().__init__(source)
        self._asked = asked
        self._sent = sent
        self._at_start = at_start
        self._label = label

    def __repr__(self) -> str:
        return f"Stack({self._label})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_crew"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(  # type: ignore[misc]
            *(state[name] for name in ("source", "_asked", "_sent", "_at_start", "_label"))
        )

    @property
    def at_start(self) -> AtStart:
        """What to do if the source can't be reached when a query begins."""
        return self._at_start

    @property
    def asked(self) -> Totals:
        """The keys that the query asked for, in this process, and what became of them."""
        return self._asked.totals

    @property
    def sent(self) -> Totals:
        """The requests that were sent to the service, retries included."""
        return self._sent.totals


@checked_call()
def stack(
    source: Source,
    *,
    per_request: int = 100,
    at_once: int = 4,
    rate: float | Limit | None = None,
    retries: int = 2,
    breaker: Breaker | Mapping[str, Any] | bool | None = True,
    at_start: AtStart = "warn",
    record: str | Path | None = None,
    name: str = "",
) -> Stack:
    """Put a source into everything that it needs for service.

    Parameters
    ----------
    source
        Answers one request's worth of keys.
    per_request
        How many keys that is. A source with a smaller ``most`` has its way.
    at_once
        How many requests run at the same time.
    rate
        How many requests a second the service allows, or a :class:`Limit`. All processes of a
        host that use the same ``name`` share it.
    retries
        How many times a request is sent again that may pass the next time.
    breaker
        When a service is left alone that fails again and again; False or None for never.
    at_start
        If it can't be reached when a query begins: ``"warn"`` and go on, ``"stop"``, or
        ``"ignore"``.
    record
        A file to write down what was asked and said.
    name
        Of the service, for the limit.

    Examples
    --------
    >>> import numpy as np
    >>> from topwater.testing import Scripted
    >>> source = stack(Scripted({"a": 1.0, "b": 2.0}), per_request=1)
    >>> source.fetch(np.array(["b", "a"], object), 1.0).values.tolist()
    [2.0, 1.0]
    >>> source.asked.keys, source.sent.calls
    (2, 2)
    """
    choice_of(at_start, get_args(AtStart), "at_start")
    sent = Counting(source)
    limited: Source = Limited(sent, Limit.of(rate, name))
    if (rests := Breaker.of(breaker)) is not None:
        limited = Breaking(limited, rests)
    asked = Counting(Batched(Retrying(limited, retries), per_request, at_once))
    outer: Source = asked if record is None else Recording(asked, record)
    return Stack(outer, asked, sent, at_start, repr(source))
