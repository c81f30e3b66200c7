"""Ways to write the same query, and what is refused; the corpus has whole queries."""

from __future__ import annotations

import pytest

from topwater.errors import QueryError
from topwater.local import rspql
from topwater.rspql import Plan, parse

HEAD = "PREFIX : <http://example.org/>\n"
WHERE = "WHERE { WINDOW :w { ?s :v ?v } } ORDER BY DESC(?v) LIMIT 3"
JOINED = (
    HEAD + "SELECT ?u FROM NAMED WINDOW :w ON :s [RANGE 9s STEP 3s] "  # noqa: S608
    "WHERE { WINDOW :w { ?u :v ?v } SERVICE :b { ?u :f ?f } } ORDER BY DESC(?v + ?f) LIMIT 3 "
)


def registered(head: str, form: str = "SELECT ?s") -> Plan:
    return parse(f"{HEAD}{head} {form} FROM NAMED WINDOW :w ON :s [RANGE 6s STEP 2s] {WHERE}")


def refused(text: str) -> str:
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert str(caught.value).startswith("line ")
    assert caught.value.fix
    return str(caught.value)


def test_without_a_service_any_score_will_do() -> None:
    text = f"{HEAD}SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE 6s] {WHERE}"  # noqa: S608
    assert parse(text.replace("DESC(?v)", "ASC(ABS(?v - 3))")).score == "abs(v - 3)"


