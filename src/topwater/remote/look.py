"""One look at what a source says of a key: the reply, and what was read from it.

Reaching a service does not show that its replies can be read. So a check asks for a real key, and
says what came, and what of it is taken for the value.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from topwater.errors import SourceError, TopwaterError
from topwater.model import Fetched, Key, KeyArray, number_text
from topwater.problems import in_words
from topwater.protocols import Source
from topwater.redaction import redacted
from topwater.remote.fetched_values import valid, where_it_broke

T = TypeVar("T")

_LONGEST = 300
_SHORTEST_SECRET = 4
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Look:
    """What a source says of one key.

    Attributes
    ----------
    key, value
        The key that was asked for, and the number that it has.
    reply
        What the source said, shortened and without secrets; empty if it can't be told.
    where
        Where in the reply the value stands: a path, a column or a variable.
    values
        What it has by name, from a source that gives several values.

    Examples
    --------
    >>> print(Look("ann", 4.5, '{"rating": 4.5}', "rating"))
    the key 'ann' has 4.5, read at rating in {"rating": 4.5}
    >>> print(Look("ann", 4.5, values={"rating": 4.5, "city": "Rome", "age": None}))
    the key 'ann' has rating 4.5, city 'Rome', no age
    """

    key: Key
    value: float
    reply: str = ""
    where: str = ""
    values: Mapping[str, float | str | None] = field(default_factory=dict)

    def __str__(self) -> str:
        """One line."""
        place = f", read at {self.where} in {self.reply}" if self.reply else ""
        told = ", ".join(_value_in_words(name, value) for name, value in self.values.items())
        return f"the key {key_shown(self.key)} has {told or number_text(self.value)}{place}"


class NoValue(SourceError):
    """A source that answered, and has no usable value for the key: another key may have one."""


class UnknownKey(NoValue):
    """A source that says that it does not know the key."""


def checked(source: Source, key: Key | None = None) -> Look | None:
    """What the ``check`` of a source says; with a key also what it says of that key.

    A source whose ``check`` takes no key, or that has none, is asked for the key by its ``fetch``.

    Raises
    ------
    SourceError
        If it can't be reached, or with a key, if it gives no usable value.
    """
    check = getattr(source, "check", None)
    if check is not None:
        if key is not None and _takes_key(check):
            found = _called(lambda: check(key))
            return found if isinstance(found, Look) else looked_up(source, key)
        _called(check)
    return None if key is None else looked_up(source, key)


def _called(call: Callable[[], T]) -> T:
    """What a call of a source gives; what it raises itself is reported without the message."""
    try:
        return call()
    except (TopwaterError, KeyboardInterrupt):
        raise
    except BaseException as error:  # one that ends the process would look like a success
        raise SourceError(
            f"the source {where_it_broke(error)}",
            field="source",
            fix="correct it: topwater.testing.check_source says what a source must do",
        ) from error


def looked_up(source: Source, key: Key) -> Look:
    """What a fetch of one key gives.

    Raises
    ------
    SourceError
        If it is not usable, with the reason.
    """
    names = tuple(getattr(source, "names", ()))
    got = _called(lambda: valid(source.fetch(keys_of(key)), 1, names=names))
    return look_of(got, key)


def look_of(got: Fetched, key: Key, reply: str = "", where: str = "") -> Look:
    """What was fetched for one key.

    Raises
    ------
    SourceError
        If it failed, or has not every number; with the reason, and the name of what is missing.
    """
    reason, missing = _missing(got)
    if reason is not None:
        fix = f"check where {missing} is read, or name a key that has it" if missing else ""
        raise no_value(key, reason, reply, missing, fix)
    values = {name: _plain(column[0]) for name, column in got.columns.items()}
    return Look(key, float(got.values[0]), reply, where, values)


def _missing(got: Fetched) -> tuple[str | None, str]:
    """Why one key has no usable value, and which one it is; None if it has all numbers."""
    if not got.ok[0]:
        return next(iter(got.problems()), ""), ""
    for name, column in got.columns.items():
        if column.dtype != object and not math.isfinite(column[0]):
            told = got.whys.get(name, [""])[0] or (got.reasons()[0] if column is got.values else "")
            return told or "not_found", name
    return next(iter(got.lacks()), None), ""


def _plain(value: Any) -> float | str | None:
    return value if value is None or isinstance(value, str) else float(value)


def _value_in_words(name: str, value: float | str | None) -> str:
    if value is None:
        return f"no {name}"
    return f"{name} {excerpt(repr(value)) if isinstance(value, str) else number_text(value)}"


def no_value(key: Key, reason: str, said: str = "", field: str = "", fix: str = "") -> NoValue:
    """The error for a key without a usable value."""
    kind = UnknownKey if reason == "not_found" else NoValue
    what = f"no usable value for the key {key_shown(key)}: {in_words(reason)}"
    return kind(
        f"{what} in {said}" if said else what,
        field=field,
        fix=fix or "check the source's settings, or name a key that it knows",
    )


def key_shown(key: Key) -> str:
    """A key as messages show it; an IRI in full, as it is a name."""
    return excerpt(repr(key))


def keys_of(key: Key) -> KeyArray:
    """One key, as sources take it."""
    if isinstance(key, int) and not isinstance(key, bool) and -(2**63) <= key < 2**63:
        return np.array([key], np.int64)
    found = np.empty(1, object)
    found[0] = key  # a tuple is one key
    return found


def excerpt(text: str | bytes, secrets: Iterable[str] = ()) -> str:
    r"""The beginning of a foreign text: on one line, without secrets, steering nothing.

    Examples
    --------
    >>> excerpt(b'{"token": "s3cret",\n "n": 1}\x1b[2J', ["s3cret"])
    '{"token": "***", "n": 1}\\x1b[2J'
    """
    # Not all of it, as it may be megabytes; but secrets must not be cut before they are found.
    told = text[: 64 * _LONGEST]
    told = told.decode("utf-8", "replace") if isinstance(told, bytes) else told
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            told = told.replace(secret, "***")
    told = _BLANKS.sub(" ", told).strip()
    told = redacted(told if len(told) <= _LONGEST else f"{told[: _LONGEST - 1]}…")
    return "".join(each if each.isprintable() else _escaped(each) for each in told)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _takes_key(check: Any) -> bool:
    try:
        parameters = inspect.signature(check).parameters
    except (TypeError, ValueError):
        return False
    return "key" in parameters
