"""What an HTTP service said of one key, as a check tells it."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from topwater.errors import SourceError
from topwater.model import Key
from topwater.remote.json_advice import advice
from topwater.remote.json_path import Misfit
from topwater.remote.json_values import Reader
from topwater.remote.key_values import key_text
from topwater.remote.look import Look, NoValue, UnknownKey, excerpt, key_shown, no_value
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


def _read(document: Any, body: bytes, key: Key, reader: Reader, said: str) -> Look:
    text, path = key_text(key), reader.value.text
    try:
        found = reader.read(body, {text})
    except (Misfit, ValueError) as error:
        fix = advice(document, reader.value, text)
        raise NoValue(f"{error}, in {said}", field="value", fix=fix) from None
    reason = found.reason(text)
    if not reason:
        return Look(key, found.values[text], said, path)
    if reason == "not_found":
        raise no_value(key, reason, said, "url" if reader.key is None else "key")
    if reason == "doubled":
        fix = "let the path lead to one value of the key"
        raise no_value(key, reason, said, "value", fix)
    what = "nothing" if reason == "no_value" else "null" if reason == "null" else "no number"
    raise NoValue(
        f"there is {what} at {path} in {said}",
        field="value",
        fix=advice(document, reader.value, text, there=reason != "no_value"),
    )
