"""A source that asks an HTTP service and reads JSON."""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from topwater.errors import QueryError
from topwater.model import Fetched, Key, KeyArray, Millis
from topwater.remote.found_values import Found
from topwater.remote.http_client import LARGEST, Ask, Requester
from topwater.remote.http_look import errors_in, look_at, require_no_errors
from topwater.remote.json_path import Misfit, Path
from topwater.remote.json_values import Reader
from topwater.remote.key_values import failed, key_text
from topwater.remote.look import Look, no_value
from topwater.remote.replies import Reply
from topwater.remote.request_template import Template
from topwater.remote.service import MOST, Service, most_of, positive, require_reached
from topwater.remote.wanted_values import Places, names_of, text_names_of
from topwater.validation import checked_call, columns_of, suggestion

_About: TypeAlias = tuple[str | Millis | None, ...]
"""What a request is about: its keys, and the time as of which it asks."""


@checked_call()
class HttpSource:
    """Asks an HTTP service for the values of keys.

    One call of :meth:`fetch` is one request, for at most :attr:`most` keys.

    Text that reads as a number is one; true and false are 1 and 0; all that is not a number is no
    value. A key with two different values fails as ``"doubled"``, and a document that has not the
    shape of the paths as ``"garbled"``.

    Parameters
    ----------
    url
        With ``{key}`` for one key a request, or ``{keys}`` for many, behind the host. Keys are
        percent-encoded. ``${NAME}`` is the environment variable NAME, here and in ``headers``.
        ``{now}`` is the event time of the evaluation in milliseconds, for services that can answer
        as of a time; queries tell it, others call :meth:`seek` before they fetch.
    value
        The path to the value: see :mod:`topwater.remote.json_path`. For many keys either
        ``"counts.{key}"``, where an object has the keys as names, or, together with ``key``,
        ``"users[*].followers"``. Where a key has several values, ``"max(…)"``, ``"min(…)"``,
        ``"mean(…)"``, ``"sum(…)"``, ``"count(…)"`` or ``"sample(…)"`` around the path says what
        becomes of them. For several values of a key, a mapping of names to paths.
    text
        The same for texts, which are shown: a mapping of names to paths.
    key
        For many keys in a list of objects, the path to the key of each: ``"users[*].id"``.
    per_request
        How many keys ``{keys}`` may stand for: 100, unless told otherwise.
    separator
        What stands between keys in the address. ``"&id="`` repeats a parameter.
    parts
        For keys of several columns: the columns, in the order of the query's key. ``{product}`` in
        the address or the body then stands for the part of that name, and each request is for one
        key.
    method, body
        The body is a JSON value in which the texts ``"{key}"``, ``"{keys}"`` and ``"{now}"`` are
        replaced. With a body the method is POST.
    headers
        To be sent along.
    timeout
        How many seconds a request may take, whatever the deadline.
    largest
        How many bytes of an answer are read.
    verify
        Whether certificates are checked; or the file with the authorities to trust.
    missing
        For one key a request: what statuses say that the service does not know the key.
    errors
        The path to what tells errors in a document, as GraphQL does: if there is something, the
        request fails as ``"server"``, whatever else came.
    remembered
        How many answers are kept for services that tell whether something changed (``ETag``,
        ``Last-Modified``). Only for GET.

    Examples
    --------
    >>> source = HttpSource(
    ...     "https://api.example/users?ids={keys}", value="users[*].followers", key="users[*].id",
    ...     headers={"Authorization": "Bearer ${TOKEN}"},
    ... )
    >>> source, source.most
    (HttpSource('https://api.example', headers: Authorization), 100)
    >>> HttpSource("https://api.example/users", value="followers")
    Traceback (most recent call last):
    ...
    topwater.errors.QueryError: url: has no place for a key
      fix: write {key} for one key a request or {keys} for many, in the url or in the body
    """

    def __init__(
        self,
        url: str,
        *,
        value: Places,
        text: Places | None = None,
        key: str | None = None,
        per_request: int | None = None,
        separator: str = ",",
        parts: Sequence[str] | None = None,
        method: str | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
        largest: int = LARGEST,
        verify: bool | str = True,
        missing: Iterable[int] = (404, 410),
        errors: str | None = None,
        remembered: int = 256,
    ) -> None:
        self._service = Service.of(url, headers)
        self._template = Template.of(self._service.url, separator, body, _parts(parts))
        self.most = (
            most_of(per_request, 100, MOST)
            if self._template.many
            else most_of(per_request, 1, 1, fix="write {keys} for many keys a request")
        )
        self._reader = Reader.of(value, key, many=self._template.many, text=text)
        self._errors = None if errors is None else Path.parse(errors, "errors")
        self.names = names_of(self._reader.wanted)
        self.text_names = text_names_of(self._reader.wanted)
        self._method = _method(method, body)
        self._timeout = positive(timeout, "timeout")
        self._missing = frozenset() if self._template.many else frozenset(missing)
        self._remembered = remembered
        self._requester = Requester(largest=int(positive(largest, "largest")), verify=verify)
        self._now: Millis | None = None
        self._forget()

    def __repr__(self) -> str:
        return repr(self._service).replace("Service", "HttpSource", 1)

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.__dict__.items() if name not in ("_known", "_lock")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def _forget(self) -> None:
        self._known: OrderedDict[_About, tuple[dict[str, str], Found]] = OrderedDict()
        self._lock = threading.Lock()

    def take_keys(self, columns: Sequence[str]) -> None:
        """Raise unless it can be asked by keys of these columns."""
        own = self._template.parts
        if tuple(columns) != own and (own or len(columns) > 1):
            told = f"the parts {', '.join(own)}" if own else "whole keys"
            places = "".join(f"/{{{column}}}" for column in columns)
            raise QueryError(
                f"asks by {told}, and keys of the query have {', '.join(columns)}",
                field="source.parts",
                fix=f"write {places} in the url, and name these columns in this order in parts"
                if len(columns) > 1
                else "write {key} in the url, and leave parts out",
            )

    def seek(self, now: Millis) -> None:
        """Ask as of ``now`` from here on, if there is a ``{now}`` in the request."""
        self._now = now

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``, within ``deadline`` seconds, by one request.

        Raises
        ------
        QueryError
            If the request has a ``{now}``, and no time was given.
        """
        began = time.monotonic()
        now = self._moment()
        if len(keys) > self.most:
            raise ValueError(f"{len(keys)} keys in one request, which takes {self.most} at most")
        given = keys.tolist()
        texts = [key_text(key) for key in given]
        asked = {
            text: key
            for text, key in zip(texts, given, strict=True)
            if self._template.can_hold(text)
        }
        if not asked:
            return Found(self._reader.wanted, stated=False).fetched(texts, time.monotonic() - began)
        about = (*asked, now)
        known = self._recall(about)
        try:
            ask = self._ask(asked, now, known[0])
        except KeyError:  # an environment variable is not set
            return failed(texts, set(asked), "client", time.monotonic() - began)
        reply = self._requester.request(ask, deadline, self._timeout)
        found = self._read(reply, asked, known[1])
        if isinstance(found, Found) and reply.body:  # neither 304 nor 404 has one
            self._remember(about, reply, found)
        seconds = time.monotonic() - began
        if isinstance(found, Found):
            return found.fetched(texts, seconds)
        return failed(texts, set(asked), found.problem or "garbled", seconds, found.wait)

    def check(self, key: Key | None = None) -> Look | None:
        """Ask for a key, and say what came; without one, only see if the service is there.

        Raises
        ------
        SourceError
            If the service can't be reached; or with a key, if its reply has no usable value for
            it: the error shows the reply, and the path that was probably meant.
        """
        self._service.require_variables()
        if key is not None:
            return self._look(key)
        origin = "/".join(self._service.url.split("/", 3)[:3]) + "/"
        # Some servers send a body where none is allowed: the next reply must not begin with it.
        ask = Ask("HEAD", origin, self._service.sent_headers() | {"Connection": "close"})
        reply = self._requester.request(ask, None, self._timeout)
        require_reached(reply, self._service.shown, "url")
        return None

    def _look(self, key: Key) -> Look:
        text = key_text(key)
        if not self._template.can_hold(text):
            raise no_value(key, "not_found", fix="name a key that can stand in an address")
        now = int(time.time() * 1_000) if self._now is None else self._now
        ask = self._ask({text: key}, now if self._template.timed else None, {})
        reply = self._requester.request(ask, None, self._timeout)
        require_no_errors(reply, self._errors, self._service)
        return look_at(reply, key, self._reader, self._service, self._missing)

    def close(self) -> None:
        """Close the connections. A later fetch opens new ones."""
        self._requester.close()

    def _moment(self) -> Millis | None:
        """The time to ask as of; None where requests have no place for one."""
        if not self._template.timed:
            return None
        if self._now is None:
            raise QueryError(
                "has a {now}, and no time was given",
                field="url",
                fix="call seek(milliseconds) before fetch; a query does so by itself",
            )
        return self._now

    def _ask(
        self, asked: Mapping[str, Any], now: Millis | None, validators: Mapping[str, str]
    ) -> Ask:
        headers = {"Accept": "application/json"} | self._service.sent_headers() | dict(validators)
        url, body = self._template.filled(asked, now)
        if body is not None:
            headers = {"Content-Type": "application/json"} | headers
        return Ask(self._method, url, headers, body)

    def _read(self, reply: Reply, asked: Mapping[str, Any], known: Found | None) -> Found | Reply:
        """What the service said of the keys; or its reply, if that says nothing."""
        if reply.status in self._missing:
            return Found(self._reader.wanted, stated=False)
        if reply.problem is not None:
            return reply
        if reply.status == 304:
            return reply if known is None else known
        if self._errors is not None and errors_in(reply.body, self._errors):
            return replace(reply, problem="server")
        try:
            return self._reader.read(reply.body, asked)
        except (Misfit, ValueError, RecursionError):
            return reply

    def _recall(self, asked: _About) -> tuple[dict[str, str], Found | None]:
        with self._lock:
            if asked in self._known:
                self._known.move_to_end(asked)
                return self._known[asked]
        return {}, None

    def _remember(self, asked: _About, reply: Reply, found: Found) -> None:
        if self._method != "GET":
            return
        pairs = (("etag", "If-None-Match"), ("last-modified", "If-Modified-Since"))
        validators = {to: reply.headers[name] for name, to in pairs if name in reply.headers}
        with self._lock:
            if validators and self._remembered > 0:
                self._known[asked] = validators, found
                self._known.move_to_end(asked)
            else:
                self._known.pop(asked, None)
            while len(self._known) > self._remembered:
                self._known.popitem(last=False)


def _parts(given: Sequence[str] | None) -> tuple[str, ...]:
    """The columns of keys that have several; none where keys have one."""
    named = () if given is None else columns_of(given, "parts")
    if isinstance(named, str):
        raise QueryError("names one column", field="parts", fix="write {key}, and leave it out")
    for name in named:
        if not re.fullmatch(r"\w+", name) or name in ("key", "keys", "now"):
            raise QueryError(
                f"{name!r} can't be a place in an address",
                field="parts",
                fix="use a plain name other than key, keys and now",
            )
    return named


def _method(method: Any, body: Any) -> str:
    found = ("GET" if body is None else "POST") if method is None else str(method).upper()
    allowed = ("GET", "POST") if body is None else ("POST", "QUERY")
    if found not in allowed:
        raise QueryError(
            f"{method!r} can't be used {'without' if body is None else 'with'} a body",
            field="method",
            fix=suggestion(found, allowed),
        )
    return found
