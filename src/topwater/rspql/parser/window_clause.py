"""``[RANGE … STEP …]`` and its kin: how windows are written, and what each writing means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from topwater.rspql.parser.cursor import Cursor

_EXAMPLE = "write [RANGE PT9M STEP PT3M], or [ELEMENTS 100 STEP 10]"
_COUNTED = ("ELEMENTS", "TRIPLES", "BGP")
_REFUSED = {
    "NOW": (
        "a window at one instant holds one event at most, which is not a ranking",
        "give it a width, as [RANGE PT9M STEP PT3M]",
    ),
    "FROM": (
        "windows on the past are not supported: each window ends when it is answered",
        "write [RANGE PT30M STEP PT5M], and delay the stream before if you need older events",
    ),
    "REPORT": (
        "windows are reported when they close, and at no other time",
        "leave REPORT and what follows it out",
    ),
    "TICK": ("windows are driven by event time, and by nothing else", "leave TICK out"),
    "EMIT": ("windows are answered when they close, and at no other time", "leave EMIT out"),
    "LATENESS": (
        "how late events may come is not part of the query here",
        "leave it out, and set lateness where the stream is given",
    ),
    "PAST": ("windows on the past are not supported", _EXAMPLE),
    "FUTURE": ("windows on the future are not supported", _EXAMPLE),
}


@dataclass(frozen=True, slots=True)
class Span:
    """How much a window covers and how far it moves: in milliseconds, or counted.

    ``step`` is None where it was not said.
    """

    width: int
    step: int | None
    by: Literal["time", "count"]


def bracketed(cursor: Cursor) -> Span:
    """A window in square brackets.

    ``RANGE``, or CQELS's ``SLIDE``, or SPARQLStream's ``NOW -``, gives the width; ``STEP``, or
    ``SLIDE`` in second place, the step; ``ELEMENTS``, ``TRIPLES`` and ``BGP`` count.
    """
    cursor.expect("[", _EXAMPLE)
    start = cursor.token
    span = _span(cursor)
    _refuse(cursor)
    cursor.expect("]", "close the window's bracket after its step")
    return checked(cursor, span, start.start)


def _span(cursor: Cursor) -> Span:
    if _begins_with_now(cursor):
        return _until_now(cursor)
    _refuse(cursor)
    ranged = cursor.skip("RANGE", "SLIDE")
    _refuse(cursor)
    if counted := cursor.skip(*_COUNTED):
        width = cursor.whole(counted, _EXAMPLE)
        return Span(width, _step(cursor, width, counted=True), "count")
    if not ranged:
        cursor.fail("a window begins with RANGE, or with ELEMENTS to count", _EXAMPLE)
    width = cursor.duration()
    return Span(width, _step(cursor, width, counted=False), "time")


def _begins_with_now(cursor: Cursor) -> bool:
    """Is it written as SPARQLStream does, from some time before now?"""
    at = 1 if cursor.token.word == "FROM" else 0
    return cursor.ahead(at).word == "NOW" and cursor.ahead(at + 1).text == "-"


def _until_now(cursor: Cursor) -> Span:
    """``NOW - 5 S SLIDE 1 S``, or ``FROM NOW-PT30M TO NOW STEP PT5M``."""
    first = cursor.token
    cursor.skip("FROM")
    width = _before_now(cursor)
    if cursor.skip("TO") and _before_now(cursor):
        cursor.document.fail(_REFUSED["FROM"][0], first.start, _REFUSED["FROM"][1])
    return Span(width, _step(cursor, width, counted=False), "time")


def _before_now(cursor: Cursor) -> int:
    """How long before now, which is the time at which a window is answered."""
    cursor.expect("NOW", "write TO NOW, or leave TO out")
    if cursor.token.text != "-":
        return 0
    cursor.take()
    return cursor.duration()


def _step(cursor: Cursor, width: int, *, counted: bool) -> int | None:
    _refuse(cursor)
    if cursor.skip("TUMBLING"):
        return width
    if not cursor.skip("STEP", "SLIDE"):
        return None
    if counted:
        cursor.skip(*_COUNTED)
        return cursor.whole("STEP", _EXAMPLE)
    return cursor.duration()


def _refuse(cursor: Cursor) -> None:
    if cursor.token.word in _REFUSED:
        cursor.fail(*_REFUSED[cursor.token.word])
    if cursor.token.kind == "variable":
        cursor.fail(
            "a window can't have variables: the plan is made before the data come", _EXAMPLE
        )


def checked(cursor: Cursor, span: Span, at: int) -> Span:
    """The same, if events can be in such windows."""
    fail = cursor.document.fail
    if span.width == 0:
        fail("the window is empty: its width is 0", at, f"give it a width: {_EXAMPLE}")
    if span.step == 0:
        fail("the window would never move: its step is 0", at, "leave STEP out, or make it longer")
    if span.step is not None and span.width < span.step:
        fail(
            f"the step is longer than the width ({span.step} > {span.width}): events between two "
            "windows would be in none",
            at,
            "make RANGE at least as long as STEP; without STEP windows lie end to end",
        )
    return span
