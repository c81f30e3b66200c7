"""Windows in square brackets, read on their own."""

from __future__ import annotations

import pytest

from topwater.errors import QueryError
from topwater.rspql.parser.cursor import Cursor, Names
from topwater.rspql.parser.tokens import Document
from topwater.rspql.parser.window_clause import Span, bracketed


def read(text: str) -> tuple[Span, str]:
    """The window, and what stands after it."""
    document = Document(text)
    cursor = Cursor(document, Names(document))
    return bracketed(cursor), cursor.token.text


@pytest.mark.parametrize(
    ("window", "span"),
    [
        ("[RANGE PT9M STEP PT3M]", Span(540_000, 180_000, "time")),
        ("[RANGE PT9M SLIDE PT3M]", Span(540_000, 180_000, "time")),
        ("[SLIDE 30s STEP 10s]", Span(30_000, 10_000, "time")),
        ("[RANGE 9 min STEP 3 min]", Span(540_000, 180_000, "time")),
        ("[range 9m]", Span(540_000, None, "time")),
        ("[RANGE 9m TUMBLING]", Span(540_000, 540_000, "time")),
        ("[RANGE P1D STEP PT12H]", Span(86_400_000, 43_200_000, "time")),
        ("[RANGE PT0.5S STEP 100ms]", Span(500, 100, "time")),
        ("[RANGE 10 STEP 2]", Span(10, 2, "time")),
        ("[NOW - 5 S SLIDE 1 S]", Span(5_000, 1_000, "time")),
        ("[NOW-10 S]", Span(10_000, None, "time")),
        ("[NOW - 1 HOURS SLIDE 10 MINUTES]", Span(3_600_000, 600_000, "time")),
        ("[NOW - 1 M TO NOW - 0 S SLIDE 1 M]", Span(60_000, 60_000, "time")),
        ("[NOW - 2 weeks TO NOW STEP 1 week]", Span(1_209_600_000, 604_800_000, "time")),
        ("[FROM NOW-PT30M TO NOW STEP PT5M]", Span(1_800_000, 300_000, "time")),
        ("[ELEMENTS 100 STEP 20]", Span(100, 20, "count")),
        ("[ELEMENTS 100]", Span(100, None, "count")),
        ("[TRIPLES 50]", Span(50, None, "count")),
        ("[RANGE TRIPLES 50 STEP TRIPLES 5]", Span(50, 5, "count")),
        ("[RANGE BGP 3 STEP 1]", Span(3, 1, "count")),
    ],
)
def test_windows(window: str, span: Span) -> None:
    assert read(f"{window} WHERE") == (span, "WHERE")


@pytest.mark.parametrize(
    ("window", "told"),
    [
        ("[RANGE 0]", "the window is empty"),
        ("[ELEMENTS 0]", "the window is empty"),
        ("[RANGE 5s STEP 0s]", "never move"),
        ("[RANGE 5s STEP 9s]", "step is longer"),
        ("[STEP 5s]", "begins with RANGE"),
        ("[]", "begins with RANGE"),
        ("[RANGE]", "expected a number"),
        ("[RANGE 5s STEP]", "expected a number"),
        ("[RANGE -5s]", "negative"),
        ("[RANGE 5parsecs]", "unit 'parsecs' is unknown"),
        ("[RANGE 5s STEP 1s 2s]", "expected ]"),
        ("[ELEMENTS 5s]", "whole number"),
        ("[ELEMENTS 2.5]", "whole number"),
        ("[NOW]", "one instant"),
        ("[NOW - S]", "expected a number"),
        ("[NOW - 5 S SLIDE 9 S]", "step is longer"),
        ("[RANGE 5s EMIT ON_CLOSE]", "when they close"),
        ("[RANGE 5s TICK TUPLE_DRIVEN]", "event time"),
        ("", r"expected \["),
    ],
)
def test_windows_refused(window: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        read(window)


@pytest.mark.parametrize(
    ("window", "fix"),
    [
        ("[FROM NOW - 30min TO NOW - 10min]", "delay the stream"),
        ("[NOW - 30 S TO NOW - 10 S SLIDE 5 S]", "delay the stream"),
        ("[FROM 5s]", "delay the stream"),
        ("[NOW - 5 S TO 9 S]", "write TO NOW"),
        ("[NOW SLIDE 5 S]", "give it a width"),
        ("[NOW]", "give it a width"),
        ("[RANGE 5s REPORT ON_CLOSE]", "REPORT"),
        ("[RANGE 5s LATENESS 3s]", "lateness"),
        ("[RANGE PAST 5s]", "[RANGE PT9M STEP PT3M]"),
        ("[FUTURE 5s]", "[RANGE PT9M STEP PT3M]"),
        ("[RANGE ?w]", "[RANGE PT9M STEP PT3M]"),
    ],
)
def test_what_other_dialects_have_is_refused_with_what_to_write(window: str, fix: str) -> None:
    with pytest.raises(QueryError) as caught:
        read(window)
    assert fix in caught.value.fix
