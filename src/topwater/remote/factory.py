"""Sources by what they speak. Each kind is imported when one of it is built."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from topwater.errors import QueryError
from topwater.protocols import Source
from topwater.redaction import shown_address
from topwater.remote.http_client import LARGEST
from topwater.remote.memory import MemorySource
from topwater.remote.wanted_values import Places
from topwater.remote.wrappers.circuit_breaker import Breaker
from topwater.remote.wrappers.rate_limit import Limit
from topwater.remote.wrappers.stack import Stack, stack
from topwater.remote.wrappers.wrapper import AtStart
from topwater.validation import checked_call, choice_of, made_from, mapping_of, suggestion


@checked_call()
def http(
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
    at_once: int = 4,
    rate: float | Limit | None = None,
    retries: int = 2,
    breaker: Breaker | Mapping[str, Any] | bool | None = True,
    at_start: AtStart = "warn",
    record: str | Path | None = None,
    name: str | None = None,
) -> Stack:
    """An HTTP service that answers in JSON.

    Parameters
    ----------
    url
        With ``{key}`` or ``{keys}`` where keys go.
    value, text, key
        The paths to the value, or by name to several values and texts, and to the key, in what the
        service answers.
    per_request, separator, parts, method, body, headers, timeout, largest, verify
        How it is asked: see
        :class:`topwater.remote.http_source.HttpSource`.
    missing, errors, remembered
        What its replies mean: see :class:`topwater.remote.http_source.HttpSource`.
    at_once, rate, retries, breaker, at_start, record, name
        What keeps it in bounds: see :func:`topwater.remote.stack`. The name is the host, unless
        another is given.
    """
    settings = dict(locals())
    from topwater.remote.http_source import HttpSource

    return _stacked(HttpSource, url, settings)


@checked_call()
def sparql(
    endpoint: str,
    pattern: str,
    *,
    key: str,
    value: Places,
    text: Places | None = None,
    per_request: int | None = None,
    one_by_one: bool = False,
    method: Literal["POST", "GET"] = "POST",
    prefixes: Mapping[str, str] | None = None,
    key_as: Literal["iri", "literal"] = "iri",
    namespace: str = "",
    datatype: str | None = None,
    lang: str | None = None,
    typed: bool = False,
    headers: Mapping[str, str] | None = None,
    timeout: float = 10.0,
    largest: int = LARGEST,
    verify: bool | str = True,
    at_once: int = 4,
    rate: float | Limit | None = None,
    retries: int = 2,
    breaker: Breaker | Mapping[str, Any] | bool | None = True,
    at_start: AtStart = "warn",
    record: str | Path | None = None,
    name: str | None = None,
) -> Stack:
    """A SPARQL endpoint.

    Parameters
    ----------
    endpoint
        Its address.
    pattern, key, value, text
        The graph pattern, and its variables for the key and for the value, or by name for several
        values and texts.
    prefixes, key_as, namespace, datatype, lang
        What keys are there: see :class:`topwater.remote.sparql_source.SparqlSource`.
    typed
        Which values are numbers: see there, too.
    per_request, one_by_one, method, headers, timeout, largest, verify
        How it is asked: see there, too.
    at_once, rate, retries, breaker, at_start, record, name
        What keeps it in bounds: see :func:`topwater.remote.stack`. The name is the host, unless
        another is given.
    """
    settings = dict(locals())
    from topwater.remote.sparql_source import SparqlSource

    return _stacked(SparqlSource, endpoint, settings)


@checked_call()
def sql(
    url: str,
    *,
    table: str | None = None,
    key: str | Sequence[str] | None = None,
    value: Places | None = None,
    text: Places | None = None,
    query: str | None = None,
    per_request: int = 500,
    timeout: float = 10.0,
    connect_args: Mapping[str, Any] | None = None,
    password_env: str | None = None,
    at_once: int = 4,
    rate: float | Limit | None = None,
    retries: int = 2,
    breaker: Breaker | Mapping[str, Any] | bool | None = True,
    at_start: AtStart = "warn",
    record: str | Path | None = None,
    name: str | None = None,
) -> Stack:
    """A database that SQLAlchemy can speak with.

    Parameters
    ----------
    url
        As SQLAlchemy writes it: ``sqlite:///users.db``, ``postgresql+psycopg://…``.
    table, key, value, text
        The table, and its columns with the keys and their values, or by name several values and
        texts.
    query
        Or: a SELECT of keys and values, with the parameter ``:keys``.
    per_request, timeout, connect_args, password_env
        How it is asked: see :class:`topwater.remote.sql_source.SqlSource`.
    at_once, rate, retries, breaker, at_start, record, name
        What keeps it in bounds: see :func:`topwater.remote.stack`. The name is the host and the
        database, unless another is given.
    """
    settings = dict(locals())
    from topwater.remote.sql_source import SqlSource

    return _stacked(SqlSource, url, settings)


@checked_call()
def redis(
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
    at_once: int = 4,
    rate: float | Limit | None = None,
    retries: int = 2,
    breaker: Breaker | Mapping[str, Any] | bool | None = True,
    at_start: AtStart = "warn",
    record: str | Path | None = None,
    name: str | None = None,
) -> Stack:
    """A Redis server.

    Parameters
    ----------
    url
        ``redis://ann:${REDIS_PASSWORD}@redis.example:6379/0``, or ``rediss://…``.
    key, value, text, json, parts
        What keys are called there, and where in them values and texts are: nothing for numbers
        themselves, fields of a hash, or paths in a document.
    per_request, timeout, verify
        How it is asked: see :class:`topwater.remote.redis_source.RedisSource`.
    at_once, rate, retries, breaker, at_start, record, name
        What keeps it in bounds: see :func:`topwater.remote.stack`. The name is the host, unless
        another is given.
    """
    settings = dict(locals())
    from topwater.remote.redis_source import RedisSource

    return _stacked(RedisSource, url, settings)


@checked_call()
def memory(values: Mapping[Any, Any]) -> MemorySource:
    """Values that lie in memory.

    Parameters
    ----------
    values
        By key a number; or several values by their names, as ``{"price": 3.0, "title": "tea"}``.
    """
    return MemorySource(mapping_of(values, "values", 'write {"ann": 3.0, "bob": 5.0}'))


_SCHEMES: dict[str, Callable[..., Stack]] = {
    "http": http,
    "https": http,
    "sparql": sparql,
    "sqlite": sql,
    "postgresql": sql,
    "postgres": sql,
    "mysql": sql,
    "mariadb": sql,
    "oracle": sql,
    "mssql": sql,
    "redis": redis,
    "rediss": redis,
}


def source(where: str | Mapping[str, Any], **settings: Any) -> Source:
    """A source by its address.

    Parameters
    ----------
    where
        An address whose scheme says what it is: ``http``, ``https``, ``sparql+http``,
        ``sparql+https``, ``redis``, ``rediss``, or that of a database, such as ``sqlite`` or
        ``postgresql+psycopg``. Or a mapping of settings, with the address as ``"url"``: as it
        stands in a JSON or TOML file. It may name the ``"kind"`` instead of a scheme: ``http``,
        ``sparql``, ``sql``, ``redis``, or ``memory``, which has ``"values"`` and no address.
    **settings
        Those of the kind: see :func:`http`, :func:`sparql`, :func:`sql` and :func:`redis`.

    Examples
    --------
    >>> source("gopher://old.example/{key}")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    topwater.errors.QueryError: url: the scheme 'gopher' is unknown
      fix: use one of: http, https, sparql, sqlite, postgresql, ...
    """
    if isinstance(where, Mapping):
        return _of_mapping({**where, **settings})
    kind = _scheme(where)
    if kind not in _SCHEMES:
        raise QueryError(
            f"the scheme {kind!r} is unknown" if kind else "has no scheme",
            field="url",
            fix=suggestion(kind, _SCHEMES),
        )
    return _SCHEMES[kind](where[len("sparql+") :] if kind == "sparql" else where, **settings)


def is_database(where: str) -> bool:
    """Whether an address is that of a database."""
    return _SCHEMES.get(_scheme(where)) is sql


def _scheme(where: str) -> str:
    """What an address begins with, without the driver; empty if it is not a scheme."""
    found = re.match(r"([a-z][a-z0-9.-]{0,30})(?:\+[a-z0-9+.-]{1,30})?://", where, re.IGNORECASE)
    return found[1].lower() if found else ""


_KINDS: dict[str, Callable[..., Source]] = {
    "http": http,
    "sparql": sparql,
    "sql": sql,
    "redis": redis,
    "memory": memory,
}


def _of_mapping(settings: dict[str, Any]) -> Source:
    """A source of the kind that is named, or that the address tells."""
    kind = settings.pop("kind", None)
    if kind is not None and choice_of(kind, _KINDS, "kind") == "memory":
        return made_from(memory, settings)
    url = settings.pop("url", None)
    if not isinstance(url, str) or not url:
        raise QueryError(
            "is missing" if url is None else "is not an address",
            field="url",
            fix="write the address, as https://api.example/users/{key}",
        )
    if kind is None:
        return source(url, **settings)
    return _KINDS[kind](url.removeprefix("sparql+"), **settings)


def _stacked(make: Callable[..., Source], where: str, settings: Mapping[str, Any]) -> Stack:
    """The source of one kind, in its stack; settings are told apart by their names."""
    own = {name: settings[name] for name in inspect.signature(make).parameters}
    rest = {name: value for name, value in settings.items() if name not in own}
    raw = make(**own)
    if rest["name"] is None:
        rest["name"] = shown_address(where)
    return stack(raw, per_request=getattr(raw, "most", 100), **rest)
