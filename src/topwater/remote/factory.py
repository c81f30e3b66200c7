"""Sources by what they speak. Each kind is imported when one of it is built."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Unpack
from urllib.parse import urlsplit

from topwater.errors import QueryError
from topwater.protocols import Source
from topwater.remote.memory import MemorySource
from topwater.remote.named import HttpSettings, SparqlSettings, SqlSettings
from topwater.remote.wrappers.stack import SETTINGS, Stack, stack


def http(url: str, **settings: Unpack[HttpSettings]) -> Stack:
    """An HTTP service that answers in JSON.

    Parameters
    ----------
    url
        With ``{key}`` or ``{keys}`` where keys go.
    **settings
        Those of :class:`topwater.remote.http_source.HttpSource` (``value``, ``key``,
        ``per_request``, ``headers``, …) and of :func:`topwater.remote.stack` (``rate``,
        ``at_once``, ``retries``, ``breaker``, ``at_start``, ``record``, ``name``).
    """
    from topwater.remote.http_source import HttpSource

    return _built(HttpSource, url, settings)


def sparql(endpoint: str, pattern: str = "", **settings: Unpack[SparqlSettings]) -> Stack:
    """A SPARQL endpoint.

    Parameters
    ----------
    endpoint
        Its address.
    pattern
        The graph pattern, with variables for the key and the value.
    **settings
        Those of :class:`topwater.remote.sparql_source.SparqlSource` and of
        :func:`topwater.remote.stack`.
    """
    from topwater.remote.sparql_source import SparqlSource

    return _built(SparqlSource, endpoint, {"pattern": pattern, **settings})


def sql(url: str, **settings: Unpack[SqlSettings]) -> Stack:
    """A database that SQLAlchemy can speak with.

    Parameters
    ----------
    url
        As SQLAlchemy writes it: ``sqlite:///users.db``, ``postgresql+psycopg://…``.
    **settings
        Those of :class:`topwater.remote.sql_source.SqlSource` and of :func:`topwater.remote.stack`.
    """
    from topwater.remote.sql_source import SqlSource

    return _built(SqlSource, url, settings)


def memory(values: Mapping[Any, float]) -> MemorySource:
    """Values that lie in memory."""
    return MemorySource(values)


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
}


def source(where: str | Mapping[str, Any], **settings: Any) -> Source:
    """A source by its address.

    Parameters
    ----------
    where
        An address whose scheme says what it is: ``http``, ``https``, ``sparql+http``,
        ``sparql+https``, or that of a database, such as ``sqlite`` or ``postgresql+psycopg``. Or
        a mapping of settings, with the address as ``"url"``: as it stands in a JSON or TOML file.
        It may name the ``"kind"`` instead of a scheme: ``http``, ``sparql``, ``sql``, or
        ``memory``, which has ``"values"`` and no address.
    **settings
        Those of the kind: see :func:`http`, :func:`sparql` and :func:`sql`.

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
    scheme, colon, _ = where.partition(":")
    kind = scheme.partition("+")[0].lower() if colon else ""
    if kind not in _SCHEMES:
        raise QueryError(
            f"the scheme {kind!r} is unknown" if kind else "has no scheme",
            field="url",
            fix=f"use one of: {', '.join(_SCHEMES)}",
        )
    return _SCHEMES[kind](where[len("sparql+") :] if kind == "sparql" else where, **settings)


_KINDS: dict[str, Callable[..., Source]] = {
    "http": http,
    "sparql": sparql,
    "sql": sql,
    "memory": memory,
}


def _of_mapping(settings: dict[str, Any]) -> Source:
    """A source of the kind that is named, or that the address tells."""
    kind = settings.pop("kind", None)
    if kind == "memory":
        return _memory(settings)
    url = settings.pop("url", None)
    if not isinstance(url, str) or not url:
        raise QueryError(
            "is missing" if url is None else f"{url!r} is no address",
            field="url",
            fix="write the address, as https://api.example/users/{key}",
        )
    if kind is None:
        return source(url, **settings)
    if kind not in _KINDS:
        raise QueryError(f"{kind!r} is unknown", field="kind", fix=f"use {', '.join(_KINDS)}")
    return _KINDS[kind](url.removeprefix("sparql+"), **settings)


def _memory(settings: Mapping[str, Any]) -> MemorySource:
    values = settings.get("values")
    if set(settings) - {"values"} or not isinstance(values, Mapping):
        raise QueryError(
            "memory has values, and no other setting",
            field="values",
            fix='write values = {"ann" = 3.0, "bob" = 5.0}',
        )
    return memory(values)


def _built(make: Callable[..., Source], where: str, settings: Mapping[str, Any]) -> Stack:
    """The source of one kind, in its stack; settings are told apart by their names."""
    _, *others = inspect.signature(make).parameters.values()
    named = {each.name: each.default is each.empty for each in others}
    if unknown := sorted(set(settings) - {*named, *SETTINGS}):
        raise QueryError(
            "no such setting", field=unknown[0], fix=f"use: {', '.join([*named, *SETTINGS])}"
        )
    if missing := [name for name, needed in named.items() if needed and name not in settings]:
        raise QueryError("is missing", field=missing[0], fix=f"pass {missing[0]}=…")
    own = {name: value for name, value in settings.items() if name in named}
    rest = {name: value for name, value in settings.items() if name in SETTINGS}
    raw = make(where, **own)
    return stack(raw, per_request=getattr(raw, "most", 100), **{"name": _place(where), **rest})


def _place(where: str) -> str:
    """What names a service: its host, and a database's path; never a user or a password.

    Examples
    --------
    >>> _place("http://me:secret@api.example:81/users/{key}?token=secret")
    'http://api.example:81'
    >>> _place("postgresql://me:sec/ret@db.example/shop?password=secret")
    'postgresql://db.example/shop'
    """
    parts = urlsplit(where)
    if parts.scheme not in ("http", "https"):
        # A password may hold anything, and a database's address may hold one anywhere.
        return f"{parts.scheme}://{where.rpartition('@')[2].rpartition('//')[2].partition('?')[0]}"
    try:
        port = parts.port
    except ValueError:
        port = None
    return f"{parts.scheme}://{parts.hostname or ''}{'' if port is None else f':{port}'}"
