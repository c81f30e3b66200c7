"""Our own clause: ``WITH BUDGET 7 FETCHES POLICY worth SPARE 10 ACCURACY 0.9``.

For a budget without a limit it is ``WITH BUDGET UNLIMITED``; for as few fetches as an accuracy
needs, ``WITH BUDGET AT MOST 50 FETCHES ACCURACY 0.9``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from topwater.errors import QueryError
from topwater.replica.policies import resolve
from topwater.rspql.parser.cursor import Cursor
from topwater.rspql.plan.plan import Refresh

_EXAMPLE = "write WITH BUDGET 7 FETCHES, or WITH DEADLINE PT2S"


def refresh_clause(cursor: Cursor) -> Refresh:
    """What ``WITH`` and the settings after it say."""
    cursor.take()
    said: dict[str, Any] = {}
    while cursor.token.word in _SETTINGS:
        keyword = cursor.token
        name, read = _SETTINGS[cursor.take().word]
        if name in said or (name == "fetches" and "at_most" in said):
            cursor.document.fail(f"{keyword.word} is given twice", keyword.start, "leave one out")
        if name == "fetches" and cursor.skip("AT"):
            name = _at_most(cursor)
        if {name, *said} >= {"fetches", "deadline"}:
            cursor.document.fail(
                "a budget is either a number of fetches or a deadline",
                keyword.start,
                "leave one out: from a deadline the number of fetches follows",
            )
        said[name] = read(cursor)
    if not said:
        cursor.fail("WITH has no setting", _EXAMPLE)
    return Refresh(**said)


def _fetches(cursor: Cursor) -> int | Literal["unlimited"]:
    if cursor.skip("UNLIMITED"):
        return "unlimited"
    if cursor.token.kind == "duration":
        cursor.fail("BUDGET counts fetches", "for a span of time write DEADLINE PT2S")
    number = cursor.whole("BUDGET", _EXAMPLE)
    if not cursor.skip("FETCHES", "FETCH"):
        cursor.fail("BUDGET lacks the word FETCHES", f"write BUDGET {number} FETCHES")
    return number


def _at_most(cursor: Cursor) -> str:
    """The name of what is said by ``BUDGET AT MOST``; the number follows."""
    if not cursor.skip("MOST"):
        cursor.fail("BUDGET AT is followed by MOST", "write BUDGET AT MOST 50 FETCHES ACCURACY 0.9")
    if cursor.token.word == "UNLIMITED":
        cursor.fail("AT MOST needs a number of fetches", "write BUDGET AT MOST 50 FETCHES")
    return "at_most"


def _deadline(cursor: Cursor) -> int:
    at = cursor.token.start
    span = cursor.duration()
    if span == 0:
        cursor.document.fail("a deadline of 0 leaves no time", at, "write DEADLINE PT2S")
    return span


def _policy(cursor: Cursor) -> str:
    first = cursor.token
    name = first.text
    cursor.take()
    # at-bsm and wbm* are several tokens without space between.
    while cursor.token.text and cursor.token.start == first.start + len(name):
        name += cursor.take().text
    name = name.lower()
    try:
        entry, _ = resolve(name)
    except QueryError as error:
        cursor.document.fail(f"the policy {name[:40]!r} is unknown", first.start, error.fix)
    if entry.needs_truth:
        cursor.document.fail(
            f"the policy {name!r} knows the truth, which only an evaluation has",
            first.start,
            "use worth, or one of the published policies",
        )
    return name


def _spare(cursor: Cursor) -> int:
    return cursor.whole("SPARE", "write SPARE 10: so many keys beyond the k best are kept")


def _accuracy(cursor: Cursor) -> float:
    token = cursor.token
    if token.kind not in ("number", "exponent") or not 0 < float(token.text) <= 1:
        cursor.fail(
            f"ACCURACY is above 0 and at most 1, not {token.text[:40]!r}",
            "write ACCURACY 0.9 to ask for nine of ten right",
        )
    return float(cursor.take().text)


_SETTINGS: dict[str, tuple[str, Callable[[Cursor], Any]]] = {
    "BUDGET": ("fetches", _fetches),
    "DEADLINE": ("deadline", _deadline),
    "POLICY": ("policy", _policy),
    "SPARE": ("spare", _spare),
    "ACCURACY": ("accuracy", _accuracy),
}
