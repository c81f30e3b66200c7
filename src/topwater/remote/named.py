"""The settings of each kind of source by name, so that an editor knows them and their types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict

from topwater.remote.wrappers.circuit_breaker import Breaker
from topwater.remote.wrappers.rate_limit import Limit
from topwater.remote.wrappers.wrapper import AtStart


class StackSettings(TypedDict, total=False):
    """Of everything round a source: see :func:`topwater.remote.stack`."""

    at_once: int
    rate: float | Limit | None
    retries: int
    breaker: Breaker | bool
    at_start: AtStart
    record: str | Path | None
    name: str


class HttpSettings(StackSettings, total=False):
    """See :class:`topwater.remote.http_source.HttpSource`. A ``value`` is needed."""

    value: str
    key: str | None
    per_request: int | None
    separator: str
    method: str | None
    body: Any
    headers: Mapping[str, str] | None
    timeout: float
    largest: int
    verify: bool | str
    missing: Iterable[int]
    remembered: int


class SparqlSettings(StackSettings, total=False):
    """See :class:`topwater.remote.sparql_source.SparqlSource`."""

    key: str
    value: str
    per_request: int | None
    one_by_one: bool
    method: Literal["POST", "GET"]
    prefixes: Mapping[str, str] | None
    key_as: Literal["iri", "literal"]
    namespace: str
    datatype: str | None
    lang: str | None
    headers: Mapping[str, str] | None
    timeout: float
    largest: int
    verify: bool | str


class SqlSettings(StackSettings, total=False):
    """See :class:`topwater.remote.sql_source.SqlSource`."""

    table: str | None
    key: str | None
    value: str | None
    query: str | None
    per_request: int
    timeout: float
    connect_args: Mapping[str, Any] | None
    password_env: str | None
