"""What a query asks: the streams and the service that the caller registered, by their names."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from rdflib.term import URIRef, Variable

from topwater import remote
from topwater.errors import QueryError, SourceError
from topwater.model import Fetched, Key, KeyArray, LookUp
from topwater.protocols import Source
from topwater.remote import Look, Stack, graph_pattern
from topwater.remote.factory import is_database
from topwater.replica.joins.join import SOURCE
from topwater.rspql.parser.cursor import Names, shown
from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.plan import Further, Plan, Service
from topwater.rspql.query_text import full_name, parse, registered, require_registered
from topwater.rspql.rdf.keyed_source import KeySource
from topwater.rspql.rdf.static_data import StaticData
from topwater.rspql.rdf.triples import unquoted

Registered: TypeAlias = str | Mapping[str, Any] | Source
"""The address of an endpoint, a mapping with that as ``"url"`` and its settings, or a source.

A mapping with another ``"kind"`` than ``"sparql"`` is one of :func:`topwater.remote.source`, which
is asked by what follows ``"namespace"`` in the IRI of the join variable.
"""


def plan_of(
    text: str | Plan,
    services: Mapping[str, Registered] | None,
    allow: Iterable[str],
    files: Mapping[str, Path | str] | None = None,
) -> tuple[Plan, dict[str, Registered]]:
    """The plan of a query, and the services that it may ask, by name."""
    asked = _services(services, allow)
    _require_files(files)
    for name in files or ():
        if name in asked:
            raise QueryError(
                f"{name} is registered as a service and as a file",
                field="files",
                fix="leave one of them out",
            )
    plan = text if isinstance(text, Plan) else parse(text, services=asked, files=files or ())
    return plan, asked


def _require_files(given: Any) -> None:
    """Raise unless paths are given by name."""
    fix = 'write {"http://…/rooms.ttl": "rooms.ttl"}, with the IRI that FROM names'
    if not (given is None or isinstance(given, Mapping)):
        raise QueryError("are given by name", field="files", fix=fix)
    for name, path in (given or {}).items():
        if not isinstance(path, str | Path) or "://" in str(path):
            raise QueryError(
                f"{name} is not registered with the path of a file on this machine",
                field="files",
                fix="load it down, and give its path: nothing is fetched here",
            )


def data_of(plan: Plan, given: Mapping[str, Path | str] | None) -> StaticData | None:
    """What is in the files that a plan reads, and in no others.

    Raises
    ------
    QueryError
        If one is not registered, with its place in the query; or if it can't be read.
    """
    _require_files(given)
    known = _by_name(given or {}, plan, "files")
    for name in plan.files:
        if str(name) not in known:
            Document(plan.text).fail(
                f"the file <{name}> is not registered: what nobody registered is never fetched",
                Names(Document(plan.text)).place(name, "FROM"),
                f"pass files={{'{name}': PATH}}; {registered(name, known)}",
            )
    return StaticData.of({n: known[str(n)] for n in plan.files}) if plan.files else None


def _services(
    given: Mapping[str, Registered] | None, allow: Iterable[str]
) -> dict[str, Registered]:
    """All that may be asked, by name."""
    if isinstance(allow, str) or not (given is None or isinstance(given, Mapping)):
        raise QueryError(
            "are given by name", field="services", fix='write {":BKG": …}, or allow=["http://…"]'
        )
    return {**{name: name.strip("<>") for name in allow}, **(given or {})}


def source_of(plan: Plan, services: Mapping[str, Registered]) -> Source | dict[str, Source] | None:
    """What is asked for the plan's service; for several, what is asked for each by its label."""
    if not plan.services:
        return None
    known = _by_name(services, plan, "services")
    require_registered(Document(plan.text), plan, services)
    found = [source_for(each, known[str(each.name)], plan.prefixes) for each in plan.services]
    if not plan.joins_services:
        return found[0]
    return {each.label or SOURCE: one for each, one in zip(plan.services, found, strict=True)}


