"""Text → triples, as columns of numbers that stand for terms.

A term is written as N-Triples writes it, and always in the same way: nothing is escaped that
need not be, language tags are in small letters, and ``xsd:string`` is left out. Two terms are
the same if and only if their texts are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from rdflib.term import BNode, Identifier, Literal, URIRef

from topwater.model import BoolArray, IntArray
from topwater.rspql.rdf.ntriples import Bytes, buffers, gather, intern, scan

XSD = "http://www.w3.org/2001/XMLSchema#"
_STRING = f"^^<{XSD}string>"
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_NEEDED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"[ \t]*(?:@(\S+)|\^\^[ \t]*<(.*)>)?', re.DOTALL)
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_STATEMENT_PARTS = (1, 3, 5)
_GRAPH, _ODD = 7, 9


@dataclass(frozen=True, slots=True)
class Triples:
    """The triples of some events: no triple twice in one event.

    Attributes
    ----------
    event, subject, predicate, object
        The number of the event, and of the terms. Events ascend.
    terms
        The text of each term; all different.
    rows
        For each event, the row of the input that it came from.
    bad
        The row of the input, for each line that could not be read.
    """

    event: IntArray
    subject: IntArray
    predicate: IntArray
    object: IntArray
    terms: pa.Array
    rows: IntArray
    bad: IntArray

    def __len__(self) -> int:
        return len(self.event)


def read_lines(column: pa.Array, *, quads: bool = False) -> Triples:
    r"""The triples of a column of N-Triples or N-Quads: each row is an event.

    A row may have any number of statements, on one line or on several. In N-Quads, the
    statements of a row that share a graph are an event of their own.

    Examples
    --------
    >>> found = read_lines(pa.array(["<x:a> <x:p> \"1\" . # one\n<x:b> nonsense", None]))
    >>> found.terms.to_pylist(), found.event.tolist(), found.bad.tolist()
    (['<x:a>', '<x:p>', '"1"'], [0], [0, 1])
    """
    text = _compact(column)
    data, offsets = buffers(pc.fill_null(text, ""))
    found, bad = scan(data, offsets, quads)
    codes, terms, usable = _terms(data, found, quads)
    missing = np.flatnonzero(text.is_null().to_numpy(zero_copy_only=False))
    bad = np.sort(np.concatenate([bad, found[~usable, 0], missing]))
    codes, documents = codes[usable], found[usable, 0]
    event, rows = _events(documents, codes[:, 3] if quads else None, len(text))
    return of_codes(event, codes[:, 0], codes[:, 1], codes[:, 2], terms, rows, bad)


def of_codes(
    event: IntArray,
    subject: IntArray,
    predicate: IntArray,
    object: IntArray,  # noqa: A002
    terms: pa.Array,
    rows: IntArray,
    bad: IntArray,
) -> Triples:
    """Triples, with those left out that an event has twice. Events must ascend."""
    columns: list[IntArray] = [event, subject, predicate, object]
    if len(event) > 1 and not (np.diff(event) > 0).all():
        table = pa.table({str(number): column for number, column in enumerate(columns)})
        distinct = table.group_by(table.column_names, use_threads=False).aggregate([])
        if distinct.num_rows < len(event):
            columns = [column.to_numpy() for column in distinct.columns]
    return Triples(columns[0], columns[1], columns[2], columns[3], terms, rows, bad)


def _compact(column: pa.Array) -> pa.Array:
    """Large strings in one piece."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # of several chunks that together are too large
        column = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in column.chunks])
    return column.cast(pa.large_string())


def _terms(
    data: Bytes, found: IntArray, quads: bool
) -> tuple[npt.NDArray[np.int64], pa.Array, BoolArray]:
    """The terms of statements as numbers, their texts, and which statements can be used."""
    parts = [*_STATEMENT_PARTS, *([_GRAPH] if quads else [])]
    starts = np.concatenate([found[:, part] for part in parts])
    ends = np.concatenate([found[:, part + 1] for part in parts])
    numbers, firsts = intern(data, starts, ends)
    places, text = gather(data, starts[firsts], ends[firsts])
    terms = pa.LargeStringArray.from_buffers(len(firsts), pa.py_buffer(places), pa.py_buffer(text))
    usable: BoolArray = np.ones(len(found), np.bool_)
    if found[:, _ODD].any():
        odd = np.tile(found[:, _ODD] > 0, len(parts))
        terms, renamed = _respelt(terms, np.unique(numbers[odd]))
        numbers = renamed[numbers]
        usable = np.all(numbers.reshape(len(parts), -1) >= 0, axis=0)
    return numbers.reshape(len(parts), -1).T, terms, usable


