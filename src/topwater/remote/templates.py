"""Requests with places for keys. A key is data: it can't change where a request goes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from topwater.errors import QueryError
from topwater.remote.services import filled

LONGEST = 4_096
"""Longer keys, as they are written in a request, are not asked for: no service takes them."""

_PLACE = re.compile(r"\$\{\w+\}|\{(\w*)\}")
_FIX = "write {key} for one key a request or {keys} for many, in the url or in the body"


@dataclass(frozen=True, slots=True)
class Template:
    """An address and perhaps a JSON body, with ``{key}`` or ``{keys}`` in them.

    Examples
    --------
    >>> Template.of("http://api/users/{key}", ",", None).filled({"a/b?c": "a/b?c"})
    ('http://api/users/a%2Fb%3Fc', None)
    >>> Template.of("http://api/", ",", {"ids": "{keys}"}).filled({"1": 1, "2": 2})
    ('http://api/', b'{"ids": [1, 2]}')
    """

    url: str = field(repr=False)
    separator: str
    body: Any
    many: bool

    @staticmethod
    def of(url: str, separator: Any, body: Any) -> Template:
        """A checked template."""
        if isinstance(body, str | bytes):
            try:
                body = json.loads(body)
            except ValueError:
                raise QueryError(
                    "is no JSON", field="body", fix='give a mapping, as {"ids": "{keys}"}'
                ) from None
        names = _names(url) | {
            name for text in _texts(body) for name in ("key", "keys") if f"{{{name}}}" in text
        }
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
        return Template(url, separator, body, names == {"keys"})

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
        return not _names(self.url) and all(
            "{keys}" not in text or text == "{keys}" for text in _texts(self.body)
        )

    def filled(self, keys: Mapping[str, Any]) -> tuple[str, bytes | None]:
        """The address and the body for these keys, by their texts."""
        joined = self.separator.join(quote(text, safe="") for text in keys)

        def part(found: re.Match[str]) -> str:
            return joined if found[1] else filled(found[0], encoded=True)

        url = _PLACE.sub(part, self.url)
        if self.body is None:
            return url, None
        return url, json.dumps(self._replaced(self.body, keys)).encode()

    def _replaced(self, part: Any, keys: Mapping[str, Any]) -> Any:
        if isinstance(part, Mapping):
            return {name: self._replaced(value, keys) for name, value in part.items()}
        if isinstance(part, list | tuple):
            return [self._replaced(value, keys) for value in part]
        if part == "{keys}":
            return list(keys.values())
        if part == "{key}":
            return next(iter(keys.values()))
        if isinstance(part, str):
            return part.replace("{keys}" if self.many else "{key}", self.separator.join(keys))
        return part


def _names(url: str) -> set[str]:
    """The places in an address; braces can't stand there for anything else."""
    found = {each[1] for each in _PLACE.finditer(url) if each[1] is not None}
    if unknown := sorted(found - {"key", "keys"}):
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