def streams_of(plan: Plan, given: Mapping[str, Any]) -> dict[URIRef, Any]:
    """The streams that a plan reads, by name: of a variable all that are registered.

    Raises
    ------
    QueryError
        If one is not registered, with its place in the query.
    """
    known = _by_name(given, plan, "streams")
    used = {part.window for pattern in plan.patterns for part in pattern.blocks}
    names = dict.fromkeys(each.stream for each in plan.windows if each.name in used)
    if any(isinstance(name, Variable) for name in names):
        names = dict.fromkeys(map(URIRef, known))
    for name in names:
        if str(name) not in known:
            document, told = Document(plan.text), shown(name, plan.prefixes)
            document.fail(
                f"the stream <{name}> is not registered",
                Names(document).place(name, "FROM"),
                f"pass streams={{{told!r}: …}}; {registered(name, known)}",
            )
    return {URIRef(name): known[str(name)] for name in names}


def _by_name(given: Mapping[str, Any], plan: Plan, field: str) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise QueryError(
            f"a {type(given).__name__} has no names", field=field, fix="give a mapping by name"
        )
    return {full_name(name, plan.prefixes): each for name, each in given.items()}


def source_for(
    service: Service, given: Registered, prefixes: Mapping[str, str] | None = None
) -> Source:
    """What a plan asks for the service that the caller registered.

    Raises
    ------
    QueryError
        If it is nothing that can be asked.
    """
    if isinstance(given, str):
        given = {"url": given}
    if isinstance(given, Mapping) and (kind := service_kind(given)) != "sparql":
        rest = {"kind": kind, **{n: value for n, value in given.items() if n != "namespace"}}
        return KeySource(remote.source(rest), full_name(given.get("namespace", ""), prefixes or {}))
    if isinstance(given, Mapping):
        settings = {n: value for n, value in given.items() if n not in ("kind", "url")}
        settings = {"typed": service.typed} | settings | asked(service)
        url = str(given.get("url", "")).removeprefix("sparql+")
        return TermSource(url, settings)
    if not callable(getattr(given, "fetch", None)):
        raise QueryError(
            f"a {type(given).__name__} is not a source",
            field=f"services.{service.name}",
            fix="give the address of a SPARQL endpoint, its settings, or a source",
        )
    return given


def service_kind(given: Mapping[str, Any]) -> str:
    """What a registered service speaks: as it says, or else as its settings tell.

    A SPARQL endpoint has no place for keys in its address, and no path to a value.

    Examples
    --------
    >>> service_kind({"url": "https://api.example/users/{key}", "value": "followers"})
    'http'
    >>> service_kind({"url": "sqlite:///users.db", "table": "users"})
    'sql'
    >>> service_kind({"url": "https://data.example/sparql", "rate": 5})
    'sparql'
    """
    url = str(given.get("url", ""))
    if "kind" in given:
        return str(given["kind"])
    if "values" in given:
        return "memory"
    if {"table", "query", "connect_args", "password_env"} & set(given):
        return "sql"
    if is_database(url):
        return "sql"
    placed = "{key" in f"{url} {given.get('body', '')}"
    return "http" if placed or "value" in given or "key" in given else "sparql"


def asked(service: Service) -> dict[str, Any]:
    """The pattern that is sent, its key, and its value, or by name its values and texts.

    A source takes fewer names of variables than SPARQL does: others get new ones.

    Examples
    --------
    >>> asked(Service(URIRef("x:s"), "?été <x:f> ?1", "été", "1"))
    {'pattern': '?v2 <x:f> ?v1', 'key': 'v2', 'value': 'v1'}
    """
    there = graph_pattern.variables(service.pattern)
    odd = sorted(name for name in there if not (name.isascii() and name.isidentifier()))
    free = (name for number in itertools.count(1) if (name := f"v{number}") not in there)
    names = dict(zip(odd, free, strict=False))
    pattern = "".join(
        f"?{names[text[1:]]}" if kind == "variable" and text[1:] in names else text
        for kind, text in graph_pattern.tokens(service.pattern)
    )
    found: dict[str, Any] = {"pattern": pattern, "key": names.get(service.key, service.key)}
    places = {n: _place(each, names) for n, each in zip(service.names, _all(service), strict=True)}
    if len(places) == 1:
        return found | {"value": places[service.value]}
    texts = {each.name for each in service.texts}
    found["value"] = {name: place for name, place in places.items() if name not in texts}
    return found | ({"text": {name: places[name] for name in sorted(texts)}} if texts else {})


def _all(service: Service) -> tuple[Further, ...]:
    return (*service.numbers, *service.texts)


def _place(each: Further, names: Mapping[str, str]) -> str:
    """A variable, and which of its values counts if there are several."""
    variable = names.get(each.name, each.name)
    return variable if each.pick is None else f"{each.pick}({variable})"


