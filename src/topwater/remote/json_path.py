"""Where in a JSON document a value stands: a small path language, checked when it is built.

::

    followers              a name
    data.user.followers    names inside names
    items[0].id            a place in a list, from 0
    items[*].id            every place in a list
    counts.{key}           the name that is the key itself
    ["strange.name"]       a name with other characters, quoted as in JSON
    .                      the whole document

JSONPath's ``$`` for the whole document may stand before it all: ``$.followers`` is ``followers``.
A name that is ``$`` itself is quoted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from topwater.errors import QueryError

Step = str | int | Literal[b"*", b"key"]
"""A name, a place, or one of two marks; marks are bytes, so that no name is taken for one."""

EACH: Final = b"*"
KEY: Final = b"key"

_MARKED: Final[tuple[list[bytes], ...]] = ([], [EACH], [KEY], [KEY, EACH])
"""What a path may have of them: a list of the values of a key stands below its name."""

_STEP = re.compile(
    r"""(?P<dot>\.)?(?:
        (?P<key>\{key\}) | (?P<name>[^\s.\[\]{}"']+)
        | \[(?:(?P<each>\*)|(?P<place>\d{1,9})|(?P<quoted>"(?:[^"\\]|\\.)*"))\]
    )""",
    re.VERBOSE,
)


class Misfit(ValueError):
    """A document that has no list or object where the path needs one."""


@dataclass(frozen=True, slots=True)
class Path:
    """A way through a JSON document.

    Examples
    --------
    >>> Path.parse("data.users[*].id").steps
    ('data', 'users', b'*', 'id')
    >>> list(Path.parse("a[0]").values({"a": [7]}))
    [7]
    >>> Path.parse("$.a[0]").steps
    ('a', 0)
    >>> Path.parse("a..b")
    Traceback (most recent call last):
    ...
    topwater.errors.QueryError: value: 'a..b' can't be read from 'a' on
      fix: write names and places, as data.items[*].followers
    """

    text: str
    steps: tuple[Step, ...]

    @staticmethod
    def parse(text: Any, field: str = "value") -> Path:
        """The path that ``text`` describes."""
        if isinstance(text, str) and text in (".", "$", "$."):
            return Path(text, ())
        steps: list[Step] = []
        at = start = _root(text)
        while isinstance(text, str) and at < len(text):
            found = _STEP.match(text, at)
            if found is None or bool(found["dot"]) != _dotted(found, first=at == start):
                break
            steps.append(_step(found, field))
            at = found.end()
        if not isinstance(text, str) or at < len(text) or not steps:
            rest = (
                f" from {text[max(0, at - 1) :][:1]!r} on" if isinstance(text, str) and at else ""
            )
            raise QueryError(
                f"{text!r} can't be read{rest}",
                field=field,
                fix="write names and places, as data.items[*].followers",
            )
        if [step for step in steps if isinstance(step, bytes)] not in _MARKED:
            raise QueryError(
                f"{text!r} has more than one [*] or {{key}}", field=field, fix="keep one of them"
            )
        return Path(text, tuple(steps))

    def split(self, mark: bytes) -> tuple[Path, Path] | None:
        """What is before and after ``mark``; None if it is not there."""
        if mark not in self.steps:
            return None
        at = self.steps.index(mark)
        return Path(self.text, self.steps[:at]), Path(self.text, self.steps[at + 1 :])

    def values(self, document: Any) -> Iterator[Any]:
        """What is found: nothing or one value, or several with ``[*]``."""
        if (halves := self.split(EACH)) is not None:
            for part in halves[0].container(document, list):
                yield from halves[1].values(part)
            return
        for step in self.steps:
            if isinstance(step, int):
                if not isinstance(document, list) or step >= len(document):
                    return
            elif not isinstance(document, dict) or step not in document:
                return
            document = document[step]
        yield document

    def container(self, document: Any, kind: type[Any]) -> Any:
        """The list or object at the end of the path; its absence makes the document useless."""
        found = next(self.values(document), None)
        if not isinstance(found, kind):
            raise Misfit(f"no {kind.__name__} at {self.text}")
        return found


def _root(text: Any) -> int:
    """Where a path begins: after the mark that JSONPath has for the whole document."""
    if not isinstance(text, str):
        return 0
    return 2 if text.startswith("$.") else 1 if text.startswith("$[") else 0


def _dotted(found: re.Match[str], *, first: bool) -> bool:
    """Names after the first have a dot before them, places in lists have none."""
    return not first and (found["name"] is not None or found["key"] is not None)


def _step(found: re.Match[str], field: str) -> Step:
    if found["name"] is not None:
        return found["name"]
    if found["key"] is not None:
        return KEY
    if found["each"] is not None:
        return EACH
    if found["place"] is not None:
        return int(found["place"])
    try:
        return str(json.loads(found["quoted"]))
    except ValueError:
        raise QueryError(
            f"{found['quoted']} is not a JSON string", field=field, fix='write it as ["a.b"]'
        ) from None
