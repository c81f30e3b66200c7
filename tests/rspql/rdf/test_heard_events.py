"""What blocks found in events, and the way there and back."""

from __future__ import annotations

import pyarrow as pa
from rdflib.term import URIRef

from topwater.rspql import Plan, parse
from topwater.rspql.plan.plan import TIME
from topwater.rspql.rdf.event_format import Documents
from topwater.rspql.rdf.heard_events import Heard, heard, solutions_in

X = "http://example.org/"
NUMBER = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'


def plan() -> Plan:
    return parse(f"""PREFIX : <{X}> SELECT ?u (?d + ?y AS ?score)
        FROM NAMED WINDOW :a ON :s [RANGE 9 STEP 4] FROM NAMED WINDOW :b ON :t [RANGE 9 STEP 4]
        WHERE {{ WINDOW :a {{ ?u :p ?x BIND(?x * 2 AS ?d) }} WINDOW :b {{ ?u :q ?y }} }}
        ORDER BY DESC(?score) LIMIT 3""")  # noqa: S608


def told() -> Heard:
    lines = [f"_:b <{X}p> {NUMBER.format(3)} .", "what?", f"<{X}u> <{X}p> {NUMBER.format(4)} ."]
    events = pa.table({"time": [2, 5, None], "value": lines})
    return heard(plan(), URIRef(f"{X}s"), Documents(), events, scope="0x", first=7)


def test_each_block_of_the_stream_is_heard_with_its_times() -> None:
    found = told()
    assert [*found.found] == [(0, 0)]
    assert found.found[0, 0].to_pylist() == [
        {TIME: 2, "u": "_:e0x7-b", "x": NUMBER.format(3), "d": 6.0}
    ]
    assert found.times.newest.tolist() == [2, 5]
    assert (found.unread.tolist(), found.undated) == ([5], 1)
    other = heard(plan(), URIRef(f"{X}t"), Documents(), pa.table({"time": [1], "value": [""]}))
    assert (dict(other.found), other.times.newest.tolist()) == ({}, [1])


def test_it_is_the_same_after_a_journey() -> None:
    found = told()
    other = Heard.unpack(found.pack())
    assert other.found[0, 0].equals(found.found[0, 0])
    assert other.times.panes.tolist() == found.times.panes.tolist()
    assert (other.unread.tolist(), other.undated) == ([5], 1)


def test_solutions_of_several_tables_have_one_set_of_terms() -> None:
    (table,) = told().found.values()
    one, other = solutions_in([table, table])
    assert one.terms is other.terms
    assert one.codes["u"].tolist() == other.codes["u"].tolist()
    assert one.bound["d"].tolist() == [6.0]
