"""Static data beside a window: the same as SPARQL on Oxigraph, and only what was registered."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from topwater.errors import QueryError
from topwater.local import rspql
from topwater.remote import memory
from topwater.rspql import explain, parse

X = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
ROOMS = "http://data.example/rooms"
HEAD = f"PREFIX : <{X}> PREFIX xsd: <{XSD}>\n"
WINDOW = f"FROM NAMED WINDOW :w ON :s [RANGE 10s] FROM <{ROOMS}>"
QUERIES = {
    "a number and a class": """SELECT ?p ?room ?size WHERE {
        WINDOW :w { ?p :in ?room ; :v ?v } ?room :size ?size ; a :Office }
        ORDER BY DESC(?v + ?size) LIMIT 99""",
    "two variables shared, and a condition on both": """SELECT ?p ?name WHERE {
        ?room :near ?other ; :name ?name . WINDOW :w { ?p :in ?room ; :saw ?other ; :v ?v }
        FILTER(?name != "hall" && LANG(?name) = "") } ORDER BY DESC(?v) LIMIT 99""",
    "groups of what only the file says": """SELECT ?kind (COUNT(*) AS ?n) (MAX(?size * ?v) AS ?m)
        WHERE { WINDOW :w { ?p :in ?room ; :v ?v } ?room a ?kind . ?room :size ?size }
        GROUP BY ?kind HAVING (COUNT(*) > 1) ORDER BY DESC(SUM(?size) + COUNT(?p)) LIMIT 99""",
    "nothing shared": """SELECT ?p ?room WHERE { WINDOW :w { ?p :v ?v } ?room :size ?size }
        ORDER BY DESC(?v - ?size) LIMIT 99""",
    "a number joined as it is written": """SELECT ?p ?room WHERE {
        WINDOW :w { ?p :v ?v } ?room :size ?v } ORDER BY DESC(?v) LIMIT 99""",
    "a path, and a blank node": """SELECT ?p (COUNT(?o) AS ?n) WHERE {
        WINDOW :w { ?p :in ?room } ?room :near/:near ?o . [] :near ?room FILTER(isBLANK(?o)) }
        GROUP BY ?p ORDER BY DESC(?n) LIMIT 99""",
    "either of two": """SELECT ?p ?size WHERE {
        { WINDOW :w { ?p :in ?room } ?room :size ?size } UNION
        { WINDOW :w { ?p :saw ?room } ?room :size ?size FILTER(?size > 2) } }
        ORDER BY DESC(?size) LIMIT 99""",
    "a graph of its own": f"""SELECT ?p ?size WHERE {{
        WINDOW :w {{ ?p :in ?room }} GRAPH <{ROOMS}> {{ ?room :size ?size }} }}
        ORDER BY DESC(?size) LIMIT 99""",
}


def some_rooms(rng: random.Random) -> list[str]:
    """What a file says, as N-Triples."""
    rooms = [*(f"<{X}r{n}>" for n in range(4)), "_:hidden"]
    sizes = [f'"{n}"^^<{XSD}integer>' for n in (1, 2, 3, 4)] + [f'"2.5"^^<{XSD}decimal>']
    names = ['"hall"', '"hall"@en', '"a \\"b\\""', "<x:name>"]
    lines = []
    for room in rooms:
        lines += [f"{room} <{X}size> {each} ." for each in rng.sample(sizes, rng.randrange(3))]
        lines += [f"{room} <{X}name> {each} ." for each in rng.sample(names, rng.randrange(3))]
        lines += [f"{room} <{X}near> {each} ." for each in rng.sample(rooms, rng.randrange(1, 5))]
        kind = rng.choice(["Office", "Kitchen"])
        lines += [f"{room} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{X}{kind}> ."]
    return lines


def some_events(rng: random.Random) -> list[str]:
    events = []
    for at in range(rng.randrange(1, 7)):
        who = f"<{X}p{at % 3}>"
        value = rng.randrange(1, 5)
        said = [f"{who} <{X}{name}> <{X}r{rng.randrange(4)}> ." for name in ("in", "saw", "in")]
        said += [f'{who} <{X}v> "{value}"^^<{XSD}integer> .']
        events.append(" ".join(dict.fromkeys(said)))
    return events


def written(folder: Path, lines: list[str], ending: str) -> Path:
    """A file, in N-Triples or in Turtle, of which N-Triples are a part."""
    path = folder / f"rooms{ending}"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def told_of(query: str, events: list[str], path: Path) -> list[dict[str, Any]]:
    batch = {"time": [*range(1, len(events) + 1)], "value": events}
    text = HEAD + query.replace("WHERE", f"{WINDOW} WHERE", 1)
    found = rspql(text, streams={":s": [batch]}, files={ROOMS: path})
    return [row for told in found for row in told.rows]


def expected(query: str, events: list[str], lines: list[str]) -> list[dict[str, Any]]:
    """What Oxigraph says, with the file as the default graph and each event as a named one."""
    store = ox.Store()
    for graph in (ox.DefaultGraph(), ox.NamedNode(ROOMS)):
        said = "\n".join(lines).encode()
        store.load(said, format=ox.RdfFormat.N_TRIPLES, to_graph=graph)
    for number, text in enumerate(events):
        graph = ox.NamedNode(f"{X}event{number}")
        store.load(text.encode(), format=ox.RdfFormat.TURTLE, to_graph=graph)
    found = store.query(HEAD + query.replace("WINDOW :w", "GRAPH ?event"))
    assert isinstance(found, ox.QuerySolutions)
    names = [each.value for each in found.variables]
    return [{name: plain(row[name]) for name in names} for row in found]


def plain(term: Any) -> Any:
    """A number as a float, another term as answers write it, and a blank node without its name."""
    if isinstance(term, ox.Literal) and term.datatype.value.startswith(XSD):
        return str(term) if term.datatype.value.endswith("#string") else float(term.value)
    return term.value if isinstance(term, ox.NamedNode) else shape(str(term))


def shape(value: Any) -> Any:
    return "_:" if isinstance(value, str) and value.startswith("_:") else value


def compared(rows: list[dict[str, Any]]) -> list[str]:
    """Rows in one order; numbers as numbers."""
    found = []
    for row in rows:
        numbers = {n: _number(v) for n, v in row.items()}
        found.append(repr(sorted(numbers.items())))
    return sorted(found)


def _number(value: Any) -> Any:
    text = str(value)
    if text.startswith('"') and f"^^<{XSD}" in text:
        return float(text[1 : text.rindex('"')])
    return shape(value)


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_answers_are_those_of_sparql(query: str, tmp_path: Path) -> None:
    some = sum(require_same_answers(query, seed, tmp_path) for seed in range(12))
    assert some > 5


@pytest.mark.soak
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_many_more_answers_are_those_of_sparql(query: str, tmp_path: Path) -> None:
    assert sum(require_same_answers(query, seed, tmp_path) for seed in range(100, 1_100)) > 300


def require_same_answers(query: str, seed: int, folder: Path) -> int:
    """Random events beside a random file; how many rows there were."""
    rng = random.Random(seed)
    lines, events = some_rooms(rng), some_events(rng)
    path = written(folder, lines, rng.choice([".nt", ".ttl"]))
    rows = told_of(query, events, path)
    assert compared(rows) == compared(expected(query, events, lines)), (seed, events, lines)
    return len(rows)


def merged(events: list[str], lines: list[str]) -> list[tuple[str, str, float]]:
    """All of ``?p :in ?room . ?room :near ?o . ?o :size ?size`` by trying everything."""
    found = []
    for event in events:
        own = set(triples_in(event))
        there = sorted({*own, *triples_in(" ".join(lines))})
        by = {name: [t for t in there if t[1] == f"<{X}{name}>"] for name in ("in", "near", "size")}
        for one, two, three in product(by["in"], by["near"], by["size"]):
            if one[2] == two[0] and two[2] == three[0] and {one, two, three} & own:
                found.append((one[0][1:-1], one[2][1:-1], _number(three[2])))
    return sorted(found)


def triples_in(text: str) -> Iterator[tuple[str, str, str]]:
    for triple in ox.parse(text.encode(), format=ox.RdfFormat.TURTLE):
        yield str(triple.subject), str(triple.predicate), str(triple.object)


MERGED = f"""SELECT ?p ?room ?size FROM STREAM :s [RANGE 10s] FROM <{ROOMS}>
    WHERE {{ ?p :in ?room . ?room :near ?o . ?o :size ?size }} ORDER BY DESC(?size) LIMIT 99"""  # noqa: S608


@pytest.mark.parametrize("seed", range(25))
def test_triples_in_no_block_are_those_of_an_event_together_with_the_file(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    lines = [line for line in some_rooms(rng) if "_:" not in line]
    lines += [f"<{X}p9> <{X}in> <{X}r1> ."]  # which is of no event
    events = some_events(rng)
    for at in range(0, len(events), 2):  # some events say of rooms what the file says, or more
        events[at] += " " + rng.choice(lines) + f" <{X}r{at % 3}> <{X}near> <{X}r2> ."
    told = rspql(
        HEAD + MERGED,
        streams={":s": [{"time": [*range(1, len(events) + 1)], "value": events}]},
        files={ROOMS: written(tmp_path, lines, rng.choice([".nt", ".ttl"]))},
    )
    rows = [(row["p"], row["room"], _number(row["size"])) for each in told for row in each.rows]
    assert sorted(rows) == merged(events, lines)


def test_terms_join_as_they_are_written_and_blank_nodes_are_of_their_file(tmp_path: Path) -> None:
    path = tmp_path / "rooms.ttl"
    path.write_text(
        f'@prefix : <{X}> . :a :size "03"^^<{XSD}integer> . [] :near :a . _:b :near :a .'
    )
    line = f'<{X}p> <{X}v> "{{}}"^^<{XSD}integer> . _:b <{X}in> <{X}a> .'
    events = [line.format(3), line.format("03")]
    same = "SELECT ?room WHERE { WINDOW :w { ?p :v ?v } ?room :size ?v } ORDER BY DESC(?v) LIMIT 9"
    assert told_of(same, events, path) == [{"room": f"{X}a"}]
    near = """SELECT ?o (COUNT(*) AS ?n) WHERE { WINDOW :w { ?p :in ?room } ?o :near ?room }
        GROUP BY ?o ORDER BY DESC(?n) LIMIT 9"""
    rows = told_of(near, events, path)
    assert [row["n"] for row in rows] == [2.0, 2.0]
    assert len({row["o"] for row in rows}) == 2
    assert all(row["o"].startswith("_:f") for row in rows)
    node = (
        "SELECT ?p ?o WHERE { WINDOW :w { ?o :in ?r . ?p :v ?v } ?o :near ?r } ORDER BY ?v LIMIT 9"
    )
    assert told_of(node, events, path) == []


def test_windows_that_are_joined_have_static_data_too(tmp_path: Path) -> None:
    path = tmp_path / "rooms.nt"
    path.write_text(f'<{X}a> <{X}size> "4"^^<{XSD}integer> .\n')
    number = '"{}"^^<' + XSD + "integer> ."
    text = f"""{HEAD} SELECT ?room (?v * ?w + ?size AS ?score) FROM <{ROOMS}>
        FROM NAMED WINDOW :w ON :s [RANGE 10] FROM NAMED WINDOW :x ON :t [RANGE 10]
        WHERE {{ WINDOW :w {{ ?room :v ?v }} WINDOW :x {{ ?room :w ?w }} ?room :size ?size }}
        ORDER BY DESC(?score) LIMIT 3"""  # noqa: S608
    streams = {
        f":{s}": [
            {"time": [1, 2], "value": [f"<{X}{r}> <{X}{p}> {number.format(3)}" for r in "ab"]}
        ]
        for s, p in ("sv", "tw")
    }
    (told,) = rspql(text, streams=streams, files={ROOMS: str(path)})
    assert told.rows == [{"room": f"{X}a", "score": 13.0}]


PLAIN = f"""{HEAD}SELECT ?p (?v + ?size AS ?sum) {WINDOW}
    WHERE {{ WINDOW :w {{ ?p :v ?v }} ?p :size ?size }} ORDER BY DESC(?sum) LIMIT 9"""


def test_nothing_is_read_that_nobody_registered(tmp_path: Path) -> None:
    plan = parse(PLAIN, files=[ROOMS])
    assert plan.files
    with pytest.raises(
        QueryError, match=r"line 2, column 76: the file <http://data\.example/rooms>"
    ):
        rspql(plan, streams={":s": []})
    with pytest.raises(QueryError, match=r"or, for a file, files=\{'http://data"):
        rspql(PLAIN, streams={":s": []})
    for path in ("http://data.example/rooms.ttl", "file:///etc/passwd", 7):
        with pytest.raises(QueryError, match="not registered with the path of a file"):
            rspql(PLAIN, streams={":s": []}, files={ROOMS: path})  # type: ignore[dict-item]
    with pytest.raises(QueryError, match="are given by name"):
        rspql(PLAIN, streams={":s": []}, files=[ROOMS])  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="as a service and as a file"):
        rspql(PLAIN, streams={":s": []}, files={ROOMS: "a.nt"}, services={ROOMS: memory({})})


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("rooms.nt", "<x:a> <x:p> <x:b> .\nnonsense\n", "line 2 is not N-Triples"),
        ("rooms.ttl", "@prefix : nonsense", "can't be read"),
        ("rooms.csv", "a,b", "'.csv' says nothing"),
        ("nowhere.ttl", None, "No such file"),
    ],
)
def test_a_file_that_can_not_be_read_is_told_before_anything_starts(
    name: str, text: str | None, told: str, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(QueryError, match=told) as caught:
        rspql(PLAIN, streams={":s": []}, files={ROOMS: tmp_path / name})
    assert "files.<http://data.example/rooms>" in str(caught.value)


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("WINDOW :w { ?p :v ?v FILTER(?size > 2) } ?p :size ?size", "no value inside the block"),
        ("WINDOW :w { ?p :v ?v } { ?p :size ?size FILTER(?v > 2) }", "among the static data"),
        ("WINDOW :w { ?p :v ?a BIND(?a * 2 AS ?v) } ?p :size ?v", "computed, and joined"),
        ("WINDOW :w { ?p :v ?v } OPTIONAL { ?p :size ?size }", "static data are OPTIONAL"),
        ("{ WINDOW :w { ?p :v ?v } } UNION { ?p :size ?v }", "an alternative of their own"),
        ("WINDOW :w { ?p :v ?v } ?p :size+ ?size", "property path is not a sequence"),
    ],
)
def test_what_can_not_be_joined_is_refused_at_its_place(where: str, told: str) -> None:
    text = f"{HEAD}SELECT ?p {WINDOW} WHERE {{ {where} }} ORDER BY DESC(?v) LIMIT 3"
    with pytest.raises(QueryError, match=rf"line 2, column \d+: .*{told}"):
        parse(text, files=[ROOMS])


def test_it_is_told_what_is_read(tmp_path: Path) -> None:
    told = explain(parse(PLAIN, files=[ROOMS]))
    assert f"?p :size ?size  in <{ROOMS}>, a file" in told
    assert f"inside each event together with <{ROOMS}>" in explain(HEAD + MERGED)
    looked_up = parse(PLAIN)
    assert not looked_up.files
    assert looked_up.origin != parse(PLAIN, files=[ROOMS]).origin
