"""Matching against Oxigraph and rdflib: the same terms, the same solutions, event by event."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import BNode, Graph, Literal, URIRef, Variable
from rdflib.term import Identifier

from topwater import TopKQuery, run, tumbling
from topwater.errors import QueryError
from topwater.model import Counts
from topwater.monitor import TopKMonitor
from topwater.monitor.columns import ONLY_TIME
from topwater.rspql import parse
from topwater.rspql.plan.plan import (
    TIME,
    Alike,
    AllOf,
    Among,
    AnyOf,
    Bind,
    Compare,
    Condition,
    EventPattern,
    Kind,
    Not,
    Text,
)
from topwater.rspql.rdf import event_format
from topwater.rspql.rdf.event_format import Columns, Documents, literals
from topwater.rspql.rdf.pattern_match import Matcher, key_terms, solutions
from topwater.rspql.rdf.triples import canonical, read_lines, term_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

XSD = "http://www.w3.org/2001/XMLSchema#"
W = URIRef("x:w")
Triple = tuple[str, str, str]


def events_of(found: Any) -> dict[int, set[Triple]]:
    """The triples of each event, as text."""
    terms = found.terms.to_pylist()
    events: dict[int, set[Triple]] = {}
    columns = (found.event, found.subject, found.predicate, found.object)
    for event, *triple in zip(*(column.tolist() for column in columns), strict=True):
        s, p, o = (terms[code] for code in triple)
        assert (s, p, o) not in events.setdefault(event, set())
        events[event].add((s, p, o))
    return events


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


# The same question to us and to Oxigraph.

P = [f"<x:p{number}>" for number in range(3)]
VALUES = [
    *(f"<x:n{number}>" for number in range(3)),
    "_:b",
    '"2"',
    '"two"@en',
    '"Ruby"',
    *(f'"{number}"^^<{XSD}integer>' for number in range(4)),
    f'"1.5"^^<{XSD}decimal>',
    f'"1.5E0"^^<{XSD}double>',
]
VARIABLES = ["a", "b", "c", "d"]


def some_event(rng: random.Random) -> str:
    return "\n".join(
        f"{rng.choice(VALUES[:4])} {rng.choice(P)} {rng.choice(VALUES)} ."
        for _ in range(rng.randrange(4, 16))
    )


def some_triples(rng: random.Random) -> list[tuple[str, str, str]]:
    def spot(constants: list[str], share: float) -> str:
        return rng.choice(constants) if rng.random() < share else "?" + rng.choice(VARIABLES)

    named = [each for each in VALUES if not each.startswith("_:")]
    return [
        (spot(VALUES[:3], 0.2), spot(P, 0.8), spot(named, 0.3))
        for _ in range(rng.choice([1, 2, 2, 3]))
    ]


def some_condition(rng: random.Random, names: list[str], depth: int = 0) -> tuple[Condition, str]:
    """A condition, and the same in SPARQL."""
    a, b = rng.choice(names), rng.choice(names)
    kind = rng.choice(["compare", "compare", "among", "kind", "text", "alike", "all", "any", "not"])
    if kind in ("all", "any") and depth < 2:
        parts = [some_condition(rng, names, depth + 1) for _ in range(2)]
        conditions = tuple(condition for condition, _ in parts)
        joint = " && " if kind == "all" else " || "
        return (AllOf if kind == "all" else AnyOf)(
            conditions
        ), f"({joint.join(t for _, t in parts)})"
    if kind == "not" and depth < 2:
        condition, text = some_condition(rng, names, depth + 1)
        return Not(condition), f"!({text})"
    if kind == "among":
        wanted = rng.sample([VALUES[0], VALUES[1], '"Ruby"', '"two"@en', VALUES[8], VALUES[9]], 2)
        terms = tuple(term_of(each) for each in wanted)
        return Among(a, terms), f"(?{a} IN ({', '.join(wanted)}))"
    if kind == "kind":
        sort = rng.choice(["iri", "blank", "literal", "numeric"])
        named = {"iri": "isIRI", "blank": "isBlank", "literal": "isLiteral", "numeric": "isNumeric"}
        return Kind(a, sort), f"{named[sort]}(?{a})"  # type: ignore[arg-type]
    if kind == "text":
        test, name = rng.choice(
            [("contains", "CONTAINS"), ("starts", "STRSTARTS"), ("ends", "STRENDS")]
        )
        text = rng.choice(["w", "x:n", "2", "R", "o"])
        of = rng.choice(["str", "literal"])
        subject = f"STR(?{a})" if of == "str" else f"?{a}"
        return Text(test, a, text, of=of), f'{name}({subject}, "{text}")'  # type: ignore[arg-type]
    if kind == "alike":
        return Alike(a, b), f"sameTerm(?{a}, ?{b})"
    op = rng.choice(["=", "!=", "<", "<=", ">", ">="])
    left, right = rng.choice([(f"{a} + 1", "2"), (a, b), (f"{a} * {b}", "3"), (f"{a} - {b}", "0")])
    sparql = [
        f"{side} + 0".replace(a, f"?{a}") if a == b else _dollars(side, a, b)
        for side in (left, right)
    ]
    return Compare(left, op, right), f"({sparql[0]} {op} {sparql[1]})"  # type: ignore[arg-type]


def _dollars(side: str, *names: str) -> str:
    for name in set(names):
        side = side.replace(name, f"?{name}")
    return f"({side} + 0)"


def asked(event: str, where: str, names: list[str]) -> Counter[tuple[str, ...]]:
    """What Oxigraph finds in one event; blank nodes by their kind alone."""
    store = ox.Store()
    store.load(event.encode(), format=ox.RdfFormat.N_TRIPLES)
    shown = " ".join(f"?{name}" for name in names)
    rows = store.query(f"SELECT {shown} WHERE {{ {where} }}")
    assert isinstance(rows, ox.QuerySolutions)
    return Counter(tuple(_known(str(row[name])) for name in names) for row in rows)


def _known(text: str) -> str:
    if text.startswith("_:"):
        return "_:"
    return canonical(text.replace("1.5E0", "1.5").replace("1.5e0", "1.5")) or ""


def found_by_us(matched: Any, names: list[str], event: int) -> Counter[tuple[str, ...]]:
    terms = [_known(each) for each in matched.terms.to_pylist()]
    rows = np.flatnonzero(matched.event == event)
    return Counter(tuple(terms[matched.codes[name][row]] for name in names) for row in rows)


@pytest.mark.parametrize("seed", range(8))
def test_each_event_has_the_solutions_that_oxigraph_finds_in_it(seed: int) -> None:
    rng = random.Random(seed)
    events = [some_event(rng) for _ in range(12)]
    triples = read_lines(pa.array(events))
    some = 0
    for _ in range(40):
        wanted = some_triples(rng)
        names = sorted({spot[1:] for triple in wanted for spot in triple if spot.startswith("?")})
        if not names:
            continue
        filters, texts = [], [" ".join(triple) + " ." for triple in wanted]
        for _ in range(rng.choice([0, 1, 1, 2])):
            condition, text = some_condition(rng, names)
            filters.append(condition)
            texts.append(f"FILTER({text})")
        spots = [
            tuple(Variable(each[1:]) if each[0] == "?" else term_of(each) for each in triple)
            for triple in wanted
        ]
        pattern = EventPattern(W, tuple(spots), tuple(filters))  # type: ignore[arg-type]
        matched = solutions(triples, pattern)
        where = "\n".join(texts)
        for number, event in enumerate(events):
            expected = asked(event, where, names)
            assert found_by_us(matched, names, number) == expected, (where, event)
            some += sum(expected.values())
    assert some > 50


def number(value: float) -> str:
    return text_of(Literal(value))


def pattern_of(*triples: str, **more: Any) -> EventPattern:
    spots = [
        tuple(Variable(each[1:]) if each[0] == "?" else URIRef(each) for each in triple.split())
        for triple in triples
    ]
    return EventPattern(W, tuple(spots), **more)  # type: ignore[arg-type]


def test_bind_computes_numbers_and_its_errors_are_no_numbers() -> None:
    binds = (Bind("twice", "2 * n"), Bind("ratio", "twice / n"))
    pattern = pattern_of("?who x:p ?n", binds=binds, filters=(Compare("twice", ">", "0 - 1"),))
    texts = [f"<x:a> <x:p> {value} ." for value in (number(4), '"4"', number(0), number(0.5))]
    matcher = Matcher(Documents(), (pattern,), ("who",), ("n", "twice", "ratio"))
    found = matcher.match(pa.table({"time": [1, 2, 3, 4], "value": texts}))
    columns = found.to_pydict()
    assert columns[TIME] == [1, 3, 4, 2, 3]
    assert columns["who"] == ["x:a", "x:a", "x:a", ONLY_TIME, ONLY_TIME]
    assert columns["twice"] == [8.0, 0.0, 1.0, None, None]
    assert columns["ratio"][:3:2] == [2.0, 2.0]
    assert np.isnan(columns["ratio"][1])


def test_text_is_compared_by_its_characters() -> None:
    terms = ['"a\\"b"', '"a\\\\b"', f'"1"^^<{XSD}integer>', '"l1\\nl2"@en', '"Ääh"']
    triples = read_lines(pa.array([f"<x:a> <x:p> {term} ." for term in terms]))

    def passing(test: Any, text: str, **more: Any) -> list[int]:
        pattern = pattern_of("?a x:p ?t", filters=(Text(test, "t", text, **more),))
        return [int(each) for each in solutions(triples, pattern).event]

    assert passing("contains", '"') == [0]
    assert passing("contains", "\\") == [1]
    assert passing("regex", "^[a1]") == [0, 1]
    assert passing("regex", "^[a1]", of="str") == [0, 1, 2]
    assert passing("regex", "\nL", ignore_case=True) == [3]
    assert passing("starts", "ä", ignore_case=True) == [4]


def test_a_union_keeps_the_order_of_events_and_counts_bad_lines_once() -> None:
    patterns = (pattern_of("?who x:p ?n"), pattern_of("?who x:q ?n"))
    texts = [
        f"<x:a> <x:q> {number(1)} .",
        "what?",
        f"<x:b> <x:p> {number(2)} . <x:c> <x:q> {number(3)} .",
    ]
    found = Matcher(Documents(), patterns, ("who",), ("n",)).match(
        pa.table({"time": [5, 6, 7], "value": texts})
    )
    assert found.column("who").to_pylist() == ["x:a", "x:b", "x:c", None]
    assert found.column(TIME).to_pylist() == [5, 7, 7, 6]


def test_bad_lines_are_counted_in_the_answer() -> None:
    good = f"<x:a> <x:p> {number(5)} ."
    events = pa.table({"time": [1, 2, 3, 4], "value": [good, "?", None, good + " ? ."]})
    found = Matcher(Documents(), (pattern_of("?who x:p ?n"),), ("who",), ("n",)).match(events)
    query = TopKQuery(
        key="who", time=TIME, window=tumbling(10), take={"n": "last(n)"}, score="n", k=1
    )
    (answer,) = run(query, [found])
    assert answer.keys == ["x:a"]
    assert (answer.counts.bad_key, answer.counts.events) == (3, 5)


def test_an_event_that_does_not_match_moves_the_time_and_is_counted_nowhere() -> None:
    r"""Windows of 5. Of a and b numbers are heard, of c a text, and else things of other kinds.

    ::

          a       b        ?  -       -       c
        ──┼──│────┼──│─────┼──┼──│────┼──│────┼──►
          3  5    8  10   13 14  15   19 20   23
    """
    plan = parse("""PREFIX : <x:> SELECT ?u ?n FROM NAMED WINDOW :w ON :s [RANGE 5 STEP 5]
        WHERE { WINDOW :w { ?u :n ?n } } ORDER BY DESC(?n) LIMIT 1""")
    matcher = Matcher.of(plan, URIRef("x:s"), Documents())
    monitor = TopKMonitor.build(plan.query())
    said = {
        3: f"<x:a> <x:n> {number(1)} .",
        8: f"<x:b> <x:n> {number(2)} .",
        13: "<x:a> ? .",
        14: "<x:a> <x:other> <x:b> .",
        19: "",
        23: '<x:c> <x:n> "n/a" .',
    }
    found = []
    for at, text in said.items():
        monitor.ingest(matcher.match(pa.table({"time": [at], "value": [text]})))
        assert monitor.watermark is not None
        found.append(monitor.close_until(monitor.watermark))
    told = [[(each.window.end, each.keys) for each in answers] for answers in found]
    assert told == [[], [(5, ["x:a"])], [(10, ["x:b"])], [], [(15, [])], [(20, [])]]
    (counted,) = (each.counts for each in found[4])
    assert counted == Counts()
    (counted,) = (each.counts for each in found[5])
    assert counted == Counts(events=1, bad_score=1)


def test_a_key_of_several_terms_can_be_taken_apart() -> None:
    matcher = Matcher(Documents(), (pattern_of("?who x:p ?n"),), ("n", "who"), ())
    texts = ['<x:a> <x:p> "say \\"<x:b> \\u0020\\"" .', '_:b <x:p> "c d"@en .']
    found = matcher.match(pa.table({"time": [1, 2], "value": texts})).column("n who").to_pylist()
    assert [key_terms(key, 2) for key in found] == [
        ['"say \\"<x:b>  \\""', "<x:a>"],
        ['"c d"@en', "_:b"],
    ]
    single = Matcher(Documents(), matcher.patterns, ("n",), ())
    keys = single.match(pa.table({"time": [1], "value": ["<x:a> <x:p> <x:b> ."]}))
    assert keys.column("n").to_pylist() == ["x:b"]
    assert key_terms("x:b", 1) == ["<x:b>"]


# JSON-LD.

CONTEXT = {"@vocab": "http://e/", "knows": {"@type": "@id"}, "label": {"@language": "en"}}


def some_document(rng: random.Random) -> str:
    document: dict[str, Any] = {"@context": CONTEXT, "@id": f"http://e/u{rng.randrange(5)}"}
    document["mentions"] = rng.choice(
        [3, 2.5, "4", [1, 2], {"@value": "7", "@type": f"{XSD}integer"}]
    )
    document["knows"] = [f"http://e/u{rng.randrange(5)}" for _ in range(rng.randrange(3))]
    document["label"] = rng.choice(['a "b"', "zwei\nZeilen", "ü"])
    document["inside"] = {"mentions": rng.randrange(9)}
    return json.dumps(document)


def comparable(triples: Iterable[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
    """Blank nodes have other names in each parser, and rdflib spells doubles in its own way."""
    return Counter(
        tuple("_:" if term.startswith("_:") else term.replace("E0", "") for term in triple)
        for triple in triples
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of rdflib's own
def test_json_ld_says_what_it_says_to_rdflib(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    texts = [some_document(rng) for _ in range(20)]
    reading = Documents(format="jsonld")
    ours = events_of(reading.triples(pa.table({"time": range(20), "value": texts})))
    monkeypatch.setattr(event_format, "_json_ld_reader", lambda: event_format._with_rdflib)
    slow = events_of(reading.triples(pa.table({"time": range(20), "value": texts})))
    for event, text in enumerate(texts):
        graph = Graph().parse(data=text, format="json-ld")
        expected = comparable(tuple(text_of(cast("Identifier", t)) for t in each) for each in graph)
        assert comparable(slow[event]) == expected
        assert comparable(ours[event]) == expected


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "{",
        "",
        None,
        "[" * 50_000,
        '{"a": "' + "]" * 300 + '", "http://e/b":' + '{"http://e/b":' * 5_000 + "1" + "}" * 5_001,
        '{"@context": "http://127.0.0.1:9/context", "a": 1}',
        '{"@context": [{"@import": "http://127.0.0.1:9/"}], "http://e/a": 1}',
    ],
)
def test_a_document_that_cannot_be_read_is_one_bad_event(
    text: str | None, slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if slow:
        monkeypatch.setattr(event_format, "_json_ld_reader", lambda: event_format._with_rdflib)
    good = '{"@id": "http://e/a", "http://e/p": "]"}'
    found = Documents(format="jsonld").triples(pa.table({"time": [1, 2], "value": [text, good]}))
    assert found.bad.tolist() == [0]
    assert found.rows[found.event].tolist() == [1]


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(QueryError, match="turtle"):
        Documents(format="turtle")  # type: ignore[arg-type]


# Columns of a table.


def some_table(rng: random.Random, rows: int = 60) -> pa.Table:
    def sometimes(value: Any) -> Any:
        return None if rng.random() < 0.15 else value

    return pa.table(
        {
            "at": pa.array(range(rows)),
            "user": pa.array([sometimes(rng.randrange(5)) for _ in range(rows)]),
            "mentions": pa.array([sometimes(rng.randrange(6)) for _ in range(rows)]),
            "weight": pa.array([sometimes(rng.choice([0.5, 1.25, 3.0])) for _ in range(rows)]),
            "city": pa.array(
                [sometimes(rng.choice(['"Wien"', "Graz\\Ost", ""])) for _ in range(rows)]
            ),
            "boss": pa.array([sometimes(f"x:u{rng.randrange(5)}") for _ in range(rows)]),
        }
    )


MAPPED = Columns(
    "user",
    {"x:mentions": "mentions", "x:weight": "weight", "x:city": "city", "x:boss": "boss"},
    time="at",
    namespace="x:u",
    iris=("boss",),
)


@pytest.mark.parametrize(
    "triples",
    [[*each] for each in product(["?u x:mentions ?m"], ["?u x:weight ?w", "?u x:city ?c"])],
)
@pytest.mark.parametrize(
    "condition", [None, Compare("m", ">=", "2"), Kind("m", "numeric"), Among("m", (Literal(3),))]
)
def test_columns_are_matched_as_their_triples_are(
    triples: list[str], condition: Condition | None
) -> None:
    table = some_table(random.Random(1))
    pattern = pattern_of(*triples, filters=() if condition is None else (condition,))
    matcher = Matcher(MAPPED, (pattern,), ("u",), ("m",))
    direct = matcher.match(table)
    assert MAPPED.bindings(table, pattern, ("u",)) is not None
    generic = Matcher(MAPPED, (pattern, pattern_of("x:a x:b x:c")), ("u",), ("m",))
    as_text = pa.table({"at": table.column("at"), "value": _as_lines(table)})
    from_text = Matcher(Documents(time="at"), (pattern,), ("u",), ("m",)).match(as_text)
    assert _sorted(from_text) == _sorted(direct)
    assert direct.column("u").null_count == table.column("user").null_count
    with pytest.raises(KeyError):
        generic.match(table)
    triples_of = Matcher(
        MAPPED, (pattern_of(*triples, "?u ?any ?c2", filters=pattern.filters),), ("u",), ("m",)
    )
    assert {row["u"] for row in _sorted(triples_of.match(table))} == {
        row["u"] for row in _sorted(direct)
    }


def _as_lines(table: pa.Table) -> list[str]:
    lines = []
    for row in range(table.num_rows):
        user = table.column("user")[row].as_py()
        found = []
        for predicate, name in MAPPED.predicates.items():
            value = table.column(name)[row].as_py()
            if user is not None and value is not None:
                term = URIRef(value) if name == "boss" else Literal(value)
                found.append(f"<x:u{user}> <{predicate}> {text_of(term)} .")
        lines.append(" ".join(found))
    return lines


def _sorted(table: pa.Table) -> list[dict[str, Any]]:
    """The solutions alone, in one order."""
    rows = [row for row in table.to_pylist() if row["u"] not in (None, ONLY_TIME)]
    return sorted(rows, key=lambda row: (row[TIME], str(row)))


def test_columns_that_join_or_are_constants_go_through_triples() -> None:
    table = some_table(random.Random(2))
    for pattern in (
        pattern_of("?u ?p ?o"),
        EventPattern(W, ((Variable("u"), URIRef("x:city"), Literal('"Wien"')),)),
        pattern_of("?u x:boss ?u"),
        pattern_of("?u x:city ?c", filters=(Text("contains", "c", "Wien"),)),
    ):
        assert MAPPED.bindings(table, pattern, ("u",)) is None
        matcher = Matcher(MAPPED, (pattern,), ("u",), ())
        as_text = pa.table({"at": table.column("at"), "value": _as_lines(table)})
        expected = Matcher(Documents(time="at"), (pattern,), ("u",), ()).match(as_text)
        found = _sorted(matcher.match(table))
        assert found == _sorted(expected)
        assert found


def test_values_become_literals() -> None:
    from datetime import UTC, datetime
    from decimal import Decimal

    def first(value: Any) -> str:
        return str(literals(pa.array([value]))[0])

    assert first(1.5) == f'"1.5"^^<{XSD}double>'
    assert first(float("-inf")) == f'"-INF"^^<{XSD}double>'
    assert first(Decimal("1.50")) == f'"1.50"^^<{XSD}decimal>'
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert first(moment) == f'"2026-01-02T03:04:05.000000Z"^^<{XSD}dateTime>'
    assert first('a\n"b"\\') == '"a\\n\\"b\\"\\\\"'
