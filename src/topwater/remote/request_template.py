"""Requests with places for keys. A key is data: it can't change where a request goes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from topwater.errors import QueryError
from topwater.model import Millis
from topwater.remote.service import filled

LONGEST = 4_096
"""Longer keys, as they are written in a request, are not asked for: no service takes them."""

_PLACE = re.compile(r"\$\{\w+\}|\{(\w*)\}")
_FIX = "write {key} for one key a request or {keys} for many, in the url or in the body"
_IN_TEXT = re.compile(r"\{(keys?|now)\}")


@dataclass(frozen=True, slots=True)
class Template:
    """An address and perhaps a JSON body, with ``{key}`` or ``{keys}`` in them.

    ``{now}`` is the time as of which is asked, in milliseconds.

    Examples
    --------
    >>> Template.of("http://api/users/{key}", ",", None).filled({"a/b?c": "a/b?c"})
    ('http://api/users/a%2Fb%3Fc', None)
    >>> Template.of("http://api/", ",", {"ids": "{keys}"}).filled({"1": 1, "2": 2})
    ('http://api/', b'{"ids": [1, 2]}')
    >>> Template.of("http://api/{key}?at={now}", ",", None).filled({"a": "a"}, 60_000)
    ('http://api/a?at=60000', None)
    """

    url: str = field(repr=False)
    separator: str
    body: Any
    many: bool
    timed: bool = False

    @staticmethod
    def of(url: str, separator: Any, body: Any) -> Template:
        """A checked template."""
        if isinstance(body, str | bytes):
            try:
                body = json.loads(body)
            except (ValueError, RecursionError):
                raise QueryError(
                    "is not JSON", field="body", fix='give a mapping, as {"ids": "{keys}"}'
                ) from None
        names = _names(url).union(*(_IN_TEXT.findall(text) for text in _texts(body)))
        timed = "now" in names
        names.discard("now")
        if not names:
            raise QueryError("has no place for a key", field="url", fix=_FIX)
        if len(names) > 1:
            raise QueryError("has both {key} and {keys}", field="url", fix="keep one of them")
        if (
            not isinstance(separator, str)
            or not separator
            or quote(separator, "&=,;|:") != separator
        ):
            raise QueryError(
                f"{separator!r} can't stand between keys",
                field="separator",
                fix='use "," or "&id="',
            )
        return Template(url, separator, body, names == {"keys"}, timed)

    def can_hold(self, key: str) -> bool:
        """Whether a request can ask for this key, and for nothing else by it.

        A service would take a key with the separator in it for two keys; and servers on the way
        resolve ``..`` in a path even when the slashes beside it are encoded.
        """
        try:
            length = len(quote(key, safe=""))
        except UnicodeEncodeError:
            return False
        if not 0 < length <= LONGEST:
            return False
        if self.many and "&" not in self.separator and self.separator in key:
            return self._typed
        in_path = "{key" in self.url.partition("?")[0]
        return not (in_path and {".", ".."} & set(re.split(r"[/\\]", key)))

    @property
    def _typed(self) -> bool:
        """Whether keys are only in JSON lists, where nothing separates them but JSON itself."""
        return not _names(self.url) - {"now"} and all(
            "{keys}" not in text or text == "{keys}" for text in _texts(self.body)
        )

    def filled(
        self, keys: Mapping[str, Any], now: Millis | None = None
    ) -> tuple[str, bytes | None]:
        """The address and the body for these keys, by their texts, as of ``now``."""
        joined = self.separator.join(quote(text, safe="") for text in keys)

        def part(found: re.Match[str]) -> str:
            if not found[1]:
                return filled(found[0], encoded=True)
            return str(now) if found[1] == "now" else joined

        url = _PLACE.sub(part, self.url)
        if self.body is None:
            return url, None
        return url, json.dumps(self._replaced(self.body, keys, now)).encode()

    def _replaced(self, part: Any, keys: Mapping[str, Any], now: Millis | None) -> Any:
        if isinstance(part, Mapping):
            return {name: self._replaced(value, keys, now) for name, value in part.items()}
        if isinstance(part, list | tuple):
            return [self._replaced(value, keys, now) for value in part]
        whole = {"{keys}": list(keys.values()), "{key}": next(iter(keys.values())), "{now}": now}
        if not isinstance(part, str):
            return part
        if part in whole:
            return whole[part]
        # All at once: a key may itself read like a place.
        joined = self.separator.join(keys)
        return _IN_TEXT.sub(lambda found: str(now) if found[1] == "now" else joined, part)


def _names(url: str) -> set[str]:
    """The places in an address; braces can't stand there for anything else."""
    found = {each[1] for each in _PLACE.finditer(url) if each[1] is not None}
    if unknown := sorted(found - {"key", "keys", "now"}):
        raise QueryError(f"{{{unknown[0]}}} is unknown", field="url", fix=_FIX)
    if re.search(r"[{}]", _PLACE.sub("", url)):
        raise QueryError("has a brace without its partner", field="url", fix=_FIX)
    if "#" in url:
        raise QueryError("has a part after #, which is never sent", field="url", fix="leave it out")
    return found


def _texts(body: Any) -> Iterator[str]:
    """All texts in a body, other than names."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, Mapping):
        for value in body.values():
            yield from _texts(value)
    elif isinstance(body, list | tuple):
        for value in body:
            yield from _texts(value)
