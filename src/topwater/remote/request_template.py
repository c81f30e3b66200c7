"""Requests with places for keys. A key is data: it can't change where a request goes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from topwater.errors import QueryError
from topwater.model import Millis, plain_key
from topwater.model.key_form import BETWEEN, lowered
from topwater.remote.service import filled
from topwater.validation import nearest

LONGEST = 4_096
"""Longer keys, as they are written in a request, are not asked for: no service takes them."""

_PLACE = re.compile(r"\$\{\w+\}|\{(\w*)\}")
_FIX = "write {key} for one key a request or {keys} for many, in the url or in the body"


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
    parts: tuple[str, ...] = ()

    @staticmethod
    def of(url: str, separator: Any, body: Any, parts: tuple[str, ...] = ()) -> Template:
        """A checked template; ``parts`` are the columns of keys that have several."""
        if isinstance(body, str | bytes):
            try:
                body = json.loads(body)
            except (ValueError, RecursionError):
                raise QueryError(
                    "is not JSON", field="body", fix='give a mapping, as {"ids": "{keys}"}'
                ) from None
        inside = _in_text(parts)
        names = _names(url, parts).union(*(inside.findall(text) for text in _texts(body)))
        timed = "now" in names
        names.discard("now")
        if parts:
            _check_parts(names, parts)
        elif not names:
            raise QueryError("has no place for a key", field="url", fix=_FIX)
        if len(names) > 1 and not parts:
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
        return Template(url, separator, body, names == {"keys"}, timed, parts)

    def can_hold(self, key: str) -> bool:
        """Whether a request can ask for this key, and for nothing else by it.

        A service would take a key with the separator in it for two keys; and servers on the way
        resolve ``..`` in a path even when the slashes beside it are encoded.
        """
        if self.parts:
            places = {f"{{{part}}}" for part in self.parts}
            in_path = any(place in self.url.partition("?")[0] for place in places)
            return all(_fits(part, in_path=in_path) for part in _pieces(key))
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
        pieces = self._by_name(keys)

        def part(found: re.Match[str]) -> str:
            if not found[1]:
                return filled(found[0], encoded=True)
            if found[1] in pieces:
                return quote(pieces[found[1]], safe="")
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
        if self.parts:
            told = map(plain_key, next(iter(keys.values())))
            whole |= {f"{{{name}}}": value for name, value in zip(self.parts, told, strict=True)}
        if not isinstance(part, str):
            return part
        if part in whole:
            return whole[part]
        # All at once: a key may itself read like a place.
        texts = {"key": self.separator.join(keys), "now": str(now), **self._by_name(keys)}
        texts["keys"] = texts["key"]
        return _in_text(self.parts).sub(lambda found: texts[found[1]], part)

    def _by_name(self, keys: Mapping[str, Any]) -> dict[str, str]:
        """The parts of a key of several columns."""
        return dict(zip(self.parts, _pieces(next(iter(keys))), strict=True)) if self.parts else {}


def _pieces(key: str) -> list[str]:
    """The texts of the parts, from that of the key."""
    return [lowered(part) for part in key.split(BETWEEN)]


def _fits(part: str, *, in_path: bool) -> bool:
    try:
        length = len(quote(part, safe=""))
    except UnicodeEncodeError:
        return False
    if not in_path:
        return length <= LONGEST
    return 0 < length <= LONGEST and not {".", ".."} & set(re.split(r"[/\\]", part))


def _check_parts(names: set[str], parts: tuple[str, ...]) -> None:
    """Raise unless each part has a place, and nothing else has one."""
    if {"key", "keys"} & names:
        raise QueryError(
            "has a place for whole keys beside those for their parts",
            field="url",
            fix=f"write {', '.join(f'{{{part}}}' for part in parts)}",
        )
    if missing := [part for part in parts if part not in names]:
        raise QueryError(
            f"has no place for {missing[0]!r}, a part of the key",
            field="url",
            fix=f"write {{{missing[0]}}} in the url or in the body",
        )


def _in_text(parts: tuple[str, ...]) -> re.Pattern[str]:
    """The places in texts of a body."""
    names = "|".join(["keys?", "now", *map(re.escape, parts)])
    return re.compile(rf"\{{({names})\}}")


def _names(url: str, parts: tuple[str, ...] = ()) -> set[str]:
    """The places in an address; braces can't stand there for anything else."""
    found = {each[1] for each in _PLACE.finditer(url) if each[1] is not None}
    if unknown := sorted(found - {"key", "keys", "now", *parts}):
        near = nearest(unknown[0], parts)
        fix = _FIX if near is None else f"did you mean {{{near}}}?"
        raise QueryError(f"{{{unknown[0]}}} is unknown", field="url", fix=fix)
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
