"""Files of RDF as columns, and what is found in them."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from rdflib import URIRef, Variable

from topwater.rspql.plan.plan import Fact, Triple
from topwater.rspql.rdf.solutions import Bindings
from topwater.rspql.rdf.static_data import StaticData
from topwater.rspql.rdf.triples import read_lines

A, B = URIRef("x:a"), URIRef("x:b")
ONE, OTHER = Variable("one"), Variable("other")
NEAR: Triple = (ONE, URIRef("x:near"), OTHER)
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="x:">
<rdf:Description rdf:about="x:k1"><x:near rdf:resource="x:k2"/></rdf:Description></rdf:RDF>"""


@pytest.fixture
def data(tmp_path: Path) -> StaticData:
    (tmp_path / "a.nt").write_text("<x:k1> <x:near> <x:k2> .\n\n# no more\n_:n <x:near> <x:k1> .\n")
    (tmp_path / "b.ttl").write_text("@prefix x: <x:> . x:k1 x:near x:k2, x:k1, 1, 1.50 .")
    return StaticData.of({A: tmp_path / "a.nt", B: str(tmp_path / "b.ttl")})


def rows(found: Bindings) -> list[tuple[str, ...]]:
    texts = [found.terms.take(found.codes[name]).to_pylist() for name in sorted(found.codes)]
    return sorted(zip(*texts, strict=True))


def test_a_triple_of_two_files_is_there_once(data: StaticData) -> None:
    one = rows(data.matched(Fact(NEAR, (A,))))
    assert one == [("<x:k1>", "<x:k2>"), ("_:/0-n", "<x:k1>")]
    both = rows(data.matched(Fact(NEAR, (A, B))))
    assert len(both) == 5
    assert set(one) < set(both)
    assert len(data) == 6


def test_numbers_are_as_they_are_written(data: StaticData) -> None:
    found = [each for _, each in rows(data.matched(Fact(NEAR, (B,)))) if each.startswith('"')]
    kinds = "http://www.w3.org/2001/XMLSchema#"
    assert found == [f'"1"^^<{kinds}integer>', f'"1.50"^^<{kinds}decimal>']


def test_patterns_join_and_variables_may_be_there_twice(data: StaticData) -> None:
    itself = Fact((ONE, URIRef("x:near"), ONE), (A, B))
    assert rows(data.matched(itself)) == [("<x:k1>",)]
    second = Fact((OTHER, URIRef("x:near"), Variable("third")), (A, B))
    facts = (Fact(NEAR, (A,)), second)
    assert len(data.solutions(facts)) == 4  # the node near k1, which is near four
    assert data.solutions(facts) is data.solutions(facts)
    assert rows(data.solutions((Fact((ONE, URIRef("x:far"), OTHER), (A,)),))) == []


def test_solutions_keep_their_events_and_numbers(data: StaticData) -> None:
    terms = pa.array(["<x:z>", "<x:k1>"], pa.large_string())
    found = Bindings(
        np.array([3, 7, 8]), {"one": np.array([1, 0, 1])}, terms, {"n": np.array([1.0, 2.0, 3.0])}
    )
    both = data.beside(found, (Fact(NEAR, (A,)),))
    assert both.event.tolist() == [3, 8]
    assert both.bound["n"].tolist() == [1.0, 3.0]
    assert rows(both) == [("<x:k1>", "<x:k2>")] * 2
    assert len(set(both.terms.to_pylist())) == len(both.terms)


def test_an_event_and_the_files_are_one_graph(data: StaticData) -> None:
    triples = read_lines(pa.array(["<x:k2> <x:near> <x:k3> .", "<x:k1> <x:near> <x:k2> ."]))
    then: Triple = (OTHER, URIRef("x:near"), Variable("third"))
    found = data.merged(triples, [NEAR, then], (A,))
    assert list(zip(found.event.tolist(), rows(found), strict=True)) == [
        (0, ("<x:k1>", "<x:k2>", "<x:k3>")),
        (1, ("_:/0-n", "<x:k1>", "<x:k2>")),
    ]


def test_it_crosses_to_other_processes(data: StaticData) -> None:
    again = pickle.loads(pickle.dumps(data))  # noqa: S301
    assert rows(again.matched(Fact(NEAR, (A,)))) == rows(data.matched(Fact(NEAR, (A,))))


def test_rdf_in_xml_is_read_and_entities_of_other_files_are_not(tmp_path: Path) -> None:
    (tmp_path / "a.rdf").write_text(RDF)
    data = StaticData.of({A: tmp_path / "a.rdf"})
    assert rows(data.matched(Fact(NEAR, (A,)))) == [("<x:k1>", "<x:k2>")]
    secret = tmp_path / "secret"
    secret.write_text("hidden words")
    entity = f'<!DOCTYPE r [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    body = RDF.replace('<x:near rdf:resource="x:k2"/>', "<x:near>&e;</x:near>")
    (tmp_path / "b.rdf").write_text(entity + body)
    found = StaticData.of({B: tmp_path / "b.rdf"})
    assert not any("hidden" in text for text in found.terms.to_pylist())
