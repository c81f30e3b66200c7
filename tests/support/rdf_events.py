"""Triples of events as text, and patterns that look for them."""

from __future__ import annotations

from typing import Any

from rdflib.term import Literal, URIRef, Variable

from topwater.rspql.plan.plan import EventPattern
from topwater.rspql.rdf.triples import text_of

XSD = "http://www.w3.org/2001/XMLSchema#"
W = URIRef("x:w")
Triple = tuple[str, str, str]


def number(value: float) -> str:
    """A number as N-Triples writes it."""
    return text_of(Literal(value))


def pattern_of(*triples: str, **more: Any) -> EventPattern:
    """A pattern of triples like ``?who x:p ?n``."""
    spots = [
        tuple(Variable(each[1:]) if each[0] == "?" else URIRef(each) for each in triple.split())
        for triple in triples
    ]
    return EventPattern(W, tuple(spots), **more)  # type: ignore[arg-type]


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
