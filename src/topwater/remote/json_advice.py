"""Which path was probably meant, when one leads to no number in a reply."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from topwater.model import number_text
from topwater.remote.json_path import EACH, KEY, Path
from topwater.remote.key_values import number

_MOST_PLACES = 2_000
_DEEPEST = 16
_NEAR = 0.6
_LISTED = 5
_LONGEST = 60
_PLAIN = re.compile(r"[^\s.\[\]{}\"'$][^\s.\[\]{}\"']*")


def advice(
    document: Any, wanted: Path, key: str, field: str = "value", *, there: bool = False
) -> str:
    """What to write instead of a path: the nearest that leads to a number, or all of them.

    Parameters
    ----------
    document
        The reply.
    wanted
        The path that leads to no number.
    key
        The key that was asked for, which may be a name in the reply.
    field
        The setting.
    there
        Whether the path leads to something, which is not a number: then the path may be right, and
        only this key has none.

    Examples
    --------
    >>> advice({"id": "x", "data": {"rating": 4.5}}, Path.parse("ratign"), "x")
    'did you mean value = "data.rating"? There is 4.5'
    >>> advice({"name": "x"}, Path.parse("rating"), "x")
    'there is no number anywhere in the reply: check the address'
    """
    found: dict[str, float] = {}
    for path, leaf in _leaves(document, wanted, key):
        if np.isfinite(value := number(leaf)):
            found.setdefault(path, value)
    if not found:
        other = "name a key that has a number there" if there else "check the address"
        return f"there is no number anywhere in the reply: {other}"
    near = _nearest(wanted, list(found), sole=not there)
    if near is not None:
        return f"did you mean {field} = {_quoted(near)}? There is {number_text(found[near])}"
    listed = [f"{path} ({number_text(value)})" for path, value in list(found.items())[:_LISTED]]
    more = ", …" if len(found) > _LISTED else ""
    other = "name a key that has a number there, or " if there else ""
    return f"{other}use a path to a number: {', '.join(listed)}{more}"


def _quoted(path: str) -> str:
    return json.dumps(path, ensure_ascii=False) if '"' not in path else f"'{path}'"


def _leaves(document: Any, wanted: Path, key: str) -> Iterator[tuple[str, Any]]:
    """All values that are neither lists nor objects, with their paths; breadth first."""
    each, keyed = EACH in wanted.steps, KEY in wanted.steps
    level: list[tuple[str, Any]] = [("", document)]
    seen = 0
    for _ in range(_DEEPEST):
        below: list[tuple[str, Any]] = []
        for path, part in level:
            seen += 1
            if seen > _MOST_PLACES:
                return
            if isinstance(part, dict):
                below += [(_named(path, name, key, keyed), part[name]) for name in part]
            elif isinstance(part, list):
                free = each and "[*]" not in path
                below += [
                    (f"{path}[*]" if free else f"{path}[{at}]", item)
                    for at, item in enumerate(part[:20])
                ]
            else:
                yield path or ".", part
        level = below


def _named(path: str, name: str, key: str, keyed: bool) -> str:
    if keyed and name == key and "{key}" not in path:
        step = "{key}"
    elif _PLAIN.fullmatch(name) and name.isprintable():
        step = name
    else:
        return f"{path}[{json.dumps(name, ensure_ascii=not name.isprintable())}]"
    return f"{path}.{step}" if path else step


def _nearest(wanted: Path, paths: list[str], *, sole: bool) -> str | None:
    """The path whose last name is the same, or nearly; then the one that looks nearly the same.

    If ``sole``, one that is alone is meant, whatever it looks like.
    """
    name, text = _last_name(wanted.text), _plain(wanted.text)
    same = [path for path in paths if _last_name(path) == name]
    if same:
        return max(same, key=lambda path: _likeness(text, _plain(path)))
    by_name = max(paths, key=lambda path: _likeness(name, _last_name(path)))
    if _likeness(name, _last_name(by_name)) >= _NEAR:
        return by_name
    by_path = max(paths, key=lambda path: _likeness(text, _plain(path)))
    alone = sole and len(paths) == 1
    return by_path if alone or _likeness(text, _plain(by_path)) >= _NEAR else None


def _last_name(path: str) -> str:
    names = [each for each in _plain(path).split() if not each.isdecimal()]
    return names[-1] if names else ""


def _plain(path: str) -> str:
    """The names of a path, without what stands between them."""
    return " ".join(re.findall(r"\w+", path.casefold()))[-_LONGEST:]


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()
