"""``[RANGE … STEP …]`` and its kin: how windows are written, and what each writing means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from topwater.rspql.parser.cursor import Cursor
from topwater.rspql.parser.spans import duration
from topwater.rspql.parser.tokens import Token

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
        "windows are reported when they close, and never else",
        "leave REPORT and what follows it out",
    ),
    "TICK": ("windows are driven by event time, and never else", "leave TICK out"),
    "EMIT": ("windows are answered when they close, and never else", "leave EMIT out"),
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

    ``RANGE``, or CQELS's ``SLIDE``, gives the width; ``STEP``, or ``SLIDE`` in second place, the
    step; ``ELEMENTS``, ``TRIPLES`` and ``BGP`` count.
    """
    cursor.expect("[", _EXAMPLE)
    start = cursor.token
    span = _span(cursor)
    _refuse(cursor)
    cursor.expect("]", "close the window's bracket after its step")
    return checked(cursor, span, start.start)


def _span(cursor: Cursor) -> Span:
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
    if cursor.token.word in ("NOW", "FROM"):
        _refuse_now(cursor)
    if cursor.token.word in _REFUSED:
        cursor.fail(*_REFUSED[cursor.token.word])
    if cursor.token.kind == "variable":
        cursor.fail(
            "a window can't have variables: the plan is made before the data come", _EXAMPLE
        )


def _refuse_now(cursor: Cursor) -> None:
    """Offer what is meant by ``NOW - 5 S SLIDE 1 S`` and ``FROM NOW-PT30M TO NOW STEP PT5M``."""
    first = cursor.token
    words = [cursor.ahead(at) for at in range(12)]
    closed = next((at for at, token in enumerate(words) if token.text == "]"), len(words))
    words = [token for token in words[:closed] if token.word != "FROM"]
    if len(words) < 3 or words[0].word != "NOW" or words[1].text != "-":
        return
    rest = [at for at, token in enumerate(words) if token.word in ("TO", "STEP", "SLIDE")]
    ends = [*rest, len(words)]
    told = [_joined(words[2 : ends[0]])]
    past = any(words[at].word == "TO" and at + 2 < end for at, end in pairwise(ends))
    for at, end in pairwise(ends):
        if words[at].word != "TO":
            told.append(_joined(words[at + 1 : end]))
    if not past and all(not isinstance(duration(text), str) for text in told):
        step = f" STEP {told[1]}" if len(told) > 1 else ""
        cursor.document.fail(
            "a window is written by its width, up to the time at which it is answered",
            first.start,
            f"write [RANGE {told[0]}{step}]",
        )


def _joined(words: Sequence[Token]) -> str:
    text = "".join(token.text for token in words)
    return text if text[:1] in "Pp" else text.lower()


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
