"""A source that asks a Redis server, with all keys of a request in one trip."""

from __future__ import annotations

import os
import time
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from topwater.errors import QueryError, SourceError
from topwater.model import Fetched, Key, KeyArray
from topwater.problems import Problem
from topwater.remote.database_address import Unset
from topwater.remote.found_values import Found
from topwater.remote.key_values import failed, key_text
from topwater.remote.look import Look, excerpt, key_shown, look_of
from topwater.remote.redis_client import Address, Trip, problem_of
from topwater.remote.redis_lookup import Lookup, said
from topwater.remote.service import MOST, most_of, positive
from topwater.remote.threads import Crew
from topwater.remote.wanted_values import Places, names_of, text_names_of
from topwater.validation import checked_call, nearest

_AT_ONCE = 32


@checked_call()
class RedisSource:
    """Asks a Redis server for the values of keys.

    One call of :meth:`fetch` is one trip: an ``MGET``, or an ``HGET`` or ``HMGET`` for each key,
    sent together. Text that reads as a number is one. A key that is not there has no value, and
    one of another type than is read fails.

    Parameters
    ----------
    url
        ``redis://ann:${REDIS_PASSWORD}@redis.example:6379/0``, or ``rediss://…`` for TLS.
        ``${NAME}`` is the environment variable NAME, read at each connecting, and nowhere kept.
    key
        What a key is called on the server: ``"user:{key}"``; of keys with several columns, with a
        place for each: ``"ad:{campaign}:{country}"``.
    value
        Nothing if the key itself holds the number; or a field of its hash, a list of them, or a
        mapping of names to them. ``"{key}"``, with ``key="prices"``, if all keys are fields of
        that one hash. With ``json``, the path to it.
    text
        The same for texts, which are shown.
    json
        Whether the key holds a document in JSON.
    parts
        The columns of keys that have several, in their order: ``["campaign", "country"]``. A key
        that would be called as another one is, as ``("a:b", "c")`` and ``("a", "b:c")`` would be,
        is not asked for, and has no value.
    per_request
        How many keys a trip is for: 500, unless told otherwise.
    timeout
        How many seconds a trip may take, whatever the deadline.
    verify
        Whether certificates are checked; or the file with the authorities to trust.

    Examples
    --------
    >>> RedisSource("redis://:${REDIS_PASSWORD}@redis.example", key="user:{key}", value="followers")
    RedisSource('redis://redis.example', key='user:{key}')
    """

    punctual = True

    def __init__(
        self,
        url: str,
        *,
        key: str = "{key}",
        value: Places | None = None,
        text: Places | None = None,
        json: bool = False,
        parts: Sequence[str] | None = None,
        per_request: int | None = None,
        timeout: float = 10.0,
        verify: bool | str = True,
    ) -> None:
        self._address = Address.of(url, verify)
        self._lookup = Lookup.of(key, value, text, json, parts)
        self.names = names_of(self._lookup.wanted)
        self.text_names = text_names_of(self._lookup.wanted)
        self.most = most_of(per_request, 500, MOST)
        self._timeout = positive(timeout, "timeout")
        self._start()

    def _start(self) -> None:
        self._idle: dict[int, deque[Any]] = {}
        self._crew = Crew(_AT_ONCE, _AT_ONCE)
        self._end = weakref.finalize(self, _close, self._idle)

    def __getstate__(self) -> dict[str, Any]:
        here = ("_idle", "_crew", "_end")
        return {name: value for name, value in vars(self).items() if name not in here}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._start()

    def __repr__(self) -> str:
        return f"RedisSource({self._address.shown!r}, key={self._lookup.key!r})"

    def take_keys(self, columns: Sequence[str]) -> None:
        """Raise unless it can be asked by keys of these columns."""
        own = () if self._lookup.named is None else self._lookup.named.parts
        if tuple(columns) == own or not (own or len(columns) > 1):
            return
        told = f"the parts {', '.join(own)}" if own else "whole keys"
        places = "".join(f":{{{column}}}" for column in columns)
        raise QueryError(
            f"asks by {told}, and keys of the query have {', '.join(columns)}",
            field="source.parts",
            fix=f'write key="…{places}", and name these columns in this order in parts'
            if len(columns) > 1
            else "write {key} in key, and leave parts out",
        )

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``, within ``deadline`` seconds, by one trip."""
        began = time.monotonic()
        if len(keys) > self.most:
            raise ValueError(f"{len(keys)} keys in a request of at most {self.most}")
        texts = [key_text(key) for key in keys.tolist()]
        asked = [*dict.fromkeys(text for text in texts if self._lookup.can_name(text))]
        seconds = self._timeout if deadline is None else min(deadline, self._timeout)
        late: Problem = "late" if deadline is not None and deadline <= self._timeout else "timeout"
        if not seconds > 0:
            return failed(texts, set(texts), "late", 0.0)
        got = self._asked(asked, seconds) if asked else []
        spent = time.monotonic() - began
        if got is None or isinstance(got, str):
            return failed(texts, set(asked), got or late, spent)
        found = Found(self._lookup.wanted)
        lost = self._lookup.read(asked, got, found) if asked else {}
        return _without(found.fetched(texts, spent), texts, lost)

    def check(self, key: Key | None = None) -> Look | None:
        """Connect, and with a key, look it up and say what came.

        Raises
        ------
        SourceError
            If that fails, with the setting to look at; or with a key, if it has no usable value.
        """
        replies = self._tried([("PING",)])
        if (
            isinstance(replies[0], Exception)
            and problem_of(replies[0], connecting=False) != "client"
        ):
            raise self._error(replies[0], connecting=False)
        if key is None:
            return None
        text = key_text(key)
        found, replies = Found(self._lookup.wanted), self._tried(self._lookup.commands([text]))
        lost = self._lookup.read([text], replies, found)
        told = excerpt(said(replies), self._address.secrets())
        if text in lost:
            raise self._lost(key, lost[text], told)
        got = found.fetched([text], 0.0)
        where = ", ".join(each.place for each in self._lookup.wanted) or self._lookup.key
        try:
            return look_of(got, key, told, where)
        except SourceError as error:
            raise self._missing(key, text, got) or error from None

    def close(self) -> None:
        """Close the connections of this process. A later fetch connects again."""
        _close(self._idle)
        self._crew.close()

    def _asked(self, texts: list[str], seconds: float) -> list[Any] | Problem | None:
        """The replies, or what went wrong; None if nothing came in time."""
        got = self._sent(self._lookup.commands(texts), seconds)
        if isinstance(got, tuple):
            error, connecting = got
            return (
                "client" if isinstance(error, Unset) else problem_of(error, connecting=connecting)
            )
        return got

    def _sent(self, commands: Any, seconds: float) -> list[Any] | tuple[BaseException, bool] | None:
        trips: list[Trip] = []

        def call() -> list[Any] | tuple[BaseException, bool]:
            try:
                return self._trip(commands, trips)
            except Exception as error:  # whatever the driver raises
                return error, not trips or trips[-1].connecting

        (done,) = self._crew.run([call], seconds)
        if done is None and trips:
            trips[-1].cut()
        return done

    def _trip(self, commands: Any, trips: list[Trip]) -> list[Any]:
        """One that was kept may have been cut by the server: then there is a second attempt."""
        idle = self._idle.setdefault(os.getpid(), deque())
        kept = idle.pop() if idle else None
        if kept is not None:
            try:
                return self._on(kept, commands, trips, idle)
            except OSError:
                pass
            except Exception as error:
                if problem_of(error, connecting=False) != "dropped":
                    raise
        return self._on(self._address.connection(self._timeout), commands, trips, idle)

    def _on(self, link: Any, commands: Any, trips: list[Trip], idle: deque[Any]) -> list[Any]:
        trips.append(Trip(link))
        try:
            replies = trips[-1].run(commands)
        except BaseException:
            link.disconnect()
            raise
        idle.append(link)
        return replies

    def _tried(self, commands: Any) -> list[Any]:
        got = self._sent(commands, self._timeout)
        if got is None:
            raise self._error(TimeoutError(), connecting=True)
        if isinstance(got, tuple):
            raise self._error(got[0], connecting=got[1])
        return got

    def _error(self, error: BaseException, *, connecting: bool) -> SourceError:
        where = self._address.shown
        if isinstance(error, Unset):
            fix = f"set {error} where the source is used, on every machine"
            return SourceError(f"the environment variable {error} is not set", field="url", fix=fix)
        problem = problem_of(error, connecting=connecting)
        lead, fix = _ADVICE.get(problem, ("{where} failed", "see the server's own log"))
        told = excerpt(str(error), self._address.secrets())
        lead = lead.format(where=where, timeout=self._timeout)
        return SourceError(f"{lead}: {told}" if told else lead, field="url", fix=fix)

    def _lost(self, key: Key, error: BaseException, told: str) -> SourceError:
        """A key that holds something other than what is read, or is on another server."""
        if not str(error).startswith("WRONGTYPE") and self._lookup.reader is None:
            return self._error(error, connecting=False)
        if self._lookup.reader is not None:
            what = f"the key {key_shown(key)} does not hold a document with that: {told}"
            return SourceError(what, field="value", fix="check the path, or name another key")
        return self._other_type(key)

    def _other_type(self, key: Key) -> SourceError:
        name = self._lookup.name(key_text(key))
        kind = str(_text(self._tried([("TYPE", name)])[0]))
        what = f"the key {key_shown(key)} holds a {kind}"
        if kind == "hash":
            fields = [str(_text(each)) for each in self._tried([("HKEYS", name)])[0][:8]]
            fix = f"name a field of it with value=: {', '.join(fields)}"
        else:
            fix = "leave value= out" if kind == "string" else "read a string or a hash"
        return SourceError(what, field="value", fix=fix)

    def _missing(self, key: Key, text: str, got: Fetched) -> SourceError | None:
        """Why a key has no value, by its type: its hash has no such field."""
        lookup = self._lookup
        if lookup.in_hash or lookup.reader is not None or not (got.lacks() or got.whys):
            return None
        kind = str(_text(self._tried([("TYPE", lookup.name(text))])[0]))
        if kind == "hash" and lookup.fields:
            return self._no_field(key, text)
        return self._other_type(key) if kind not in ("none", "string") else None

    def _no_field(self, key: Key, text: str) -> SourceError | None:
        fields = [str(_text(each)) for each in self._tried([("HKEYS", self._lookup.name(text))])[0]]
        wanted = next((each for each in self._lookup.wanted if each.place not in fields), None)
        if wanted is None:
            return None
        near = nearest(wanted.place, fields)
        fix = f"did you mean {near}?" if near else f"use one of: {', '.join(fields[:8])}"
        what = f"the key {key_shown(key)} has no field {wanted.place}"
        return SourceError(what, field=wanted.setting, fix=fix)


_ADVICE: Mapping[str, tuple[str, str]] = {
    "refused": ("no connection to {where}", "start the server, or correct the address"),
    "timeout": ("no answer from {where} in {timeout} s", "see if it is up, or raise timeout="),
    "dropped": ("{where} ended the connection", "see the server's own log"),
    "tls": ("no safe connection to {where}", "check the certificate, or name it with verify="),
    "garbled": ("{where} does not speak the protocol of Redis", "check the address"),
    "client": ("{where} does not accept what it is asked", "check the login in the address"),
    "redirect": (
        "{where} belongs to a cluster, and other servers have some of the keys",
        "give the address of a proxy for the cluster, or of a server that has all keys",
    ),
}


def _without(got: Fetched, texts: list[str], lost: Mapping[str, BaseException]) -> Fetched:
    """The answer, where some keys are not answered after all."""
    for text, error in lost.items():
        told: Problem = "garbled"
        if not isinstance(error, ValueError | RecursionError):
            told = problem_of(error, connecting=False)
        rows = np.array([row for row, each in enumerate(texts) if each == text])
        got = got.put(rows, failed([text] * len(rows), {text}, told, 0.0))
    return got


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _close(idle: dict[int, deque[Any]]) -> None:
    """Those of this process; those of a parent are its own."""
    for link in idle.pop(os.getpid(), ()):
        link.disconnect()
