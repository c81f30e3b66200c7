"""How events are written: as RDF in a column of text, or as columns of a table."""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rdflib import Dataset
from rdflib.term import URIRef, Variable

from topwater.model import BoolArray, Frozen, IntArray
from topwater.rspql.plan.condition_kinds import AllOf, AnyOf, Condition, Not, SameTerm, Text
from topwater.rspql.plan.conditions import names_in
from topwater.rspql.plan.plan import Derived, EventPattern, Holds
from topwater.rspql.rdf.solutions import Bindings
from topwater.rspql.rdf.term_values import variable_in
from topwater.rspql.rdf.triples import XSD, Triples, of_codes, read_lines
from topwater.validation import unknown

Format = Literal["ntriples", "nquads", "jsonld"]
_DEEPEST = 100
_WHOLE = 2**53
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*[\\"]?', re.DOTALL)
"""Also one that is never closed: to look for its end anew at each quote in it takes for ever."""
_BRACKET = re.compile(r"[\[\]{}]")
_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"))


@dataclass(frozen=True, slots=True)
class Documents:
    """Each row has a time, and an event as RDF in a column of text.

    Parameters
    ----------
    text, time
        The columns.
    format
        ``"ntriples"``: any number of triples. ``"nquads"``: the statements of a row that share a
        graph are an event of their own. ``"jsonld"``: one JSON document; a context that would
        have to be loaded from elsewhere makes it unreadable.
    """

    text: str = "value"
    time: str = "time"
    format: Format = "ntriples"

    def __post_init__(self) -> None:
        if self.format not in get_args(Format):
            raise unknown(self.format, get_args(Format), "format")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return (self.time, self.text)

    def triples(self, events: pa.Table) -> Triples:
        """All triples of the events."""
        column = events.column(self.text)
        if self.format != "jsonld":
            return read_lines(column, quads=self.format == "nquads")
        read = _json_ld_reader()
        lines = [None if text is None else _read(read, text) for text in column.to_pylist()]
        return read_lines(pa.array(lines, pa.large_string()), quads=True)


def _read(read: Callable[[str], str], text: str) -> str | None:
    """A JSON-LD document as N-Quads; None if it is none.

    Plain JSON is read as a document without triples, which is never what was meant.
    """
    try:
        found = read(text) if _depth(text) <= _DEEPEST else None
        return found if found and found.strip() else None
    except Exception:  # whatever a document does to a parser, it is one bad event
        return None


def _depth(text: str) -> int:
    """How deep a document is nested, if it can be deep at all: Oxigraph's stack has an end."""
    if text.count("[") + text.count("{") <= _DEEPEST:
        return 0
    deepest = depth = 0
    for bracket in _BRACKET.findall(_JSON_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


@functools.cache
def _json_ld_reader() -> Callable[[str], str]:
    """The parser that there is: that of Oxigraph is much the faster."""
    if importlib.util.find_spec("pyoxigraph") is None:
        return _with_rdflib
    import pyoxigraph as ox

    def read(text: str) -> str:
        found = ox.parse(text, format=ox.RdfFormat.JSON_LD)
        return (ox.serialize(found, format=ox.RdfFormat.N_QUADS) or b"").decode()

    return read


def _with_rdflib(text: str) -> str:
    document = json.loads(text)
    if any(isinstance(each, str) for each in _contexts(document)):
        raise ValueError("a context that would have to be loaded")
    with warnings.catch_warnings():
        # Its own parser and serializer use what it calls deprecated.
        warnings.simplefilter("ignore", DeprecationWarning)
        return Dataset().parse(data=text, format="json-ld").serialize(format="nquads")


def _contexts(node: Any) -> Iterator[Any]:
    """Every context of a document, and what each imports."""
    if isinstance(node, list):
        for each in node:
            yield from _contexts(each)
    if isinstance(node, dict):
        for name, each in node.items():
            if name in ("@context", "@import"):
                yield from each if isinstance(each, list) else [each]
            yield from _contexts(each)


@dataclass(frozen=True, slots=True)
class Columns:
    """Each row is an event: a subject, and one triple for each column that is not null.

    Parameters
    ----------
    subject
        The column that names the subject.
    predicates
        The column of each predicate, by its IRI.
    time
        The column with the time.
    namespace
        What stands before each subject to make it an IRI.
    iris
        Columns of text whose values are IRIs. All others are literals.
    """

    subject: str
    predicates: Mapping[str, str]
    time: str = "time"
    namespace: str = ""
    iris: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "predicates", Frozen(self.predicates))
        object.__setattr__(self, "iris", tuple(self.iris))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(dict.fromkeys([self.time, self.subject, *self.predicates.values()]))

    def bad(self, events: pa.Table) -> IntArray:
        """The rows without a subject."""
        return np.flatnonzero(events.column(self.subject).is_null().to_numpy())

    def triples(self, events: pa.Table) -> Triples:
        """All triples of the events."""
        subject = self._subjects(events)
        event = np.arange(len(subject))
        parts = [
            pa.table(
                {
                    "event": event,
                    "subject": subject,
                    "predicate": pa.repeat(_large(f"<{predicate}>"), len(subject)),
                    "object": self._objects(events, name),
                }
            )
            for predicate, name in self.predicates.items()
        ]
        table = pa.concat_tables(parts).drop_null().sort_by("event")
        roles = [_one(table.column(name)) for name in ("subject", "predicate", "object")]
        encoded = pa.concat_arrays(roles).dictionary_encode()
        s, p, o = encoded.indices.to_numpy().astype(np.int64).reshape(3, -1)
        event, rows = table.column("event").to_numpy(), np.arange(events.num_rows)
        return of_codes(event, s, p, o, encoded.dictionary, rows, self.bad(events))

    def bindings(
        self, events: pa.Table, pattern: EventPattern, terms: tuple[str, ...]
    ) -> Bindings | None:
        """The solutions of a pattern's triples, straight from the columns.

        Variables in ``terms`` are bound to terms, and others to numbers if that is what they are.
        That is possible where all triples have the same variable for a subject, a predicate that
        is known, and different variables for objects; None otherwise.
        """
        found = self._places(pattern)
        if found is None:
            return None
        who, places = found
        there: BoolArray = np.ones(events.num_rows, np.bool_)
        for name in {self.subject, *places.values()}:
            there &= events.column(name).is_valid().to_numpy()
        rows = np.flatnonzero(there)
        events = events.take(rows)
        texts = {who: self._subjects(events)}
        bound = {}
        compared = {variable_in(name) for each in _conditions(pattern) for name in names_in(each)}
        for variable, name in places.items():
            column = events.column(name)
            if variable not in terms and _is_double(column, variable in compared):
                bound[variable] = column.cast(pa.float64(), safe=False).to_numpy()
            else:
                texts[variable] = self._objects(events, name)
        encoded = pa.concat_arrays(list(texts.values())).dictionary_encode()
        codes = encoded.indices.to_numpy().astype(np.int64).reshape(len(texts), -1)
        whole = {n for n in bound if pa.types.is_integer(events.column(places[n]).type)}
        return Bindings(
            rows,
            dict(zip(texts, codes, strict=True)),
            encoded.dictionary,
            bound,
            whole=frozenset(whole),
        )

    def _places(self, pattern: EventPattern) -> tuple[str, dict[str, str]] | None:
        """The subject's variable, and the column of each object's."""
        subjects = {triple[0] for triple in pattern.triples}
        objects = [triple[2] for triple in pattern.triples]
        names = [self.predicates.get(str(triple[1])) for triple in pattern.triples]
        variables = {*subjects, *objects}
        if (
            len(subjects) > 1
            or len(variables) < 1 + len(objects)
            or not all(isinstance(each, Variable) for each in variables)
            or not all(isinstance(triple[1], URIRef) for triple in pattern.triples)
            or None in names
            or pattern.facts
            or pattern.beside
            or any(isinstance(each, Derived) for each in pattern.binds)
            or any(_needs_terms(each) for each in _conditions(pattern))
        ):
            return None
        found = {str(each): str(name) for each, name in zip(objects, names, strict=True)}
        return str(subjects.pop()), found

    def _subjects(self, events: pa.Table) -> pa.Array:
        column = _one(events.column(self.subject)).cast(pa.large_string())
        return _between(f"<{self.namespace}", column, ">")

    def _objects(self, events: pa.Table, name: str) -> pa.Array:
        """A column as terms."""
        column = _one(events.column(name))
        if name in self.iris:
            return _between("<", column.cast(pa.large_string()), ">")
        return literals(column)


def literals(column: pa.Array) -> pa.Array:
    r"""A column of numbers, texts, truth values or times as literals.

    Examples
    --------
    >>> literals(pa.array([True, None])).to_pylist()
    ['"true"^^<http://www.w3.org/2001/XMLSchema#boolean>', None]
    >>> print(literals(pa.array(['say "no"']))[0])
    "say \"no\""
    """
    kind, texts = "", column
    if pa.types.is_boolean(column.type):
        kind = "boolean"
    elif pa.types.is_integer(column.type):
        kind = "integer"
    elif pa.types.is_floating(column.type):
        kind = "double" if pa.types.is_float64(column.type) else "float"
    elif pa.types.is_decimal(column.type):
        kind = "decimal"
    elif pa.types.is_timestamp(column.type):
        kind = "dateTime"
        texts = pc.strftime(column, format="%Y-%m-%dT%H:%M:%S" + ("Z" if column.type.tz else ""))
    texts = texts.cast(pa.large_string())
    if kind in ("double", "float"):
        for ours, theirs in (("inf", "INF"), ("-inf", "-INF"), ("nan", "NaN")):
            texts = pc.if_else(pc.equal(texts, ours), theirs, texts)
    if not kind:
        for character, written in _ESCAPES:
            texts = pc.replace_substring(texts, character, written)
    return _between('"', texts, f'"^^<{XSD}{kind}>' if kind else '"')


def _between(before: str, column: pa.Array, after: str) -> pa.Array:
    """Texts with something before and after each."""
    return pc.binary_join_element_wise(_large(before), column, _large(after), _large(""))


def _large(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _is_double(column: pa.ChunkedArray, compared: bool) -> bool:
    """Are all its numbers doubles, or the same as doubles wherever they are compared?"""
    kind = column.type
    if pa.types.is_float64(kind):
        return True
    if pa.types.is_integer(kind):
        ends = pc.min_max(column).as_py()
        return not compared or all(abs(each or 0) < _WHOLE for each in ends.values())
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind)) and not compared


def _conditions(pattern: EventPattern) -> list[Condition]:
    """All that terms or numbers are compared by."""
    asked = (bind.condition for bind in pattern.binds if isinstance(bind, Holds))
    return [*pattern.filters, *asked]


def _needs_terms(condition: Condition) -> bool:
    """Does a condition look at the text of a term, which a column of numbers has not?"""
    if isinstance(condition, AllOf | AnyOf):
        return any(_needs_terms(each) for each in condition.parts)
    return (
        _needs_terms(condition.part)
        if isinstance(condition, Not)
        else isinstance(condition, Text | SameTerm)
    )
