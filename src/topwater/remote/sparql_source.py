"""A source that asks a SPARQL endpoint, with the keys in a ``VALUES`` block or one by one."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import quote, urlencode

from topwater.errors import SourceError
from topwater.model import Fetched, Key, KeyArray
from topwater.remote.found_values import Found
from topwater.remote.graph_pattern import (
    checked_pattern,
    predicate_advice,
    require_name,
    substituted,
)
from topwater.remote.http_client import LARGEST, Ask, Requester
from topwater.remote.key_values import OTHER_TYPE, failed, key_text, require_one_column
from topwater.remote.look import Look, excerpt, look_of, no_value
from topwater.remote.rdf_terms import (
    NUMBER_FORMS,
    XSD,
    checked_datatype,
    checked_namespace,
    checked_prefixes,
    iri,
    literal,
    require_lang,
)
from topwater.remote.replies import Reply
from topwater.remote.request_template import LONGEST
from topwater.remote.service import MOST, Service, filled, most_of, positive, require_reached
from topwater.remote.wanted_values import (
    Places,
    Wanted,
    names_of,
    text_names_of,
    wanted_values,
)
from topwater.validation import checked_call, choice_of

_RESULTS = "application/sparql-results+json"


@checked_call()
class SparqlSource:
    """Asks a SPARQL endpoint for the values of keys.

    One call of :meth:`fetch` is one query, for at most :attr:`most` keys. A key that has two
    different values is reported as ``"doubled"``, unless ``value`` says which of them counts.

    Parameters
    ----------
    endpoint
        Its address. ``${NAME}`` is the environment variable NAME, here and in ``headers``.
    pattern
        The graph pattern, without the braces around it: ``"?user ex:followers ?followers"``.
    key, value
        The variables of the pattern that stand for the key and for the value. Where a key has
        several values, ``max(price)``, ``min(price)``, ``mean(price)``, ``sum(price)``,
        ``count()`` or ``sample(price)`` says what becomes of them; the endpoint does it, unless
        ``typed`` or ``one_by_one``. For several values of a key, a mapping of names to variables.
    text
        The same for texts, which are shown.
    per_request
        How many keys a query asks for.
    one_by_one
        For endpoints of SPARQL 1.0, which know no ``VALUES``: one key a query, put into the
        pattern in place of its variable.
    method
        ``"POST"`` or ``"GET"``.
    prefixes
        Names for the beginnings of IRIs in the pattern. ``xsd`` is known.
    key_as
        Whether keys are IRIs or literals. A key that is not an IRI has no value.
    namespace
        What stands before each key to make it an IRI.
    datatype, lang
        For literals: the datatype, as an IRI or with a prefix, or the language. Whole numbers
        are of type ``xsd:integer`` and other keys plain text, unless told otherwise.
    typed
        Whether only literals with a datatype of numbers are numbers, as in SPARQL itself. If not,
        texts that read as numbers are, and truth values are 1 and 0.
    headers, timeout, largest, verify
        As for :class:`~topwater.remote.http_source.HttpSource`.

    Examples
    --------
    >>> source = SparqlSource(
    ...     "https://data.example/sparql", "?user ex:followers ?followers",
    ...     key="user", value="followers",
    ...     prefixes={"ex": "http://example.org/"}, namespace="http://example.org/user/",
    ... )
    >>> print(source.query(["7", "8", "> } UNION {"]))
    PREFIX ex: <http://example.org/>
    SELECT DISTINCT ?user ?followers WHERE {
    VALUES ?user { <http://example.org/user/7> <http://example.org/user/8> }
    ?user ex:followers ?followers
    }
    """

    def __init__(
        self,
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
    ) -> None:
        self._service = Service.of(endpoint, headers, "endpoint")
        self.key = require_name(key, "key")
        self.wanted = tuple(_variable(each) for each in wanted_values(value, text))
        self.names, self.text_names = names_of(self.wanted), text_names_of(self.wanted)
        for each in self.wanted:
            self.pattern = checked_pattern(pattern, self.key, each.place or self.key)
        self.prefixes = checked_prefixes(prefixes)
        self.one_by_one = one_by_one
        self.most = most_of(per_request, 1, 1) if one_by_one else most_of(per_request, 100, MOST)
        self._method = choice_of(method, ("POST", "GET"), "method")
        self._key_as = choice_of(key_as, ("iri", "literal"), "key_as")
        self._namespace = checked_namespace(namespace, self._key_as)
        require_lang(lang)
        self._lang = lang
        self._datatype = checked_datatype(datatype, self.prefixes, lang)
        self._typed = typed
        # Where types count, only we know which values are numbers; SPARQL 1.0 merges none.
        self._merges = not (typed or one_by_one) and all(each.merge for each in self.wanted)
        self._timeout = positive(timeout, "timeout")
        self._requester = Requester(largest=int(positive(largest, "largest")), verify=verify)

    def __repr__(self) -> str:
        return repr(self._service).replace("Service", "SparqlSource", 1)

    def take_keys(self, columns: Sequence[str]) -> None:
        """Raise unless keys are of one column: each is one term."""
        require_one_column(columns)

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``, within ``deadline`` seconds, by one query."""
        began = time.monotonic()
        if len(keys) > self.most:
            raise ValueError(f"{len(keys)} keys in one request, which takes {self.most} at most")
        given = keys.tolist()
        texts = [key_text(key) for key in given]
        asked = self._terms(given)
        if not asked:
            return Found(self.wanted).fetched(texts, time.monotonic() - began)
        try:
            ask = self._ask(self._query(asked))
        except KeyError:  # an environment variable is not set
            return failed(texts, set(asked), "client", time.monotonic() - began)
        reply = self._requester.request(ask, deadline, self._timeout)
        found = self._read(reply, asked)
        seconds = time.monotonic() - began
        if isinstance(found, Found):
            return found.fetched(texts, seconds)
        return failed(texts, set(asked), found.problem or "garbled", seconds, found.wait)

    def query(self, keys: list[Any]) -> str:
        """The query for these keys, as it is sent."""
        return self._query(self._terms(keys))

    def check(self, key: Key | None = None) -> Look | None:
        """See if the endpoint answers the simplest query; with a key, ask for its value too.

        Raises
        ------
        SourceError
            If it does not; or with a key, if there is no usable value for it.
        """
        self._service.require_variables()
        reply = self._requester.request(self._ask("ASK { }"), None, self._timeout)
        require_reached(reply, self._service.shown, "endpoint")
        try:
            answered = reply.problem is None and "boolean" in json.loads(reply.body)
        except (ValueError, TypeError, RecursionError):
            answered = False
        if not answered:
            raise SourceError(
                f"{self._service.shown} answers no SPARQL query (status {reply.status})",
                field="endpoint",
                fix="give the address to which queries are sent, as https://data.example/sparql",
            )
        return None if key is None else self._look(key)

    def _look(self, key: Key) -> Look:
        terms = self._terms([key])
        if not terms:
            fix = 'write namespace="http://example.org/user/", or key_as="literal"'
            raise no_value(key, "not_found", f"{key!r}, which is not an IRI", "namespace", fix)
        ((text, term),) = terms.items()
        reply = self._requester.request(self._ask(self._query(terms)), None, self._timeout)
        found = self._read(reply, terms)
        if not isinstance(found, Found):
            raise SourceError(
                f"{self._service.shown} does not answer the pattern "
                f"(status {reply.status}, {found.problem})",
                field="pattern",
                fix="check the pattern and its prefixes",
            )
        said = excerpt(reply.body, self._service.secrets())
        for at, wanted in enumerate(self.wanted):
            reason = "" if wanted.text else found.matches(at).reason(text)
            if reason == "doubled":
                fix = f"say which of them counts, as max({wanted.place})"
                raise no_value(key, reason, said, wanted.setting, fix)
            if reason == "not_found" and wanted.merge != "count":
                fix = self._similar(term)
                raise no_value(key, reason, f"the pattern, for {term}", "pattern", fix)
            if reason not in ("", "not_found"):
                raise no_value(key, reason, said, wanted.setting)
        where = ", ".join(f"?{wanted.place or self.key}" for wanted in self.wanted)
        return look_of(found.fetched([text], 0.0), key, said, where)

    def _similar(self, term: str) -> str:
        """The predicate that was probably meant; what the endpoint knows of the key."""
        query = f"SELECT DISTINCT ?p WHERE {{ {term} ?p ?o }} LIMIT 100"
        reply = self._requester.request(self._ask(query), None, self._timeout)
        try:
            rows = json.loads(reply.body)["results"]["bindings"]
            known = [str(row["p"]["value"]) for row in rows]
        except (ValueError, LookupError, TypeError, RecursionError):
            known = []
        return predicate_advice(self.pattern, term, known)

    def close(self) -> None:
        """Close the connections. A later fetch opens new ones."""
        self._requester.close()

    def _terms(self, keys: list[Any]) -> dict[str, str]:
        """The keys that can be asked for, by their texts, as terms."""
        found = {}
        for key in keys:
            text = key_text(key)
            term = self._term(key, text) if len(text) <= LONGEST else None
            if term is not None:
                found[text] = term
        return found

    def _term(self, key: Any, text: str) -> str | None:
        if self._key_as == "iri":
            return iri(self._namespace + text) if text else None
        if self._datatype is None and self._lang is None and isinstance(key, int):
            return literal(text, f"<{XSD}integer>")
        return literal(text, self._datatype, self._lang)

    def _query(self, terms: Mapping[str, str]) -> str:
        head = [f"PREFIX {name}: <{start}>" for name, start in self.prefixes.items()]
        shown = " ".join(dict.fromkeys(each for each in self._shown() if each))
        if self.one_by_one:
            term = next(iter(terms.values()), "")
            pattern = substituted(self.pattern, self.key, term)
            return "\n".join([*head, f"{self._select} {shown or '*'} WHERE {{", pattern, "}"])
        block = f"VALUES ?{self.key} {{ {' '.join(terms.values())} }}"
        lines = [f"{self._select} ?{self.key} {shown} WHERE {{", block, self.pattern, "}"]
        return "\n".join([*head, *lines, *([f"GROUP BY ?{self.key}"] if self._merges else [])])

    def _shown(self) -> Iterator[str]:
        """What is selected of each value that is wanted."""
        for at, each in enumerate(self.wanted):
            if not self._merges:
                yield f"?{each.place}" if each.place else ""
                continue
            # As numbers: the greatest of texts is not that of the numbers that they write.
            inside = f"STR(?{each.place})" if each.text else f"<{XSD}double>(?{each.place})"
            inside = f"?{each.place or self.key}" if each.merge == "count" else inside
            yield f"({_AGGREGATES[str(each.merge)]}({inside}) AS ?{_MERGED}{at})"

    @property
    def _select(self) -> str:
        # Of a mean, a sum and a count, equal solutions are parts as often as they are there.
        whole = any(each.merge in ("mean", "sum", "count") for each in self.wanted)
        return "SELECT" if whole or self._merges else "SELECT DISTINCT"

    def _ask(self, query: str) -> Ask:
        headers = {"Accept": _RESULTS} | self._service.sent_headers()
        url = filled(self._service.url, encoded=True)
        if self._method == "GET":
            return Ask("GET", f"{url}{'&' if '?' in url else '?'}query={quote(query)}", headers)
        headers = {"Content-Type": "application/x-www-form-urlencoded"} | headers
        return Ask("POST", url, headers, urlencode({"query": query}).encode())

    def _read(self, reply: Reply, asked: Mapping[str, str]) -> Found | Reply:
        """What the endpoint said of the keys; or its reply, if that says nothing."""
        if reply.problem is not None:
            return reply
        try:
            return self._matches(json.loads(reply.body)["results"]["bindings"], asked)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return Reply("garbled")

    def _matches(self, rows: list[dict[str, Any]], asked: Mapping[str, str]) -> Found:
        """Rows in which a key or a value is of another kind than asked for match nothing."""
        if not isinstance(rows, list):
            raise TypeError("no rows")
        by_key: dict[str, list[list[Any]]] = {}
        for row in rows:
            text = next(iter(asked)) if self.one_by_one else self._key_in(row)
            if text in asked:
                by_key.setdefault(text, []).append([*self._values_in(row)])
        found = Found([each.merged for each in self.wanted] if self._merges else self.wanted)
        for text, values in by_key.items():
            for each in values:
                if self._typed and len(values) > 1 and self.wanted[0].merge is not None:
                    each = [OTHER_TYPE if value is None else value for value in each]
                found.add(text, each)
        return found

    def _values_in(self, row: Mapping[str, Any]) -> Iterator[Any]:
        for at, wanted in enumerate(self.wanted):
            name = f"{_MERGED}{at}" if self._merges else wanted.place or self.key
            term = row.get(name)
            if wanted.merge == "count" and not (wanted.place or self._merges):
                yield row
            elif term is None:
                yield None
            elif wanted.text or (wanted.merge == "count" and not self._merges):
                yield str(term["value"])
            else:
                yield _typed_value(term) if self._typed else _value(term)

    def _key_in(self, row: Mapping[str, Any]) -> str:
        term = row[self.key]
        if (term["type"] == "uri") != (self._key_as == "iri"):
            return ""
        text = str(term["value"])
        return text[len(self._namespace) :] if text.startswith(self._namespace) else ""


_MERGED = "topwater_merged_"
_AGGREGATES = {
    "max": "MAX",
    "min": "MIN",
    "mean": "AVG",
    "sum": "SUM",
    "count": "COUNT",
    "sample": "SAMPLE",
}


def _variable(wanted: Wanted) -> Wanted:
    """A value by the name of its variable, which may have its question mark."""
    if wanted.merge == "count" and not wanted.place:
        return wanted
    return replace(wanted, place=require_name(wanted.place.removeprefix("?"), wanted.setting))


def _typed_value(term: Mapping[str, Any]) -> Any:
    """The text of a literal whose datatype is one of numbers, if that is how it is written."""
    kind = str(term.get("datatype", "")).removeprefix(XSD)
    text = str(term["value"])
    form = NUMBER_FORMS.get(kind) if term["type"] in ("literal", "typed-literal") else None
    return text if form is not None and form.fullmatch(text) else OTHER_TYPE


def _value(term: Mapping[str, Any]) -> str | bool | float:
    """The text of a literal, or the truth value that it is; others are not numbers."""
    if term["type"] not in ("literal", "typed-literal"):
        return math.nan
    text = str(term["value"])
    if term.get("datatype") == f"{XSD}boolean" and text in ("true", "false"):
        return text == "true"
    return text