def _respelt(terms: pa.Array, odd: IntArray) -> tuple[pa.Array, IntArray]:
    """The terms with those at ``odd`` written as we do; and for each its new number, or -1."""
    # No text at all is the graph of a statement that has none.
    texts = [each and canonical(each) for each in terms.take(odd).to_pylist()]
    spelt = pa.array(texts, pa.large_string())
    mask = np.zeros(len(terms), np.bool_)
    mask[odd] = True
    encoded = pc.replace_with_mask(terms, pa.array(mask), spelt).dictionary_encode()
    numbers = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return encoded.dictionary, numbers


def _events(documents: IntArray, graphs: IntArray | None, count: int) -> tuple[IntArray, IntArray]:
    """Per statement its event, and per event its row."""
    if graphs is None:
        return documents, np.arange(count)
    # Graphs are numbered from 0, so this is a number for each pair.
    many = int(graphs.max(initial=0)) + 1
    pairs, event = np.unique(documents * many + graphs, return_inverse=True)
    return event, pairs // many


def canonical(text: str) -> str | None:
    r"""A term in the one way in which it is written here; None if it is not a term.

    Examples
    --------
    >>> canonical('"\\u0041\\t"@EN'), canonical("<x:\\u00E9>"), canonical("<x:\\u0020>")
    ('"A\t"@en', '<x:é>', None)
    """
    try:
        if text.startswith("_:"):
            return text
        if text.startswith("<"):
            return _iri(text[1:-1])
        found = _LITERAL.fullmatch(text)
        if found is None:
            return None
        body = quoted(_unescaped(found[1]))
        if found[2]:
            return f"{body}@{found[2].lower()}"
        kind = _iri(found[3]) if found[3] else ""
        return None if kind is None else typed(body, kind)
    except (ValueError, OverflowError):
        return None


def quoted(text: str) -> str:
    """A text as a plain literal."""
    return '"' + re.sub(r'["\\\n\r]', lambda found: _NEEDED[found[0]], text) + '"'


def typed(body: str, kind: str) -> str:
    """A plain literal with its datatype, as ``<…>``, unless that is text."""
    return body if not kind or f"^^{kind}" == _STRING else f"{body}^^{kind}"


def _iri(text: str) -> str | None:
    text = _unescaped(text)
    return f"<{text}>" if _ABSOLUTE.match(text) and not _NOT_IN_IRI.search(text) else None


def _unescaped(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        if found[3]:
            return _SHORT.get(found[3], found[3])
        character = chr(int(found[1] or found[2], 16))
        character.encode()  # a half of a pair is not a character
        return character

    return _ESCAPE.sub(one, text) if "\\" in text else text


def text_of(term: Identifier) -> str:
    """A term of rdflib as it is written here.

    Examples
    --------
    >>> text_of(Literal("a", lang="EN")), text_of(Literal(5)), text_of(URIRef("x:a"))
    ('"a"@en', '"5"^^<http://www.w3.org/2001/XMLSchema#integer>', '<x:a>')
    """
    if isinstance(term, Literal):
        body = quoted(str(term))
        if term.language:
            return f"{body}@{term.language.lower()}"
        return typed(body, f"<{term.datatype}>" if term.datatype else "")
    return f"_:{term}" if isinstance(term, BNode) else f"<{term}>"


def term_of(text: str) -> Identifier:
    """The term that a text stands for, in brackets or, as keys have it, without.

    Examples
    --------
    >>> term_of("x:a") == term_of("<x:a>") == URIRef("x:a")
    True
    """
    if text.startswith("_:"):
        return BNode(text[2:])
    if not text.startswith('"'):
        return URIRef(text[1:-1] if text.startswith("<") else text)
    found = _LITERAL.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a term")
    kind = URIRef(found[3]) if found[3] else None
    return Literal(_unescaped(found[1]), lang=found[2], datatype=kind, normalize=False)


def unquoted(texts: Sequence[str]) -> list[str]:
    """The characters of literals that have escapes."""
    return [_unescaped(text[1 : text.rindex('"')]) for text in texts]
