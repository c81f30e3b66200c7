"""Lines of N-Triples and N-Quads → triples: as Oxigraph reads them, in one spelling."""

from __future__ import annotations

import random

import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import BNode, Literal, URIRef
from rdflib.term import Identifier

from tests.support.rdf_events import XSD, Triple, events_of
from topwater.rspql.rdf.triples import (
    canonical,
    quoted,
    read_lines,
    term_of,
    text_of,
    typed,
    unquoted,
)


def by_oxigraph(text: str, *, lenient: bool) -> set[Triple] | None:
    try:
        return {
            (str(each.subject), str(each.predicate), canonical(str(each.object)) or "")
            for each in ox.parse(text, format=ox.RdfFormat.N_TRIPLES, lenient=lenient)
        }
    except SyntaxError:
        return None


SUBJECTS = ["<http://e/a>", "<http://e/\\u00e9>", "<urn:x:1>", "_:b", "_:b.1", "_:1-x"]


OBJECTS = [
    *SUBJECTS,
    '"a"',
    '"a\\n\\t\\"\\\\"',
    '"é\\U0001F600 # <http://e/a>"',
    '"x"@en',
    '"x"@en-GB',
    f'"5"^^<{XSD}integer>',
    f'"s"^^<{XSD}string>',
]


DEBRIS = [*OBJECTS, *' \t.#"\\<>a-@{\x0cé\u3042', "^^", "\\u12", "\\u0041", "_:", "<x>", "\n", "\r"]


def some_line(rng: random.Random) -> str:
    """A triple, or what is left of one after an accident."""
    subject, predicate, value = map(rng.choice, (SUBJECTS, SUBJECTS[:3], OBJECTS))
    gap = [rng.choice(["", " ", "\t "]) for _ in range(3)]
    line = subject + gap[0] + predicate + gap[1] + value + gap[2] + "."
    line += rng.choice(["", "", " # c <http://e/a> ."])
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        at, cut = rng.randrange(len(line) + 1), rng.choice([0, 0, 1, 5])
        line = line[:at] + rng.choice(DEBRIS) * rng.choice([0, 1]) + line[at + cut :]
    return line


def test_lines_are_read_as_oxigraph_reads_them() -> None:
    rng = random.Random(5)
    lines = [some_line(rng) for _ in range(8_000)]
    found = read_lines(pa.array(lines))
    bad, events = set(found.bad.tolist()), events_of(found)
    for number, line in enumerate(lines):
        ours = None if number in bad else events.get(number, set())
        if ours != by_oxigraph(line, lenient=False):
            # It knows which languages there can be, and more of the grammar of IRIs.
            assert ours is not None, line
            assert ours == by_oxigraph(line, lenient=True), line
    assert 2_000 < len(bad) < 6_000


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


