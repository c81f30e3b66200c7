"""The streaming parts of a query, taken out of it; what is left is SPARQL at the same places."""

from __future__ import annotations

import pytest
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.term import URIRef, Variable

from topwater.errors import QueryError
from topwater.rspql.parser.cursor import Names
from topwater.rspql.parser.streaming_clauses import SIMPLE, Streaming, take_apart
from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.plan import Refresh, StreamWindow

HEAD = "PREFIX : <http://example.org/>\n"
FROM = "FROM NAMED WINDOW :w ON :s [RANGE 6s STEP 2s]"
WHERE = "WHERE { WINDOW :w { ?s :v ?v } } ORDER BY DESC(?v) LIMIT 3"
W, S, T = (URIRef(f"http://example.org/{name}") for name in "wst")


def parts_of(text: str) -> Streaming:
    document = Document(HEAD + text)
    return take_apart(document, Names(document))


def registered(head: str, form: str = "SELECT ?s") -> Streaming:
    return parts_of(f"{head} {form} {FROM} {WHERE}")


def refused(text: str) -> QueryError:
    with pytest.raises(QueryError) as caught:
        parts_of(text)
    assert caught.value.problem.startswith("line ")
    assert caught.value.fix
    return caught.value


def test_what_is_left_is_sparql_and_each_word_is_where_it_was() -> None:
    text = f"REGISTER ISTREAM :q AS # now\nSELECT\t?s {FROM} {WHERE} WITH BUDGET 7 FETCHES"
    left = parts_of(text).sparql
    assert len(left) == len(HEAD + text)
    parseQuery(left)
    rest = "WHERE { GRAPH :w { ?s :v ?v } } ORDER BY DESC(?v) LIMIT 3"
    assert " ".join(left.split()) == f"PREFIX : <http://example.org/> SELECT ?s {rest}"
    assert left.index("?s") == (HEAD + text).index("?s")
    assert left.count("\n") == 2


def test_a_tab_in_a_string_stays_one_and_moves_nothing() -> None:
    left = parts_of('SELECT ?s { WINDOW :w { ?s :v "a\tb" } }').sparql
    assert '"a\\tb"' in left


