"""What a Redis server is asked for keys, and how its replies are read. Keys are data.

RESP, which Redis speaks, tells the length of each argument before the argument: whatever stands
in a key, it is one argument, and no script is ever sent.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from topwater.errors import QueryError
from topwater.remote.found_values import Found
from topwater.remote.json_path import Misfit
from topwater.remote.json_values import Reader
from topwater.remote.key_name import KeyName
from topwater.remote.key_values import NOTHING
from topwater.remote.wanted_values import Places, Wanted, wanted_values
from topwater.validation import flag_of, shown

Command: TypeAlias = tuple[str | bytes, ...]

_PLACE = "{key}"


@dataclass(frozen=True, slots=True)
class Lookup:
    """How values are found: as they are, as fields of a hash, or in a document.

    Examples
    --------
    >>> Lookup.of("price:{key}").commands(["7", "8"])
    [('MGET', b'price:7', b'price:8')]
    >>> Lookup.of("user:{key}", value=["age", "rank"]).commands(["7", "8"])
    [('HMGET', b'user:7', 'age', 'rank'), ('HMGET', b'user:8', 'age', 'rank')]
    >>> Lookup.of("user:{key}", value="age").commands(["7"])
    [('HGET', b'user:7', 'age')]
    >>> Lookup.of("prices", value="{key}").commands(["7", "8"])
    [('HMGET', b'prices', b'7', b'8')]
    """

    key: str
    wanted: tuple[Wanted, ...]
    reader: Reader | None = None
    fields: bool = False
    named: KeyName | None = None

    @staticmethod
    def of(
        key: Any = _PLACE, value: Places | None = None, text: Places | None = None,
        json: bool = False, parts: Sequence[str] | None = None,
    ) -> Lookup:  # fmt: skip
        """A checked look-up; ``parts`` are the columns of keys that have several."""
        if parts is not None:
            named = KeyName.of(key, parts)
            whole = Lookup.of(_PLACE, value, text, json)
            return replace(whole, key=named.template, named=named)
        if not isinstance(key, str) or not key:
            raise QueryError(f"{shown(key)} is not a key", field="key", fix=_KEY)
        in_hash = isinstance(value, str) and value == _PLACE and not flag_of(json, "json")
        if (key.count(_PLACE) != 1) is not in_hash or (in_hash and _PLACE in key):
            raise QueryError("must have one place for the key", field="key", fix=_KEY)
        if flag_of(json, "json"):
            return _of_documents(key, value, text)
        wanted = (Wanted("", ""),) if value is None and text is None else wanted_values(value, text)
        for each in wanted:
            if each.merge is not None:
                fix = "name a field of its hash; a document has several values: json=True"
                raise QueryError("a key of Redis has one value", field=each.setting, fix=fix)
        return Lookup(key, wanted, fields=value is not None and not in_hash)

    def name(self, text: str) -> bytes:
        """What a key is called on the server. ``UnicodeEncodeError`` if it can't be."""
        if self.named is not None:
            return self.named.filled(text).encode()
        return self.key.replace(_PLACE, text).encode()

    def can_name(self, text: str) -> bool:
        """Whether a key has a name there, which no other key has."""
        plain = not any("\ud800" <= each <= "\udfff" for each in text)
        return plain and (self.named is None or self.named.fits(text))

    @property
    def in_hash(self) -> bool:
        """Whether all keys are fields of one hash."""
        return self.named is None and _PLACE not in self.key

    def commands(self, texts: Sequence[str]) -> list[Command]:
        """What to send for keys, all at once."""
        if self.in_hash:
            return [("HMGET", self.key.encode(), *(text.encode() for text in texts))]
        if not self.fields:
            return [("MGET", *map(self.name, texts))]
        verb = "HGET" if len(self.wanted) == 1 else "HMGET"
        places = [each.place for each in self.wanted]
        return [(verb, self.name(text), *places) for text in texts]

    def read(self, texts: Sequence[str], replies: Sequence[Any], found: Found) -> dict[str, Any]:
        """Take note of what came; what remains are errors by their keys."""
        if not self.fields:
            (reply,) = replies
            replies = [reply] * len(texts) if isinstance(reply, Exception) else reply
        lost: dict[str, Any] = {}
        for text, reply in zip(texts, replies, strict=True):
            if isinstance(reply, Exception):
                lost[text] = reply
            elif self.reader is not None:
                self._read_document(text, reply, found, lost)
            else:
                _add(text, reply, found)
        return lost

    def _read_document(self, text: str, reply: Any, found: Found, lost: dict[str, Any]) -> None:
        if reply is None or self.reader is None:
            return
        try:
            self.reader.read(reply, {text}, found)
        except (Misfit, ValueError, RecursionError) as error:
            lost[text] = error


def _of_documents(key: str, value: Any, text: Any) -> Lookup:
    if value is None:
        fix = 'write value="$.price", the path to it in the document'
        raise QueryError("is missing", field="value", fix=fix)
    reader = Reader.of(value, None, many=False, text=text)
    return Lookup(key, reader.wanted, reader)


def _add(text: str, reply: Any, found: Found) -> None:
    """One value, or those of several fields; a hash that is not there has none of them."""
    values = reply if isinstance(reply, list) else [reply]
    if any(value is not None for value in values):
        found.add(text, [NOTHING if value is None else _plain(value) for value in values])


def _plain(value: Any) -> Any:
    """As text if it is one; any other bytes are not a number."""
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value


_KEY = 'write key="user:{key}", or key="prices" with value="{key}" for the fields of one hash'


def said(replies: Sequence[Any]) -> str:
    """What a server said of one key, as a check shows it."""
    told = replies[0]
    if isinstance(told, list):
        plain = [_shown(each) for each in told]
        told = plain if len(plain) > 1 else plain[0]
    return json.dumps(_shown(told), default=str, ensure_ascii=False)


def _shown(value: Any) -> Any:
    plain = _plain(value)
    return repr(plain) if isinstance(plain, bytes) else plain