@pytest.mark.parametrize(
    ("clause", "told"),
    [
        ("WITH", "has no setting"),
        ("WITH BUDGET", "expected a number"),
        ("WITH BUDGET many FETCHES", "expected a number"),
        ("WITH BUDGET 7s", "BUDGET counts fetches"),
        ("WITH BUDGET 0 FETCHES", "may fetch nothing"),
        ("WITH BUDGET 1 FETCHES BUDGET 2 FETCHES", "given twice"),
        ("WITH BUDGET 1 FETCHES BUDGET UNLIMITED", "given twice"),
        ("WITH BUDGET UNLIMITED DEADLINE PT2S", "either a number of fetches or a deadline"),
        ("WITH BUDGET UNLIMITED FETCHES", "not a setting of WITH"),
        ("WITH DEADLINE 0s", "leaves no time"),
        ("WITH POLICY bst", "knows the truth"),
        ("WITH POLICY at-nothing", "is unknown"),
        ("WITH ACCURACY 0", "above 0"),
        ("WITH ACCURACY 2", "above 0"),
        ("WITH SPARE some", "expected a number"),
        ("WITH SPARE 3 LIMIT 5", "not a setting of WITH"),
        ("WITH SPARE 3 WITH SPARE 3", "not a setting of WITH"),
    ],
)
def test_with_refused(clause: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        parse(JOINED + clause)


def test_a_service_has_to_be_registered_if_services_are_told() -> None:
    for name in (":b", "http://example.org/b", "<http://example.org/b>"):
        assert parse(JOINED, services=[name]).services
    with pytest.raises(QueryError, match="the service :b is not registered") as caught:
        parse(JOINED, services=[])
    assert "registered: none" in caught.value.fix


def test_tabs_and_windows_line_ends_keep_places_right() -> None:
    told = refused(
        f"{HEAD}SELECT ?s\r\n\tFROM NAMED WINDOW :w ON :s [RANGE\t6s]\r\n\tWHERE\t{{ ; }}"
    )
    assert told.startswith("line 4, column 10: ';' can't stand here")


def test_a_tab_in_a_string_stays_one() -> None:
    plan = parse(
        f"{HEAD}SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE 6s] "  # noqa: S608
        'WHERE { WINDOW :w { ?s :v ?v ; :label "a\tb" } } ORDER BY DESC(?v) LIMIT 3'
    )
    assert any(str(term) == "a\tb" for triple in plan.patterns[0].triples for term in triple)


def test_many_triples_are_refused_and_do_not_crash() -> None:
    triples = "?s :v ?v . " * 150
    told = refused(
        f"{HEAD}SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE 6s] "  # noqa: S608
        f"WHERE {{ WINDOW :w {{ {triples} }} }} ORDER BY DESC(?v) LIMIT 3"
    )
    assert "too many triples" in told


def test_sums_of_many_terms_are_refused_and_do_not_crash() -> None:
    told = refused(
        f"{HEAD}SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE 6s] "  # noqa: S608
        f"WHERE {{ WINDOW :w {{ ?s :v ?v }} }} ORDER BY DESC(?v{' + ?v' * 150}) LIMIT 3"
    )
    assert "levels" in told


@pytest.mark.parametrize(
    ("wrong", "right", "blamed", "fix"),
    [
        ("SELEKT ?s", "SELECT ?s", "SELEKT", "did you mean SELECT?"),
        ("{ WINDWO :w", "{ WINDOW :w", "WINDWO", "did you mean WINDOW?"),
        ("FORM NAMED", "FROM NAMED", "FORM", "did you mean FROM?"),
        ("LIMT 3", "LIMIT 3", "LIMT", "did you mean LIMIT?"),
        ("DESC ?v", "DESC(?v)", "?v", "DESC(?v)"),
        ("LIMIT ?k", "LIMIT 3", "?k", "as LIMIT 10"),
        ("SELECT ?s 2 * ?v AS ?x", "SELECT ?s", "2", "(0.3 * ?a AS ?score)"),
        ("INSERT DATA {} SELECT ?s", "SELECT ?s", "INSERT", "use SELECT or CONSTRUCT"),
        ("LIMIT 3 SPARE 3", "LIMIT 3", "SPARE", "after WITH"),
        ("{ ?s :v ?v ?w }", "{ ?s :v ?v }", "?w", "the grammar is that of SPARQL"),
    ],
)
def test_what_is_no_sparql_is_marked_with_what_was_meant(
    wrong: str, right: str, blamed: str, fix: str
) -> None:
    text = f"{HEAD}SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE 6s] {WHERE}"  # noqa: S608
    parse(text)
    head, tail = text.split(right, 1)
    problem, shown, caret, told = refused(f"{head}\n{wrong}{tail}").splitlines()
    assert problem.endswith(f": {blamed!r} can't stand here")
    assert shown[caret.index("^") :].startswith(blamed)
    assert fix in told


def test_a_mark_of_the_byte_order_is_passed_over() -> None:
    assert registered("").windows == parse("\ufeff" + registered("").text).windows


def test_a_base_that_is_no_address_is_refused() -> None:
    text = f"BASE <http://ex[g/>\n{HEAD}SELECT ?s FROM NAMED WINDOW <w> ON :s [RANGE 6s] {WHERE}"  # noqa: S608
    assert "line 2" in refused(text)
    assert "is not an IRI" in refused(text)


@pytest.mark.parametrize("text", ["", "  \n\t", "# a comment"])
def test_an_empty_query_is_called_empty(text: str) -> None:
    assert "the query is empty" in refused(text)


@pytest.mark.parametrize("name", ["1", "été", "\U0001f600", "x\U0001f600y", "time", "__agg_1__"])
def test_variables_with_names_that_python_does_not_have(name: str) -> None:
    window = f"FROM NAMED WINDOW :w ON :s [RANGE 6s] WHERE {{ WINDOW :w {{ ?s :v ?{name} }}"
    grouped = parse(
        f"{HEAD}SELECT ?s (SUM(?{name}) AS ?{name}n) {window} }} "
        f"GROUP BY ?s ORDER BY DESC(?{name}n) LIMIT 3"
    )
    assert grouped.numbers == (name, f"{name}!")
    joined = parse(
        f"{HEAD}SELECT ?s {window} SERVICE :b {{ ?s :f ?f }} }} ORDER BY DESC(?{name} + ?f) LIMIT 3"
    )
    assert joined.numbers == (name,)


WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE 6s]"
BODY = "WHERE { WINDOW :w { ?s :v ?v } }"
RANKED = "ORDER BY DESC(?v) LIMIT 3"