@pytest.mark.parametrize(
    ("head", "form", "operator"),
    [
        ("", "SELECT ?s", "RSTREAM"),
        ("REGISTER RSTREAM <q> AS", "SELECT ?s", "RSTREAM"),
        ("REGISTER IStream :q AS", "SELECT ?s", "ISTREAM"),
        ("register dstream :q as", "select ?s", "DSTREAM"),
        ("REGISTER STREAM :q AS", "SELECT ISTREAM ?s", "ISTREAM"),
        ("REGISTER STREAM :q AS", "SELECT ?s", "RSTREAM"),
        ("REGISTER STREAM :q AS", "CONSTRUCT DSTREAM { ?s a :Hot }", "DSTREAM"),
        ("REGISTER RSTREAM :q AS", "SELECT RSTREAM ?s", "RSTREAM"),
        ("REGISTER QUERY someName AS", "SELECT ?s", "RSTREAM"),
        ("REGISTER STREAM :q COMPUTED EVERY PT2S AS", "SELECT ?s", "RSTREAM"),
    ],
)
def test_register(head: str, form: str, operator: str) -> None:
    parts = registered(head, form)
    assert parts.operator == operator
    assert (parts.name is None) == (head == "")


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("REGISTER AS", "lacks what it registers"),
        ("REGISTER RSTREAM AS", "name"),
        ("REGISTER RSTREAM ?out AS", "can't be a variable"),
        ("REGISTER RSTREAM :q", "expected AS"),
        ("REGISTER RSTREAM :q AS REGISTER RSTREAM :r AS", "given twice"),
        ("REGISTER STREAM :q COMPUTED EVERY PT5S AS", "answered when they close"),
        ("REGISTER STREAM :q UNDER ENTAILMENT AS", "expected REGIME"),
    ],
)
def test_register_refused(head: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        registered(head)


def test_a_name_may_be_a_word_with_an_argument() -> None:
    assert registered("REGISTER QUERY Ans(q) AS").name == URIRef("Ans")
    assert registered("REGISTER STREAM :q (q) AS").name == URIRef("http://example.org/q")


def test_two_operators_have_to_agree() -> None:
    error = refused(f"REGISTER RSTREAM :q AS SELECT ISTREAM ?s {FROM} {WHERE}")
    assert "RSTREAM" in error.problem
    assert "ISTREAM" in error.problem


def test_only_simple_entailment() -> None:
    regime = "REGISTER RSTREAM :q UNDER ENTAILMENT REGIME <{}> AS"
    assert registered(regime.format(SIMPLE)).name is not None
    with pytest.raises(QueryError, match="infer the triples before"):
        registered(regime.format("http://www.w3.org/ns/entailment/RDFS"))


@pytest.mark.parametrize(
    ("window", "every", "step"),
    [
        ("[RANGE 6s STEP 2s]", "", 2_000),
        ("[RANGE 6s]", "", 6_000),
        ("[RANGE 6s]", "COMPUTED EVERY 3s", 3_000),
        ("[RANGE 6s STEP 2s]", "COMPUTED EVERY PT2S", 2_000),
    ],
)
def test_how_far_windows_move(window: str, every: str, step: int) -> None:
    parts = parts_of(
        f"REGISTER STREAM :q {every} AS SELECT ?s FROM NAMED WINDOW :w ON :s {window} {WHERE}"  # noqa: S608
    )
    assert parts.windows == {W: StreamWindow(W, S, 6_000, step, "time")}


def test_windows_that_count_are_answered_by_their_own_step() -> None:
    parts = parts_of(
        "REGISTER STREAM :q COMPUTED EVERY 3s AS SELECT ?s "  # noqa: S608
        f"FROM NAMED WINDOW :w ON :s [ELEMENTS 9 STEP 3] {WHERE}"
    )
    assert parts.windows[W] == StreamWindow(W, S, 9, 3, "count")


def test_from_clauses_stand_in_any_order() -> None:
    clauses = [
        "FROM NAMED WINDOW :w ON STREAM :s [RANGE 6s STEP 2s]",
        "FROM NAMED WINDOW :x ON :t [RANGE 9s]",
        "FROM <http://static.example/>",
    ]
    for order in (clauses, clauses[::-1]):
        parts = parts_of(f"SELECT ?s {' '.join(order)} {WHERE}")
        assert {window.stream for window in parts.windows.values()} == {S, T}
        assert parts.static == [URIRef("http://static.example/")]


def test_a_window_may_be_declared_where_it_is_read() -> None:
    parts = parts_of("SELECT ?s { WINDOW :w(9min, 3min) ON :s { ?s :v ?v } }")
    assert parts.windows == {W: StreamWindow(W, S, 540_000, 180_000, "time")}
    assert parts.sparql.split() == (HEAD + "SELECT ?s { GRAPH :w { ?s :v ?v } }").split()


@pytest.mark.parametrize("named", ["", "NAMED "])
def test_a_stream_of_other_dialects_is_a_window_of_its_name(named: str) -> None:
    parts = parts_of(f"SELECT ?s FROM {named}STREAM :s [NOW - 6 S SLIDE 2 S] {{ ?s :v ?v }}")  # noqa: S608
    assert parts.windows == {S: StreamWindow(S, S, 6_000, 2_000, "time")}
    assert parts.default == [S]
    assert parts.sparql.split() == (HEAD + "SELECT ?s { ?s :v ?v }").split()


def test_a_stream_block_is_a_window_declared_where_it_is_read() -> None:
    parts = parts_of("SELECT ?s { STREAM :s [RANGE 6s SLIDE 2s] { ?s :v ?v } STREAM :s {} }")
    assert parts.windows == {S: StreamWindow(S, S, 6_000, 2_000, "time")}
    assert parts.default == []
    assert (
        parts.sparql.split() == (HEAD + "SELECT ?s { GRAPH :s { ?s :v ?v } GRAPH :s {} }").split()
    )


def test_streams_and_windows_may_be_variables() -> None:
    parts = parts_of("SELECT ?s FROM NAMED WINDOW ?w ON STREAM ?t [RANGE 6s] { WINDOW ?w {} }")
    w, t = Variable("w"), Variable("t")
    assert parts.windows == {w: StreamWindow(w, t, 6_000, 6_000, "time")}


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        (f"SELECT ?s FROM WINDOW :w ON :s [RANGE 6s] {WHERE}", "FROM NAMED WINDOW"),  # noqa: S608
        (f"SELECT ?s {FROM} {FROM} {WHERE}", "rename"),
        (f"SELECT ?s FROM STREAM :s {WHERE}", "FROM STREAM :stream [RANGE"),  # noqa: S608
        (f"SELECT ?s FROM STREAM :s [NOW-5 S] FROM STREAM :s [RANGE 9] {WHERE}", "with a name"),  # noqa: S608
        (f"SELECT ?s FROM NAMED GRAPH :g {WHERE}", "FROM <iri>"),  # noqa: S608
        (f"SELECT ?s FROM :bkg CACHE 5s {WHERE}", "WITH BUDGET"),  # noqa: S608
        (f"SELECT ?s FROM :bkg WITH DEPTH 2 {WHERE}", "WITH BUDGET"),  # noqa: S608
        ("SELECT ?s { STREAM :s [RANGE 6s] {} STREAM :s [RANGE 9s] {} }", "WINDOW :w"),
        ("SELECT ?s { STREAM s [RANGE 6s] { ?s :v ?v } }", "STREAM :stream [RANGE"),
        ("SELECT ?s { WINDOW w { ?s :v ?v } }", "WINDOW :w"),
        ("SELECT ?s { WINDOW :w(9min) { ?s :v ?v } }", "ON :stream"),
        (f"SELECT ?s {FROM} {{ WINDOW :w(9min) ON :s {{ ?s :v ?v }} }}", "leave one"),
        ("SELECT ?s { WINDOW :w(3min, 9min) ON :s { ?s :v ?v } }", "at least as long"),
        (f"ASK {FROM} {WHERE}", "SELECT or CONSTRUCT"),
        (f"DESCRIBE ?s {FROM} {WHERE}", "SELECT or CONSTRUCT"),
        (f"SELECT ?s {FROM} {WHERE} WITH SPARE 3 LIMIT 5", "WITH stands last"),
        (f"SELECT ?s {FROM} {WHERE} WITH SPARE 3 WITH SPARE 3", "WITH stands last"),
        (f"SELECT ?s {FROM} {WHERE} WITH BUDGET UNLIMITED FETCHES", "WITH stands last"),
    ],
)
def test_what_is_refused_says_what_to_write(text: str, fix: str) -> None:
    assert fix in refused(text).fix


@pytest.mark.parametrize(
    "clause",
    [
        "WITH BUDGET 7 FETCHES POLICY worth SPARE 10 ACCURACY 0.9",
        "with accuracy 0.9 spare 10 policy WORTH budget 7 fetches",
        "WITH BUDGET 7 FETCHES\nPOLICY worth # a comment\n\tSPARE 10 ACCURACY 9e-1",
    ],
)
def test_settings_stand_in_any_order(clause: str) -> None:
    parts = parts_of(f"SELECT ?s {FROM} {WHERE} {clause}")
    assert parts.refresh == Refresh(fetches=7, policy="worth", spare=10, accuracy=0.9)
    assert parts.refresh_at == len(HEAD + f"SELECT ?s {FROM} {WHERE} ")
