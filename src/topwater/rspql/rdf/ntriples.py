"""Finds the terms of N-Triples and N-Quads in bytes, compiled.

The loops below work on the buffer of an Arrow column and give back positions in it: no term
becomes a Python object. A regular expression with groups takes about ten times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from topwater.model import BoolArray, IntArray

Bytes = npt.NDArray[np.uint8]

_compiled = njit(cache=True, nogil=True)
_FAILED = -1
_TAB, _LINE, _RETURN, _SPACE, _QUOTE, _HASH, _DOT = 9, 10, 13, 32, 34, 35, 46
_COLON, _LESS, _MORE, _AT, _BACKSLASH, _HAT, _UNDERSCORE, _DASH = 58, 60, 62, 64, 92, 94, 95, 45
_XSD_STRING = 43
"""The length of ``^^<http://www.w3.org/2001/XMLSchema#string>``."""

_BASIS = np.uint64(14695981039346656037)
_PRIME = np.uint64(1099511628211)


def _table(text: bytes) -> BoolArray:
    found = np.zeros(256, np.bool_)
    found[list(text)] = True
    return found


_LETTERS = bytes(range(65, 91)) + bytes(range(97, 123))
_DIGITS = b"0123456789"
_LETTER = _table(_LETTERS)
_WORD = _table(_LETTERS + _DIGITS)
_UPPER = _table(bytes(range(65, 91)))
_SCHEME = _table(_LETTERS + _DIGITS + b"+-.")
_IN_IRI = ~_table(bytes(range(33)) + b'<>"{}|^`\\')
_LABEL_FIRST = _table(_LETTERS + _DIGITS + b"_" + bytes(range(128, 256)))
_LABEL = _table(_LETTERS + _DIGITS + b"_-." + bytes(range(128, 256)))
_HEX = _table(_DIGITS + b"abcdefABCDEF")
_SHORT = _table(b"tbnrf\"'\\")


@_compiled
def _skip(data: Bytes, at: int, end: int) -> int:
    while at < end and (data[at] == _SPACE or data[at] == _TAB):
        at += 1
    return at


@_compiled
def _line_end(data: Bytes, at: int, end: int) -> int:
    while at < end and data[at] != _LINE and data[at] != _RETURN:
        at += 1
    return at


@_compiled
def _escape(data: Bytes, at: int, end: int, short: bool) -> int:
    """Behind the escape that begins at ``at``."""
    if at + 1 >= end:
        return _FAILED
    kind = data[at + 1]
    if short and _SHORT[kind]:
        return at + 2
    digits = 4 if kind == 117 else 8 if kind == 85 else 0
    if digits == 0 or at + 2 + digits > end:
        return _FAILED
    for place in range(at + 2, at + 2 + digits):
        if not _HEX[data[place]]:
            return _FAILED
    return at + 2 + digits


@_compiled
def _iri(data: Bytes, at: int, end: int) -> tuple[int, bool]:
    """Behind the IRI that begins at ``at``, and whether it has escapes."""
    odd = False
    scheme = True
    at += 1
    first = at
    while at < end and data[at] != _MORE:
        byte = data[at]
        if byte == _BACKSLASH:
            odd = True
            scheme = False
            at = _escape(data, at, end, False)
            if at == _FAILED:
                return _FAILED, odd
            continue
        if not _IN_IRI[byte]:
            return _FAILED, odd
        if scheme:
            if byte == _COLON and at > first:
                scheme = False
            elif not (_LETTER[byte] if at == first else _SCHEME[byte]):
                return _FAILED, odd
        at += 1
    if at >= end or scheme:
        return _FAILED, odd
    return at + 1, odd


@_compiled
def _blank(data: Bytes, at: int, end: int) -> int:
    """Behind the blank node that begins at ``at``."""
    at += 2
    if at >= end or data[at - 1] != _COLON or not _LABEL_FIRST[data[at]]:
        return _FAILED
    while at < end and _LABEL[data[at]]:
        at += 1
    while data[at - 1] == _DOT:
        at -= 1
    return at


@_compiled
def _tag(data: Bytes, at: int, end: int) -> tuple[int, bool]:
    """Behind the language that begins at ``at``, and whether it has capitals."""
    odd = False
    at += 1
    first = at
    while at < end and _LETTER[data[at]]:
        odd |= _UPPER[data[at]]
        at += 1
    if at == first:
        return _FAILED, odd
    while at + 1 < end and data[at] == _DASH and _WORD[data[at + 1]]:
        at += 1
        while at < end and _WORD[data[at]]:
            odd |= _UPPER[data[at]]
            at += 1
    return at, odd


@_compiled
def _literal(data: Bytes, at: int, end: int) -> tuple[int, bool]:
    """Behind the literal that begins at ``at``, and whether it may be written otherwise."""
    odd = False
    at += 1
    while at < end and data[at] != _QUOTE:
        if data[at] == _BACKSLASH:
            odd = True
            at = _escape(data, at, end, True)
            if at == _FAILED:
                return _FAILED, odd
        elif data[at] == _LINE or data[at] == _RETURN:
            return _FAILED, odd
        else:
            at += 1
    if at >= end:
        return _FAILED, odd
    at += 1
    suffix = _skip(data, at, end)
    if suffix < end and data[suffix] == _AT:
        after, capitals = _tag(data, suffix, end)
        return after, odd or capitals or suffix > at
    if suffix + 1 < end and data[suffix] == _HAT and data[suffix + 1] == _HAT:
        kind = _skip(data, suffix + 2, end)
        if kind >= end or data[kind] != _LESS:
            return _FAILED, odd
        after, escaped = _iri(data, kind, end)
        text = after - at == _XSD_STRING and data[after - 2] == 103 and data[after - 7] == 115
        return after, odd or escaped or suffix > at or kind > suffix + 2 or text
    return at, odd


