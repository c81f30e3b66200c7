"""What an HTTP service said of one key, for a check."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, NamedTuple

from topwater.errors import SourceError
from topwater.model import Key
from topwater.remote.json_advice import advice
from topwater.remote.json_path import Misfit, Path
from topwater.remote.json_values import Reader
from topwater.remote.key_values import key_text
from topwater.remote.look import Look, NoValue, UnknownKey, excerpt, key_shown, look_of, no_value
from topwater.remote.replies import Reply
from topwater.remote.service import REDIRECTED, Service, require_reached

_FIXES = {
    "limited": "wait, and ask again: the service was asked too often",
    "server": "see what the service's own log says, or ask again later",
    "redirect": REDIRECTED,
}


def look_at(
    reply: Reply, key: Key, reader: Reader, service: Service, missing: Collection[int]
) -> Look:
    """What is read from a reply for a key.

    Raises
    ------
    SourceError
        If it is not usable: with the reply, the setting to blame, and what may be meant.
    """
    where = service.shown
    if reply.status in missing:
        raise UnknownKey(
            f"{where} does not know the key {key_shown(key)} (status {reply.status})",
            field="url",
            fix="check the address; if only this key is unknown, name another one",
        )
    require_reached(reply, where, "url")
    if reply.problem is not None:
        raise SourceError(
            f"{where} answers with status {reply.status} ({reply.problem})",
            field="url",
            fix=_FIXES.get(reply.problem, "check the address, and what is sent"),
        )
    said = excerpt(reply.body, service.secrets())
    try:
        document = json.loads(reply.body)
    except (ValueError, RecursionError):
        raise SourceError(
            f"{where} does not answer in JSON, but with {said or 'nothing'}",
            field="url",
            fix="give the address at which the service answers in JSON",
        ) from None
    return _read(document, reply.body, key, reader, said)


def errors_in(body: bytes, path: Path) -> Any:
    """What a document says of errors; None if it is nothing, or empty."""
    try:
        return next((each for each in path.values(json.loads(body)) if each), None)
    except (ValueError, RecursionError):
        return None


def require_no_errors(reply: Reply, path: Path | None, service: Service) -> None:
    """Raise ``SourceError`` if a reply reports errors, with what it says."""
    told = None if path is None or reply.problem is not None else errors_in(reply.body, path)
    if told is not None and path is not None:
        raise SourceError(
            f"{service.shown} reports at {path.text}: "
            f"{excerpt(json.dumps(told, ensure_ascii=False), service.secrets())}",
            field="body",
            fix="correct what is sent, or see the service's own log",
        )


def _read(document: Any, body: bytes, key: Key, reader: Reader, said: str) -> Look:
    text = key_text(key)
    try:
        found = reader.read(body, {text})
    except (Misfit, ValueError) as error:
        path = next((path for path in reader.paths if path is not None), None)
        fix = "" if path is None else advice(document, path, text)
        raise NoValue(f"{error}, in {said}", field="value", fix=fix) from None
    for at, wanted in enumerate(reader.wanted):
        if not wanted.text:
            _require_number(found.matches(at).reason(text), at, Asked(key, document, reader, said))
    where = ", ".join(each.place or "rows" for each in reader.wanted)
    return look_of(found.fetched([text], 0.0), key, said, where)


class Asked(NamedTuple):
    """What was asked for, and what came."""

    key: Key
    document: Any
    reader: Reader
    said: str


def _require_number(reason: str, at: int, asked: Asked) -> None:
    """Raise if there is no number, with the path that may be meant."""
    key, document, reader, said = asked
    wanted, path = reader.wanted[at], reader.paths[at]
    if not reason or path is None or (reason == "not_found" and wanted.merge == "count"):
        return
    if reason == "not_found":
        raise no_value(key, reason, said, "url" if reader.key is None else "key")
    if reason == "doubled":
        fix = "let the path lead to one value of the key, or say which of them counts: "
        fix += f"max({path.text})"
        raise no_value(key, reason, said, wanted.setting, fix)
    what = "nothing" if reason == "no_value" else "null" if reason == "null" else "no number"
    there = reason != "no_value"
    raise NoValue(
        f"there is {what} at {path.text} in {said}",
        field=wanted.setting,
        fix=advice(document, path, key_text(key), wanted.setting, there=there),
    )
