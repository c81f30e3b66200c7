"""The windows that a query reads: which of them close together, and which are on a stream."""

from __future__ import annotations

from collections.abc import Sequence

from rdflib.term import Variable

from topwater.rspql.parser.cursor import Names
from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.plan import EventPattern, Named, Plan, StreamWindow


def windows_of(
    document: Document,
    names: Names,
    declared: Sequence[StreamWindow],
    patterns: Sequence[EventPattern],
) -> tuple[StreamWindow, ...]:
    """The windows that patterns read, the widest first.

    Raises
    ------
    QueryError
        If two of them don't close together.
    """
    used = {part.window for pattern in patterns for part in pattern.blocks}
    first, *others = [each for each in declared if each.name in used]
    for other in others:
        if not _close_together(first, other):
            document.fail(
                f"<{first.name}> and <{other.name}> are ranked together, and do not close together",
                names.place(other.name, "FROM"),
                "give them the same STEP, and RANGEs that differ by whole STEPs, if at all",
            )
    if first.by == "count" and any(each.parts for each in patterns):
        places = [token.start for token in document.tokens if token.word == "WINDOW"]
        document.fail(
            "windows by count are joined: each counts its own solutions, and so none closes with "
            "another",
            places[-1] if places else document.find("WHERE", "{"),
            "use windows by time, as [RANGE PT9M STEP PT3M]",
        )
    return tuple(sorted([first, *others], key=lambda each: -each.width))


def _close_together(one: StreamWindow, other: StreamWindow) -> bool:
    """Is there for each window of the one a window of the other that closes when it does?"""
    if one.by != other.by or one.step != other.step:
        return False
    apart = one.width - other.width
    return apart == 0 or (one.by == "time" and apart % one.step == 0)


def windows_in(plan: Plan, stream: Named) -> set[Named]:
    """The windows of a plan that are on a stream."""
    return {
        window.name
        for window in plan.windows
        if window.stream == stream or isinstance(window.stream, Variable)
    }