@_compiled
def _term(data: Bytes, at: int, end: int, literals: bool) -> tuple[int, bool]:
    """Behind the term that begins at ``at``."""
    if at < end:
        if data[at] == _LESS:
            return _iri(data, at, end)
        if data[at] == _UNDERSCORE:
            return _blank(data, at, end), False
        if literals and data[at] == _QUOTE:
            return _literal(data, at, end)
    return _FAILED, False


@_compiled
def _statement(data: Bytes, at: int, end: int, quads: bool, row: IntArray) -> int:
    """Behind the full stop of the statement at ``at``; its places and oddities go to ``row``."""
    row[1:] = 0
    for part in range(4):
        at = _skip(data, at, end)
        if part == 3 and (not quads or at >= end or data[at] == _DOT):
            break
        if part == 1 and (at >= end or data[at] != _LESS):
            return _FAILED
        after, odd = _term(data, at, end, part == 2)
        if after == _FAILED:
            return _FAILED
        row[1 + 2 * part], row[2 + 2 * part] = at, after
        row[9] |= odd
        at = after
    at = _skip(data, at, end)
    if at >= end or data[at] != _DOT:
        return _FAILED
    return at + 1


@_compiled
def scan(data: Bytes, offsets: IntArray, quads: bool) -> tuple[IntArray, IntArray]:
    """The statements of documents, and the documents of the lines that are none.

    Returns
    -------
    statements
        One row for each: its document; where its subject, predicate, object and graph begin and
        end (the graph at 0 and 0 if there is none); and whether a term may be written otherwise.
    bad
        The number of the document, for each line with something that is not a statement.
    """
    found = np.empty((len(offsets), 10), np.int64)
    bad = np.empty(16, np.int64)
    count = wrong = 0
    for document in range(len(offsets) - 1):
        at, end = offsets[document], offsets[document + 1]
        while True:
            while (
                at < end
                and data[at] <= _SPACE
                and (
                    data[at] == _SPACE
                    or data[at] == _TAB
                    or data[at] == _LINE
                    or data[at] == _RETURN
                )
            ):
                at += 1
            if at >= end:
                break
            if data[at] == _HASH:
                at = _line_end(data, at, end)
                continue
            if count == len(found):
                found = np.concatenate((found, np.empty_like(found)))
            after = _statement(data, at, end, quads, found[count])
            if after == _FAILED:
                if wrong == len(bad):
                    bad = np.concatenate((bad, np.empty_like(bad)))
                bad[wrong] = document
                wrong += 1
                at = _line_end(data, at, end)
            else:
                found[count, 0] = document
                count += 1
                at = after
    return found[:count], bad[:wrong]


@_compiled
def _same(data: Bytes, a: int, b: int, length: int) -> bool:
    for place in range(length):  # noqa: SIM110  numba knows no generators
        if data[a + place] != data[b + place]:
            return False
    return True


@_compiled
def intern(data: Bytes, starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Equal stretches of bytes get the same number.  Also: where each number first occurs."""
    size = 64
    while size < 2 * len(starts):
        size *= 2
    slots = np.full(size, -1, np.int64)
    hashes = np.empty(len(starts), np.uint64)
    firsts = np.empty(len(starts), np.int64)
    codes = np.empty(len(starts), np.int64)
    known = 0
    for row in range(len(starts)):
        value = _BASIS
        for place in range(starts[row], ends[row]):
            value = (value ^ np.uint64(data[place])) * _PRIME
        length = ends[row] - starts[row]
        slot = np.int64((value ^ (value >> np.uint64(32))) & np.uint64(size - 1))
        while True:
            code = slots[slot]
            if code < 0:
                slots[slot] = code = known
                hashes[code], firsts[code] = value, row
                known += 1
                break
            first = firsts[code]
            if (
                hashes[code] == value
                and ends[first] - starts[first] == length
                and _same(data, starts[first], starts[row], length)
            ):
                break
            slot = (slot + 1) & (size - 1)
        codes[row] = code
    return codes, firsts[:known]


@_compiled
def gather(data: Bytes, starts: IntArray, ends: IntArray) -> tuple[IntArray, Bytes]:
    """The stretches one after the other, and where each begins: an Arrow column of text."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    for row in range(len(starts)):
        offsets[row + 1] = offsets[row] + ends[row] - starts[row]
    text = np.empty(offsets[-1], np.uint8)
    for row in range(len(starts)):
        text[offsets[row] : offsets[row + 1]] = data[starts[row] : ends[row]]
    return offsets, text


def buffers(column: Any) -> tuple[Bytes, IntArray]:
    """The bytes of an Arrow column of large strings, and where each of its texts begins."""
    validity, places, text = column.buffers()
    del validity
    data = np.frombuffer(text, np.uint8) if text is not None else np.empty(0, np.uint8)
    offsets = np.frombuffer(places, np.int64)[column.offset :][: len(column) + 1]
    return data, offsets