IRIS = st.text(
    st.characters(
        exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"], exclude_characters='<>"{}|^`\\'
    ),
    max_size=6,
).map(lambda rest: URIRef(f"x:{rest}"))


LITERALS = st.one_of(
    TEXTS.map(Literal),
    st.builds(lambda text, lang: Literal(text, lang=lang), TEXTS, st.sampled_from(["en", "de-AT"])),
    st.builds(
        lambda text, kind: Literal(text, datatype=URIRef(XSD + kind), normalize=False),
        TEXTS,
        st.sampled_from(["string", "integer", "token"]),
    ),
    st.integers().map(Literal),
    st.floats(allow_nan=False).map(Literal),
)


BLANKS = st.sampled_from(["a", "b.c", "1"]).map(BNode)


def spelt(term: Identifier, rng: random.Random) -> str:
    """A term with escapes where none are needed."""
    text = text_of(term)
    head, body, tail = ("", "", text)
    if text.startswith(('"', "<")):
        end = text.rindex('"') if text.startswith('"') else len(text) - 1
        head, body, tail = text[0], text[1:end], text[end:]
    out, at = head, 0
    while at < len(body):
        size = 2 if body[at] == "\\" else 1
        unit = body[at : at + size]
        at += size
        if size == 1 and rng.random() < 0.3 and (at > 3 or head == '"'):
            code = ord(unit)
            unit = rng.choice([f"\\U{code:08X}", f"\\u{code:04x}" if code < 0x10000 else unit])
        out += unit
    return out + tail


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.one_of(IRIS, BLANKS), IRIS, st.one_of(IRIS, BLANKS, LITERALS)), max_size=6
    ),
    st.integers(0, 99),
)
def test_any_term_survives_any_spelling(
    triples: list[tuple[Identifier, Identifier, Identifier]], seed: int
) -> None:
    rng = random.Random(seed)
    lines = [" ".join(spelt(term, rng) for term in triple) + " ." for triple in triples]
    text = rng.choice(["\n", "\r\n", " "]).join(lines)
    found = read_lines(pa.array([text, "", None, "# nothing\n\n"]))
    assert found.bad.tolist() == [2]
    expected = {tuple(map(text_of, triple)) for triple in triples}
    assert events_of(found) == ({0: expected} if expected else {})
    for triple in triples:
        for term in triple:
            assert text_of(term_of(text_of(term))) == text_of(term)


def test_terms_that_only_look_right_are_bad_lines() -> None:
    lines = [
        '<x:a> <x:p> "\\uD83D" .',  # half of a pair
        "<x:a\\u0020b> <x:p> <x:c> .",
        "<\\u0078:a> <x:p> <x:c> .",  # this one is right
        '<x:a> <x:p> "a" ^^ <x:kind> .',  # and so is this
        "<x:a> <x:p> <x:b> <x:graph> .",
    ]
    found = read_lines(pa.array(lines))
    assert found.bad.tolist() == [0, 1, 4]
    assert events_of(found) == {
        2: {("<x:a>", "<x:p>", "<x:c>")},
        3: {("<x:a>", "<x:p>", '"a"^^<x:kind>')},
    }


def test_in_quads_each_graph_of_a_row_is_an_event() -> None:
    one = "<x:a> <x:p> <x:b> <x:g1> . <x:a> <x:p> <x:b> <x:g2> .\n<x:a> <x:p> <x:b> .\n"
    found = read_lines(
        pa.array([one, one.replace("g2", "g1"), "<x:a> <x:p> <x:b> <x:g> <x:h> ."]), quads=True
    )
    assert found.rows[found.event].tolist() == [0, 0, 0, 1, 1]
    assert len(set(found.event.tolist())) == 5
    assert found.bad.tolist() == [2]
    odd = read_lines(pa.array(['<x:a> <x:p> "\\t" . <x:a> <x:p> "\\t" <x:g> .']), quads=True)
    assert (len(odd), odd.bad.tolist()) == (2, [])


def test_a_slice_of_a_column_is_read_as_it_is() -> None:
    column = pa.array(["rubbish", "<x:a> <x:p> <x:b> .", "<x:c> <x:p> <x:b> .", None])
    expected = {0: {("<x:c>", "<x:p>", "<x:b>")}}
    assert events_of(read_lines(column.slice(2, 1))) == expected
    assert (
        events_of(read_lines(pa.chunked_array([column.slice(2, 1), column.slice(0, 1)])))
        == expected
    )
    assert len(read_lines(pa.array([], pa.string()))) == 0


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("_:b", "_:b"),
        ("<x:a>", "<x:a>"),
        ("<relative>", None),
        ("<x:a b>", None),
        (f'"a"^^<{XSD}string>', '"a"'),
        (f'"5" ^^ <{XSD}integer>', f'"5"^^<{XSD}integer>'),
        ('"a"^^<no iri>', None),
        ('"a"@EN-gb', '"a"@en-gb'),
        ('"\\uD800"', None),
        ('"\\UFFFFFFFF"', None),
        ('"a', None),
        ('"\\b\\f"', '"\b\f"'),
    ],
)
def test_each_term_has_one_spelling(text: str, term: str | None) -> None:
    assert canonical(text) == term
    assert term is None or canonical(term) == term


def test_literals_are_put_together_and_taken_apart() -> None:
    text = 'say "no"\\\n\t'
    assert quoted(text) == '"say \\"no\\"\\\\\\n\t"'
    assert unquoted([quoted(text), f'"5"^^<{XSD}integer>', '"a"@en']) == [text, "5", "a"]
    assert typed('"5"', f"<{XSD}integer>") == f'"5"^^<{XSD}integer>'
    assert typed('"a"', f"<{XSD}string>") == typed('"a"', "") == '"a"'


def test_a_text_that_is_no_term() -> None:
    with pytest.raises(ValueError, match="not a term"):
        term_of('"a')
    assert term_of("_:b") == BNode("b")
    assert term_of('"5"^^<x:odd>') == Literal("5", datatype=URIRef("x:odd"))


def test_no_triple_is_twice_in_one_event() -> None:
    line = "<x:a> <x:p> <x:b> ."
    found = read_lines(pa.array([f"{line} {line}", line]))
    assert found.event.tolist() == [0, 1]
    assert len(found.terms) == 3
