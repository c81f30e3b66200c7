"""Names that people write: the error for an unknown one suggests the nearest that is known."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from topwater.errors import QueryError, shortened
from topwater.redaction import shown_path

_LONGEST = 40
"""More characters than this are not compared: the time grows with their square."""

_MOST = 5_000
"""More names than this are not compared."""

_SHOWN = 200
_PRIVATE = frozenset(
    {"body", "connect_args", "endpoint", "headers", "options", "password", "servers", "settings"}
    | {"url", "user"}
)
"""Settings whose values may hold a secret, whatever is wrong with them."""


def shown(value: object, field: str = "") -> str:
    """A value as messages show it: not at any length, whatever it is, and never a secret.

    Examples
    --------
    >>> shown({"a": [1, "b"]}), len(shown([["x"] * 1_000] * 1_000))
    ("{'a': [1, 'b']}", 200)
    >>> shown("hush", "source.headers")
    'a str'
    """
    if _PRIVATE.intersection(field.split(".")) and not _empty(value):
        return f"a {type(value).__name__}"
    text = ""
    try:
        for piece in _pieces(value):
            text += piece
            if len(text) > _SHOWN:
                break
    except ValueError:  # Python writes no number of thousands of digits
        return f"a {type(value).__name__} that is too long to show"
    return shortened(text, _SHOWN)


def _empty(value: object) -> bool:
    # An array can't say whether it is true.
    return value is None or (isinstance(value, str | bytes | list | tuple | dict) and not value)


def _pieces(value: object) -> Iterator[str]:
    """What ``repr`` gives, bit by bit: the whole may not fit in memory."""
    if type(value) is str:
        yield repr(shown_path(value[: 10 * _SHOWN])[: _SHOWN + 1])
    elif type(value) is bytes:
        yield repr(value[: _SHOWN + 1])
    elif type(value) is list:
        yield from _separated("[", map(_pieces, value), "]")
    elif type(value) is tuple:
        yield from _separated("(", map(_pieces, value), ",)" if len(value) == 1 else ")")
    elif type(value) is dict:
        pairs = (itertools.chain(_pieces(k), [": "], _pieces(v)) for k, v in value.items())
        yield from _separated("{", pairs, "}")
    else:
        yield repr(value)


def _separated(start: str, parts: Iterable[Iterator[str]], end: str) -> Iterator[str]:
    yield start
    for number, part in enumerate(parts):
        yield ", " if number else ""
        yield from part
    yield end


def nearest(name: object, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that was probably meant; None if none is near.

    Examples
    --------
    >>> nearest("polcy", ["policy", "budget"]), nearest("x", ["policy", "budget"])
    ('policy', None)
    >>> nearest("rafp", ["rasf", "rapf"])  # of equally near ones, that with two letters swapped
    'rapf'
    """
    if not isinstance(name, str):
        return None
    # Capitals are told apart nowhere, so that LOG is near to log; of equals the first stays.
    some = list(itertools.islice(known, _MOST))
    plain = {each[:_LONGEST].casefold(): each for each in reversed(some)}
    wanted = name[:_LONGEST].casefold()
    close = difflib.get_close_matches(wanted, plain, n=3, cutoff=cutoff)
    swapped = [each for each in close if sorted(each) == sorted(wanted)]
    return plain[(swapped or close)[0]] if close else None


def suggestion(name: object, known: Iterable[str], otherwise: str = "") -> str:
    """What to write instead of a name that is not known, or what to do otherwise.

    Examples
    --------
    >>> suggestion("polcy", ["policy", "budget"])
    'did you mean policy?'
    >>> suggestion("x", ["policy", "budget"])
    'use one of: policy, budget'
    >>> suggestion("buget", ["policy", "budget"], "leave it out")
    'did you mean budget? Or leave it out'
    """
    names = list(known)
    near = nearest(name, names)
    if near is not None:
        return f"did you mean {near}?" + (f" Or {otherwise}" if otherwise else "")
    return f"use one of: {', '.join(names)}" + (f"; or {otherwise}" if otherwise else "")


def unknown(name: object, known: Iterable[str], field: str) -> QueryError:
    """The error for a name that is not known, to be raised."""
    return QueryError(f"{shown(name, field)} is unknown", field=field, fix=suggestion(name, known))


def choice_of(value: Any, choices: Iterable[str], field: str) -> str:
    """One of some names."""
    names = list(choices)
    if not isinstance(value, str) or value not in names:
        raise unknown(value, names, field)
    return value


def require_known(
    given: Iterable[Any], known: Iterable[str], field: str = "", of: str = ""
) -> None:
    """Raise for the first name that is not known.

    Parameters
    ----------
    given
        The names of settings.
    known
        All that there are.
    field
        The setting that they belong to.
    of
        What has these settings, for the message.
    """
    names = list(known)
    for name in given:
        if name not in names:
            problem = f"no such setting of {of}" if of else "no such setting"
            raise QueryError(problem, field=_inside(field, name), fix=suggestion(name, names))


def require_given(
    given: Iterable[Any], needed: Iterable[str], field: str = "", of: str = ""
) -> None:
    """Raise for the first name that is needed and was not given."""
    names = list(given)
    for name in needed:
        if name not in names:
            fix = f"{of} needs it" if of else f"give {name}"
            raise QueryError("is missing", field=_inside(field, name), fix=fix)


def text_of(value: Any, field: str, fix: str = "write it in quotes") -> str:
    """Text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise QueryError(f"must be text, not {shown(value, field)}", field=field, fix=fix)
    return value


def texts_of(value: Any, field: str, fix: str) -> tuple[str, ...]:
    """One text or more."""
    if not isinstance(value, list | tuple) or not value:
        told = shown(value, field)
        raise QueryError(f"must be a list of names, not {told}", field=field, fix=fix)
    return tuple(text_of(each, field, fix) for each in value)


def column_of(value: Any, field: str, fix: str = "give the column's name") -> str:
    """The name of a column."""
    if type(value) is not str or not value:
        raise QueryError(f"{shown(value, field)} does not name a column", field=field, fix=fix)
    return value


def columns_of(value: Any, field: str) -> str | tuple[str, ...]:
    """The name of a column, or the names of several; a list of one is that one.

    Examples
    --------
    >>> columns_of("who", "key"), columns_of(["who"], "key"), columns_of(["who", "where"], "key")
    ('who', 'who', ('who', 'where'))
    """
    if not isinstance(value, list | tuple):
        return column_of(value, field, fix="give the column's name, or a list of names")
    names = [column_of(each, field, fix="give the names of columns") for each in value]
    if not names:
        raise QueryError("names no column", field=field, fix="name one column or more")
    for at, name in enumerate(names):
        if name in names[:at]:
            raise QueryError(f"names {name!r} twice", field=field, fix="name each column once")
    return tuple(names) if len(names) > 1 else names[0]


def _inside(field: str, name: object) -> str:
    return f"{field}.{name}" if field else str(name)
