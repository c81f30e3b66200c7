"""Terms found in bytes: their places, and not objects."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from topwater.rspql.rdf.ntriples import buffers, gather, intern, scan


def scanned(*documents: str, quads: bool = False) -> tuple[list[Any], list[int]]:
    """(document, its terms, whether one may be written otherwise) of each statement; bad lines."""
    data, offsets = buffers(pa.array(documents, pa.large_string()))
    found, bad = scan(data, offsets, quads)
    text = data.tobytes()
    return [
        (row[0], [text[row[at] : row[at + 1]].decode() for at in (1, 3, 5, 7)], bool(row[9]))
        for row in found.tolist()
    ], bad.tolist()


def test_statements_of_several_documents() -> None:
    found, bad = scanned('<x:a> <x:p> _:b.\n# <x:c>\n_:b<x:p>"é"@en .', "", '<x:a> <x:p> "" .')
    assert found == [
        (0, ["<x:a>", "<x:p>", "_:b", ""], False),
        (0, ["_:b", "<x:p>", '"é"@en', ""], False),
        (2, ["<x:a>", "<x:p>", '""', ""], False),
    ]
    assert bad == []


@pytest.mark.parametrize(
    ("term", "odd"),
    [
        ('"a"', False),
        ('"\\t"', True),
        ('"\\u0041"', True),
        ('"a"@EN', True),
        ('"a" @en', True),
        ('"a"^^<x:t>', False),
        ('"a" ^^<x:t>', True),
        ('"a"^^<http://www.w3.org/2001/XMLSchema#string>', True),
        ("<x:\\u00e9>", True),
        ("<x:é>", False),
    ],
)
def test_a_term_that_may_be_written_otherwise_is_marked(term: str, odd: bool) -> None:
    ((_, terms, marked),), bad = scanned(f"<x:a> <x:p> {term} .")
    assert (terms[2], marked, bad) == (term, odd, [])


@pytest.mark.parametrize(
    "line",
    [
        "<x:a> <x:p> <x:b>", "<x:a> <x:p> .", "<x:a> _:p <x:b> .", '"a" <x:p> <x:b> .',
        "<a> <x:p> <x:b> .", "<x:a> <x:p> <x: b> .", '<x:a> <x:p> "a .', '<x:a> <x:p> "\\x" .',
        '<x:a> <x:p> "\\u12" .', '<x:a> <x:p> "a"@ .', '<x:a> <x:p> "a"^^x .', "<x:a> <x:p> _: .",
        "<x:a> <x:p> <x:b> <x:g> .", "<1x:a> <x:p> <x:b> .",
    ],
)  # fmt: skip
def test_a_line_that_is_no_statement_costs_no_other(line: str) -> None:
    good = "<x:a> <x:p> <x:b> ."
    found, bad = scanned(good, f"{line}\n{good}")
    assert [each[0] for each in found] == [0, 1]
    assert bad == [1]


def test_the_graph_of_a_quad() -> None:
    found, bad = scanned("<x:a> <x:p> <x:b> <x:g> . <x:a> <x:p> <x:b> .", quads=True)
    assert [terms[3] for _, terms, _ in found] == ["<x:g>", ""]
    assert bad == []


def test_more_statements_and_more_bad_lines_than_there_is_room_for() -> None:
    found, bad = scanned("<x:a> <x:p> <x:b> .\n" * 100 + "?\n" * 100)
    assert (len(found), len(bad)) == (100, 100)


def test_equal_stretches_have_one_number() -> None:
    data = np.frombuffer(b"ab-ab-abc--b", np.uint8)
    starts, ends = np.array([0, 3, 6, 9, 11, 10]), np.array([2, 5, 9, 9, 12, 10])
    codes, firsts = intern(data, starts, ends)
    assert codes.tolist() == [0, 0, 1, 2, 3, 2]
    assert firsts.tolist() == [0, 2, 3, 4]
    places, text = gather(data, starts[firsts], ends[firsts])
    assert places.tolist() == [0, 2, 5, 5, 6]
    assert text.tobytes() == b"ababcb"


def test_many_stretches_are_told_apart() -> None:
    texts = [str(number % 1_500) for number in range(3_000)]
    data, offsets = buffers(pa.array(texts, pa.large_string()))
    codes, firsts = intern(data, offsets[:-1], offsets[1:])
    assert codes.tolist() == [number % 1_500 for number in range(3_000)]
    assert firsts.tolist() == list(range(1_500))


def test_the_bytes_of_a_slice() -> None:
    data, offsets = buffers(pa.array(["aa", "b", "ccc"], pa.large_string()).slice(1))
    assert [data[a:b].tobytes() for a, b in itertools.pairwise(offsets)] == [
        b"b",
        b"ccc",
    ]
    empty, none = buffers(pa.array([], pa.large_string()))
    assert (len(empty), none.tolist()) == (0, [0])