@pytest.mark.parametrize(
    ("text", "at", "fix"),
    [
        (
            f"PREFIX : http://x/#a\nSELECT ?s {WINDOW} {BODY} {RANKED}",
            "http",
            "PREFIX : <http://x/#a>",
        ),
        (
            f'PREFIX : "http://x/"\nSELECT ?s {WINDOW} {BODY} {RANKED}',
            '"http',
            "PREFIX : <http://x/>",
        ),
        (
            f"PREFIX ex <http://x/>\nSELECT ?s {WINDOW} {BODY} {RANKED}",
            "ex",
            "PREFIX ex: <http://x/>",
        ),
        (f"BASE http://x/\nSELECT ?s {WINDOW} {BODY} {RANKED}", "http", "BASE <http://x/>"),
        (f"{HEAD}SELECT ?s, ?v {WINDOW} {BODY} {RANKED}", ",", "leave the comma out"),
        (f"{HEAD}SELECT ?s {WINDOW} {BODY} ORDER BY ?v DESC LIMIT 3", "DESC", "ORDER BY DESC(?v)"),
        (f"{HEAD}SELECT ?s {WINDOW} {BODY} LIMIT 3 ORDER BY ?v", "LIMIT", "put ORDER BY before it"),
        (f"{HEAD}SELECT ?s {WINDOW} {BODY} LIMIT 3", "LIMIT", "ORDER BY DESC(?score) LIMIT 3"),
        (f"{HEAD}SELECT ?s {WINDOW} {BODY} ORDER BY DESC(?s) LIMIT 3", "?s) LIMIT", "COUNT(?s)"),
        (
            f"{HEAD}SELECT ?s {WINDOW} {BODY} ORDER BY DESC(?v + ?s) LIMIT 3",
            "?s) LIMIT",
            "rank by what",
        ),
        (
            f"{HEAD}SELECT ?p {WINDOW} WHERE {{ WINDOW :w {{ ?s ?p ?v }} }} GROUP BY ?p "
            "ORDER BY DESC(SUM(?p)) LIMIT 3",
            "?p)) LIMIT",
            "rank by what",
        ),
        (
            f"{HEAD}SELECT ?s {WINDOW} WHERE {{ WINDOW :w {{ ?s :v ?v "
            f"OPTIONAL {{ ?s :t ?t }} }} }} {RANKED}",
            "OPTIONAL",
            "UNION",
        ),
        (
            f"{HEAD}SELECT ?s {WINDOW} {BODY} GROUP BY ?s HAVING(COUNT(*) > 1 || SUM(?v) >= 2) "
            "ORDER BY DESC(SUM(?v)) LIMIT 3",
            "HAVING",
            "all <= >=",
        ),
        (
            f"{HEAD}SELECT ?s {WINDOW} WHERE {{ WINDOW :w {{ ?s :v+ ?v }} }} "
            "ORDER BY DESC(?v + 1 * 2) LIMIT 3",
            "+ ?v }",
            "write :a/:b",
        ),
    ],
)
def test_a_mistake_is_told_at_its_place_with_what_to_write(text: str, at: str, fix: str) -> None:
    with pytest.raises(QueryError) as error:
        parse(text)
    assert fix in error.value.fix
    assert "SERVICE" not in error.value.fix
    shown, caret = error.value.problem.splitlines()[1:]
    assert shown[caret.index("^") :].startswith(at)


def test_two_prefixes_may_stand_for_one_namespace() -> None:
    plan = parse(
        "PREFIX a: <http://x/> PREFIX b: <http://x/> PREFIX : <http://x/> "  # noqa: S608
        "SELECT ?s FROM NAMED WINDOW a:w ON b:s [RANGE 6s] WHERE { WINDOW :w { ?s b:v ?v ; a:t "
        f'"1"^^xsd:integer }} }} {RANKED}'
    )
    assert {str(triple[1]) for triple in plan.patterns[0].triples} == {"http://x/v", "http://x/t"}
    assert str(plan.windows[0].stream) == "http://x/s"


@pytest.mark.parametrize("select", ["*", "?w ?s ?v"])
def test_which_window_it_was_can_be_shown(select: str) -> None:
    plan = parse(
        f"{HEAD}SELECT {select} FROM NAMED WINDOW :w1 ON :s [RANGE 6s] FROM NAMED WINDOW :w2 ON :t "  # noqa: S608
        f"[RANGE 6s] WHERE {{ WINDOW ?w {{ ?s :v ?v }} }} {RANKED}"
    )
    line = '<x:a> <http://example.org/v> "{}"^^<http://www.w3.org/2001/XMLSchema#integer> .'
    streams = {
        name: [{"time": [at], "value": [line.format(at)]}] for name, at in ((":s", 1), (":t", 2))
    }
    (told,) = rspql(plan, streams=streams)
    found = [(row["w"].rpartition("/")[2], row["s"]) for row in told.rows]
    assert found == [("w2", "x:a"), ("w1", "x:a")]
