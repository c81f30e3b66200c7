"""Why a look-up brought no number: names that are in answers and metrics, so they stay."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

Problem: TypeAlias = Literal[
    "late",  # no time was left, or it did not come by the deadline
    "timeout",  # the service took longer than a request may
    "refused",  # no connection, or no such host
    "dropped",  # the connection ended early
    "limited",  # asked too often: 429
    "server",  # the service failed: 5xx
    "client",  # the request is wrong: other 4xx
    "redirect",  # sent to another host
    "tls",  # the connection is not trusted
    "garbled",  # an answer that can't be read
    "large",  # an answer too large to be read
    "doubled",  # two values for one key
    "rate",  # our own limit leaves no room before the deadline
    "open",  # not asked: it failed too often just before
    "broken",  # the source raised an error
]
"""What can go wrong with a key: it was not answered."""

Lack: TypeAlias = Literal[
    "not_found",  # the source does not know the key
    "null",  # the source knows the key, and says that it has no value
    "no_value",  # there is nothing where the value should be
    "not_a_number",  # there is something else where the value should be
    "other_type",  # a literal that is not of a type of numbers, where types count
]
"""Why a key that was answered has no usable value."""

REASONS: tuple[str, ...] = (*get_args(Problem), *get_args(Lack))
"""All of them. States have their places in this order: new ones go to the end."""

LACKS: tuple[str, ...] = get_args(Lack)

STATED: tuple[str, ...] = ("not_found", "null", "other_type")
"""Lacks that the source itself states. The others may as well be a wrong path or column."""

NEVER = "never"
"""Of a key that was not looked up yet."""

FAILED = "failed"
"""Of a key whose look-up failed for a reason that the source can't name."""

_WORDS = {
    **dict.fromkeys(("", FAILED), "failed, and the source can't say why"),
    NEVER: "never looked up",
    "late": "not there by the deadline",
    "timeout": "timed out",
    "refused": "no connection",
    "dropped": "connection lost",
    "limited": "asked too often (429)",
    "server": "the service failed (5xx)",
    "client": "wrong request (4xx)",
    "redirect": "sent to another host",
    "tls": "the connection is not trusted",
    "garbled": "unreadable reply",
    "large": "reply too large",
    "doubled": "two values for one key",
    "rate": "no room in our own rate limit",
    "open": "not asked, as too many failed before",
    "broken": "the source raised an error",
    "not_found": "key not found",
    "null": "no value (null)",
    "no_value": "nothing where the value should be",
    "not_a_number": "not a number",
    "other_type": "not of a type of numbers",
}


def in_words(reason: str) -> str:
    """A reason as people read it; one that is unknown stays as it is.

    Examples
    --------
    >>> in_words("not_a_number"), in_words("strange")
    ('not a number', 'strange')
    """
    return _WORDS.get(reason, reason)


def tally(reasons: Iterable[tuple[str, int]]) -> str:
    """How often each reason was given, in words, the most frequent first.

    Examples
    --------
    >>> tally([("late", 2), ("no_value", 5)])
    '5 × nothing where the value should be, 2 × not there by the deadline'
    """
    ordered = sorted(reasons, key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{number:,} × {in_words(reason)}" for reason, number in ordered)
