"""Static data: files of RDF, registered by the IRIs by which a query names them in ``FROM``.

A file is read once, when the query begins, and never from anywhere but the path it was registered
with. What is found in it is joined with the solutions of each event.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import rdflib
from rdflib.term import Identifier, URIRef, Variable

from topwater.errors import QueryError
from topwater.model import BoolArray, IntArray
from topwater.rspql.plan.plan import Fact, Triple
from topwater.rspql.rdf.pattern_match import OWN_BLANK, joined, matched
from topwater.rspql.rdf.solutions import Bindings
from topwater.rspql.rdf.triples import Triples, read_lines, text_of

FORMATS = {".nt": "nt", ".ttl": "turtle", ".rdf": "xml", ".xml": "xml", ".owl": "xml"}
"""How a file is written, by how its name ends."""

_LOCK = threading.Lock()
_Statement: TypeAlias = tuple[str, str, str]
Graphs: TypeAlias = tuple[URIRef, ...]


@dataclass(frozen=True, slots=True)
class StaticData:
    """The triples of several graphs, over one set of terms.

    Attributes
    ----------
    graphs
        The graphs, by name, each with its number.
    graph, subject, predicate, object
        For each triple the number of its graph, and those of its terms.
    terms
        The text of each term; all different.
    """

    graphs: Mapping[URIRef, int]
    graph: IntArray
    subject: IntArray
    predicate: IntArray
    object: IntArray
    terms: pa.Array
    _found: dict[Fact | tuple[Fact, ...], Bindings] = field(
        default_factory=dict, repr=False, compare=False
    )

    @staticmethod
    def of(files: Mapping[URIRef, str | Path]) -> StaticData:
        """What is in some files.

        Raises
        ------
        QueryError
            If one is not there, or can't be read.
        """
        parts = [_read(name, path, at) for at, (name, path) in enumerate(files.items())]
        graph = np.repeat(np.arange(len(parts)), [len(each) for each in parts])
        texts = pa.array(
            [text for part in parts for row in part for text in row], pa.large_string()
        )
        encoded = texts.dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64).reshape(-1, 3)
        graphs = {name: at for at, name in enumerate(files)}
        s, p, o = codes.T
        return StaticData(graphs, graph, s, p, o, encoded.dictionary)

    def __len__(self) -> int:
        return len(self.graph)

    def matched(self, fact: Fact) -> Bindings:
        """The triples that fit a pattern; one that is in two graphs is there once."""
        if fact not in self._found:
            self._found[fact] = self._matched(fact)
        return self._found[fact]

    def _matched(self, fact: Fact) -> Bindings:
        columns = (self.subject, self.predicate, self.object)
        fits: BoolArray = np.isin(self.graph, [self.graphs[each] for each in fact.graphs])
        places: dict[str, IntArray] = {}
        for term, column in zip(fact.triple, columns, strict=True):
            if not isinstance(term, Variable):
                fits &= column == self._code(term)
            elif str(term) in places:
                fits &= column == places[str(term)]
            else:
                places[str(term)] = column
        triples = np.stack([column[fits] for column in columns], axis=1)
        _, first = np.unique(triples, axis=0, return_index=True)
        rows = np.flatnonzero(fits)[np.sort(first)]
        found = {name: column[rows] for name, column in places.items()}
        return Bindings(np.zeros(len(rows), np.int64), found, self.terms)

    def _code(self, term: Identifier) -> int:
        return int(pc.index(self.terms, pa.scalar(text_of(term), self.terms.type)).as_py())

    def solutions(self, facts: tuple[Fact, ...]) -> Bindings:
        """The solutions of several patterns, which join."""
        if facts not in self._found:
            waiting = [self.matched(each) for each in facts]
            found = waiting.pop(min(range(len(waiting)), key=lambda each: len(waiting[each])))
            while waiting:
                best = max(waiting, key=lambda e: (len(e.codes.keys() & found.codes), -len(e)))
                waiting = [each for each in waiting if each is not best]
                found = joined(found, best)
            self._found[facts] = found
        return self._found[facts]

    def beside(self, found: Bindings, facts: tuple[Fact, ...]) -> Bindings:
        """Solutions of events, each with every solution of the static data that agrees with it."""
        terms, codes = _recoded(found.terms, self.terms)
        return with_known(replace(found, terms=terms), self.solutions(facts), codes)

    def merged(self, triples: Triples, wanted: Iterable[Triple], graphs: Graphs) -> Bindings:
        """The solutions of a pattern over each event together with static data.

        A solution has one triple at least that its event says; a triple that both say is one.
        """
        terms, codes = _recoded(triples.terms, self.terms)
        triples = replace(triples, terms=terms)
        known: tuple[Fact, ...] = ()
        found: Bindings | None = None
        for triple in _connected(wanted):
            fact = Fact(triple, graphs)
            heard = matched(triples, triple)
            parts = [heard if not known else with_known(heard, self.solutions(known), codes)]
            if found is not None:
                parts = [*parts, joined(found, heard), with_known(found, self.matched(fact), codes)]
            found, known = _together(parts), (*known, fact)
        assert found is not None  # noqa: S101  a block has triples
        return found


def _recoded(mine: pa.Array, theirs: pa.Array) -> tuple[pa.Array, IntArray]:
    """All terms, and at which place in them those of the second array are."""
    places = pc.index_in(theirs, value_set=mine)
    new = np.asarray(places.is_null())
    codes = np.where(new, len(mine) + np.cumsum(new) - 1, pc.fill_null(places, 0))
    return pa.concat_arrays([mine, theirs.filter(pa.array(new)).cast(mine.type)]), codes


def with_known(found: Bindings, known: Bindings, codes: IntArray) -> Bindings:
    """Solutions of events, joined with what holds for every event.

    Parameters
    ----------
    found
        The solutions of events.
    known
        The others, whose terms have the numbers ``codes`` among those of the first.
    """
    nowhere = np.zeros(len(found), np.int64)
    place = {**found.codes, _PLACE: np.arange(len(found))}
    there = {name: codes[column] for name, column in known.codes.items()}
    pairs = joined(
        Bindings(nowhere, place, found.terms),
        Bindings(np.zeros(len(known), np.int64), there, found.terms),
    )
    rows = pairs.codes[_PLACE]
    return replace(found.take(rows), codes=pairs.without([_PLACE]).codes)


_PLACE = "place in solutions"
"""A name that no variable has."""


def _connected(wanted: Iterable[Triple]) -> Iterator[Triple]:
    """Triples in an order in which each shares a variable with those before, if one does."""
    waiting, names = list(wanted), set[Identifier]()
    while waiting:
        near = (each for each in waiting if names.intersection(each))
        chosen = next(near, waiting[0])
        waiting.remove(chosen)
        names |= {term for term in chosen if isinstance(term, Variable)}
        yield chosen


def _together(parts: list[Bindings]) -> Bindings:
    """Solutions found in several ways, each once for its event, in the order of events."""
    names = sorted(parts[0].codes)
    columns = [np.concatenate([each.event for each in parts])]
    columns += [np.concatenate([each.codes[name] for each in parts]) for name in names]
    table = pa.table({str(at): column for at, column in enumerate(columns)})
    distinct = table.group_by(table.column_names, use_threads=False).aggregate([])
    event, *codes = (each.to_numpy() for each in distinct.columns)
    order = np.argsort(event, kind="stable")
    found = {name: column[order] for name, column in zip(names, codes, strict=True)}
    return Bindings(event[order], found, parts[0].terms)


def _read(name: URIRef, path: str | Path, at: int) -> list[_Statement]:
    """The statements of a file; blank nodes are named after the file."""
    try:
        lines = list(_lines(Path(path)))
    except Exception as error:  # whatever a document does to a parser
        told = str(error).strip().splitlines() or [type(error).__name__]
        raise QueryError(
            f"{path} can't be read: {told[0][:200]}",
            field=f"files.<{name}>",
            fix=f"give a file of RDF whose name ends with one of {' '.join(FORMATS)}",
        ) from error
    own = f"{OWN_BLANK}{at}-"
    return [
        (own + s[2:] if s[:2] == "_:" else s, p, own + o[2:] if o[:2] == "_:" else o)
        for s, p, o in lines
    ]


def _lines(path: Path) -> Iterator[_Statement]:
    kind = FORMATS.get(path.suffix)
    if kind is None:
        raise ValueError(f"{path.suffix or 'no ending'!r} says nothing of how it is written")
    if kind == "nt":
        text = path.read_text(encoding="utf-8").splitlines()
        found = read_lines(pa.array(text, pa.large_string()))
        if len(found.bad):
            raise ValueError(f"line {int(found.bad[0]) + 1} is not N-Triples")
        terms = found.terms.to_pylist()
        columns = (found.subject, found.predicate, found.object)
        yield from zip(*([terms[code] for code in each] for each in columns), strict=True)
        return
    with path.open("rb") as file, _as_written():
        graph = rdflib.Graph().parse(file, format=kind, publicID=path.absolute().as_uri())
    for triple in graph:
        s, p, o = (text_of(cast("Identifier", term)) for term in triple)
        yield s, p, o


@contextmanager
def _as_written() -> Iterator[None]:
    """Literals as the file has them: a join compares them letter by letter."""
    with _LOCK:
        before, rdflib.NORMALIZE_LITERALS = rdflib.NORMALIZE_LITERALS, False
        try:
            yield
        finally:
            rdflib.NORMALIZE_LITERALS = before