def require_single(plan: Plan, problems: Iterable[str], lost: LookUp | None = None) -> None:
    """Refuse to answer where a service has several values for a join value.

    SPARQL would give a row for each, and none of them is the one that is meant.

    Parameters
    ----------
    plan
        What is asked.
    problems
        What look-ups came to.
    lost
        One of those that failed so, if it is known.

    Raises
    ------
    SourceError
        If that is among the problems.
    """
    if not plan.services or "doubled" not in problems:
        return
    label = "" if lost is None else lost.source
    service = next((each for each in plan.services if each.label == label), plan.services[0])
    told, value = shown(service.name, plan.prefixes), service.value
    # Which of its values differ is not known.
    values = " or ".join(f"?{name}" for name in service.names)
    example = "" if lost is None else f", as for {lost.key}"
    raise SourceError(
        f"{told} has several values of {values} for one ?{service.key}{example}: a row has one",
        field=f"services.{told}",
        fix=f"write MAX(?{value}), MIN, AVG or SAMPLE, with GROUP BY ?{service.key}; or "
        f"choose in the service: SERVICE {told} {{ SELECT ?{service.key} (MAX(?x) AS "
        f"?{value}) {{ … }} GROUP BY ?{service.key} }}",
    )


class TermSource:
    """Asks an endpoint for keys of any kind: IRIs as they are, literals as N-Triples.

    An endpoint is asked for literals of one kind at a time. A blank node has no value: it means
    nothing outside of its event.

    Parameters
    ----------
    url
        The endpoint.
    settings
        Those of :func:`topwater.remote.sparql`.
    """

    punctual = True

    def __init__(self, url: str, settings: Mapping[str, Any]) -> None:
        self._url = url
        self._settings = dict(settings)
        self._by_kind: dict[str, Stack] = {"": remote.sparql(url, **self._settings)}

    def __repr__(self) -> str:
        return f"TermSource({self._by_kind['']!r})"

    @property
    def names(self) -> tuple[str, ...]:
        """What its values are called, if there are several."""
        return self._by_kind[""].names

    @property
    def text_names(self) -> tuple[str, ...]:
        """Those that are texts."""
        return self._by_kind[""].text_names

    @property
    def at_start(self) -> str:
        """What to do if the endpoint can't be reached when a query begins."""
        return self._by_kind[""].at_start

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``, within ``deadline`` seconds."""
        texts = keys.tolist()
        kinds = np.array([_kind(text) for text in texts], object)
        if (kinds == "").all():
            return self._by_kind[""].fetch(keys, deadline)
        began = time.monotonic()
        whole, wait = Fetched.nothing(len(keys)), None
        for kind in dict.fromkeys(kinds.tolist()):
            if kind == "_:":
                continue
            rows = np.flatnonzero(kinds == kind)
            left = None if deadline is None else deadline - (time.monotonic() - began)
            mine = keys[rows] if kind == "" else _bodies([texts[row] for row in rows])
            got = self._asked(kind).fetch(mine, left)
            whole = whole.put(rows, got)
            wait = got.wait if wait is None else wait
        return replace(whole, seconds=time.monotonic() - began, wait=wait)

    def _asked(self, kind: str) -> Stack:
        """The source for one kind of keys: those with the same language, or datatype."""
        if kind not in self._by_kind:
            more: dict[str, Any] = {"key_as": "literal"}
            if kind.startswith('"@'):
                more["lang"] = kind[2:]
            elif kind.startswith('"^^'):
                more["datatype"] = kind[4:-1]
            self._by_kind[kind] = remote.sparql(self._url, **(self._settings | more))
        return self._by_kind[kind]

    def check(self, key: Key | None = None) -> Look | None:
        """Raise ``SourceError`` unless the endpoint answers, with a value if a key is given."""
        kind = "" if key is None else _kind(str(key))
        if key is None or kind in ("", "_:"):
            return self._by_kind[""].check(key)
        return self._asked(kind).check(unquoted([str(key)])[0])

    def close(self) -> None:
        """Close the connections."""
        for each in self._by_kind.values():
            each.close()


def _kind(text: str) -> str:
    """What follows the text of a literal, from its quote on; nothing for an IRI."""
    if text.startswith('"'):
        return text[text.rindex('"') :]
    return "_:" if text.startswith("_:") else ""


def _bodies(texts: list[str]) -> KeyArray:
    return np.array(unquoted(texts), object)
