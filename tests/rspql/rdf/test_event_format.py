"""How events are written: JSON-LD and other documents, and columns of a table."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from rdflib import Graph, Literal, URIRef, Variable
from rdflib.term import Identifier

from tests.support.rdf_events import XSD, W, events_of, pattern_of
from topwater.errors import QueryError
from topwater.rspql.plan.condition_kinds import Among, Compare, Condition, Kind, Text
from topwater.rspql.plan.plan import SILENT, TIME, EventPattern
from topwater.rspql.rdf import event_format
from topwater.rspql.rdf.event_format import Columns, Documents, literals
from topwater.rspql.rdf.pattern_match import Matcher
from topwater.rspql.rdf.triples import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    bad = direct.filter(pc.invert(direct.column(SILENT)))
    assert bad.column("u").null_count == table.column("user").null_count
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
    rows = [row for row in table.to_pylist() if row["u"] is not None]
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


def test_only_the_columns_that_are_named_are_read() -> None:
    assert Documents("text", "at").columns == ("at", "text")
    assert Columns("u", {"x:p": "n", "x:q": "u"}, time="at").columns == ("at", "u", "n")


def test_numbers_of_columns_are_numbers_and_terms_where_terms_are_wanted() -> None:
    table = pa.table({"time": [1, 2, 3], "u": ["a", None, "b"], "n": [5, 6, None]})
    reading = Columns("u", {"x:n": "n"}, namespace="x:")
    pattern = pattern_of("?who x:n ?n")
    found = reading.bindings(table, pattern, ("who",))
    assert found is not None
    assert found.event.tolist() == [0]
    assert found.bound["n"].tolist() == [5.0]
    as_terms = reading.bindings(table, pattern, ("who", "n"))
    assert as_terms is not None
    assert as_terms.terms.take(as_terms.codes["n"]).to_pylist() == [f'"5"^^<{XSD}integer>']
    assert reading.bad(table).tolist() == [1]
    assert np.unique(reading.triples(table).event).tolist() == [0]


@pytest.mark.parametrize("text", ['{"user": "ann", "n": 3}', "{}", "[]", '{"time": 1}'])
def test_json_that_says_no_triple_is_counted_as_bad(text: str) -> None:
    good = '{"@id": "http://x/a", "http://x/p": 1}'
    found = Documents(format="jsonld").triples(pa.table({"time": [1, 2], "value": [text, good]}))
    assert found.bad.tolist() == [0]
    assert len(found.event) == 1
