"""A processor that is loaded where it works, and not where Spark plans its query.

Before the first micro-batch Spark starts a process of Python, only to ask which state variables a
stage has. To load a monitor there, with all that it needs, took two seconds of every start. What
is sent here instead is this module itself, so that process loads no module of Topwater at all: it
need not even be installed there.
"""

from __future__ import annotations

import pickle
import sys
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from topwater.spark.compat import is_planning, pickle_by_value, pickled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues

    Variable = tuple[str, tuple[Any, ...]]

pickle_by_value(sys.modules[__name__])


class PlannedProcessor(StatefulProcessor):
    """Stands for a processor until it has work to do: see :func:`planned`.

    Parameters
    ----------
    packed
        The processor that does the work, pickled.
    variables
        How it asks for its state variables.
    """

    def __init__(self, packed: bytes, variables: tuple[Variable, ...]) -> None:
        self._packed = packed
        self._variables = variables
        self._working: StatefulProcessor | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state where a query is planned; elsewhere, load the processor and begin."""
        if is_planning(handle):
            for verb, arguments in self._variables:
                getattr(handle, verb)(*arguments)
        else:
            working: StatefulProcessor = pickle.loads(self._packed)  # noqa: S301  our own bytes
            working.init(handle)
            self._working = working

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Any]:
        """What the processor gives."""
        assert self._working is not None, "Spark begins with init"  # noqa: S101
        return self._working.handleInputRows(key, rows, timerValues)

    def close(self) -> None:
        """End the processor, if it began."""
        if self._working is not None:
            self._working.close()


def planned(processor: StatefulProcessor) -> PlannedProcessor:
    """A processor that has not begun, ready for Spark."""
    handle: Any = _Noted()
    packed = pickled(processor)
    processor.init(handle)
    return PlannedProcessor(packed, tuple(handle.variables))


class _Noted:
    """A handle that notes which variables are asked for."""

    def __init__(self) -> None:
        self.variables: list[Variable] = []

    def __getattr__(self, verb: str) -> Any:
        if verb.startswith("_"):
            raise AttributeError(verb)
        return lambda *arguments: self.variables.append((verb, arguments))
