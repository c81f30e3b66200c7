"""Ways to write the same query, and what is refused; the corpus has whole queries."""

from __future__ import annotations

import pytest

from topwater.errors import QueryError
from topwater.replica import Budget
from topwater.rspql import Plan, parse
from topwater.rspql.plan.plan import Compare, StreamWindow

HEAD = "PREFIX : <http://example.org/>\n"
WHERE = "WHERE { WINDOW :w { ?s :v ?v } } ORDER BY DESC(?v) LIMIT 3"
JOINED = (
    HEAD + "SELECT ?u FROM NAMED WINDOW :w ON :s [RANGE 9s STEP 3s] "  # noqa: S608
    "WHERE { WINDOW :w { ?u :v ?v } SERVICE :b { ?u :f ?f } } ORDER BY DESC(?v + ?f) LIMIT 3 "
)


def windowed(window: str) -> StreamWindow:
    return parse(f"{HEAD}SELECT ?s FROM NAMED WINDOW :w ON :s {window} {WHERE}").windows[0]  # noqa: S608


def registered(head: str, form: str = "SELECT ?s") -> Plan:
    return parse(f"{HEAD}{head} {form} FROM NAMED WINDOW :w ON :s [RANGE 6s STEP 2s] {WHERE}")


def ranked(score: str, where: str = "") -> Plan:
    return parse(
        f"{HEAD}SELECT ?u FROM NAMED WINDOW :w ON :s [RANGE 9s STEP 3s] WHERE {{ "  # noqa: S608
        f"WINDOW :w {{ ?u :v ?v }} SERVICE :b {{ ?u :f ?f }} {where} }} "
        f"ORDER BY DESC({score}) LIMIT 3"
    )


def refused(text: str) -> str:
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert str(caught.value).startswith("line ")
    assert caught.value.fix
    return str(caught.value)


@pytest.mark.parametrize(
    ("window", "width", "step", "by"),
    [
        ("[RANGE PT9M STEP PT3M]", 540_000, 180_000, "time"),
        ("[RANGE PT9M SLIDE PT3M]", 540_000, 180_000, "time"),
        ("[SLIDE 30s STEP 10s]", 30_000, 10_000, "time"),
        ("[RANGE 9 min STEP 3 min]", 540_000, 180_000, "time"),
        ("[range 9m]", 540_000, 540_000, "time"),
        ("[RANGE 9m TUMBLING]", 540_000, 540_000, "time"),
        ("[RANGE P1D STEP PT12H]", 86_400_000, 43_200_000, "time"),
        ("[RANGE PT0.5S STEP 100ms]", 500, 100, "time"),
        ("[RANGE 10 STEP 2]", 10, 2, "time"),
        ("[ELEMENTS 100 STEP 20]", 100, 20, "count"),
        ("[ELEMENTS 100]", 100, 100, "count"),
        ("[TRIPLES 50]", 50, 50, "count"),
        ("[RANGE TRIPLES 50 STEP TRIPLES 5]", 50, 5, "count"),
        ("[RANGE BGP 3 STEP 1]", 3, 1, "count"),
    ],
)
def test_windows(window: str, width: int, step: int, by: str) -> None:
    found = windowed(window)
    assert (found.width, found.step, found.by) == (width, step, by)


@pytest.mark.parametrize(
    ("window", "told"),
    [
        ("[RANGE 0]", "the window is empty"),
        ("[ELEMENTS 0]", "the window is empty"),
        ("[RANGE 5s STEP 0s]", "never move"),
        ("[RANGE 5s STEP 9s]", "step is longer"),
        ("[STEP 5s]", "begins with RANGE"),
        ("[]", "begins with RANGE"),
        ("[RANGE]", "expected a number"),
        ("[RANGE 5s STEP]", "expected a number"),
        ("[RANGE -5s]", "negative"),
        ("[RANGE 5parsecs]", "unit 'parsecs' is unknown"),
        ("[RANGE 5s STEP 1s 2s]", "expected ]"),
        ("[ELEMENTS 5s]", "whole number"),
        ("[ELEMENTS 2.5]", "whole number"),
        ("[NOW]", "one instant"),
        ("[RANGE 5s EMIT ON_CLOSE]", "when they close"),
        ("[RANGE 5s TICK TUPLE_DRIVEN]", "event time"),
        ("", r"expected \["),
    ],
)
def test_windows_refused(window: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        windowed(window)


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
    plan = registered(head, form)
    assert plan.operator == operator
    assert (plan.name is None) == (head == "")


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("REGISTER AS", "says what it registers"),
        ("REGISTER RSTREAM AS", "name"),
        ("REGISTER RSTREAM ?out AS", "can't be a variable"),
        ("REGISTER RSTREAM :q", "expected AS"),
        ("REGISTER RSTREAM :q AS REGISTER RSTREAM :r AS", "said twice"),
        ("REGISTER STREAM :q COMPUTED EVERY PT5S AS", "answered when they close"),
        ("REGISTER STREAM :q UNDER ENTAILMENT AS", "expected REGIME"),
    ],
)
def test_register_refused(head: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        registered(head)


def test_from_clauses_stand_in_any_order() -> None:
    windows = [
        "FROM NAMED WINDOW :w ON STREAM :s [RANGE 6s STEP 2s]",
        "FROM NAMED WINDOW :x ON :t [RANGE 9s]",
        "FROM <http://static.example/>",
    ]
    plans = [
        parse(f"{HEAD}SELECT ?s {' '.join(order)} {WHERE}") for order in (windows, windows[::-1])
    ]
    assert plans[0].windows == plans[1].windows
    assert plans[0].static == plans[1].static != ()


@pytest.mark.parametrize(
    ("score", "formula"),
    [
        ("0.3 * ?v + 0.7 * ?f", "0.3 * v + 0.7 * f"),
        ("?v - -?f", "v - -f"),
        ("?v-5+?f", "v - 5 + f"),
        ("xsd:double(?v) + ?f", "v + f"),
        ("IF(?v > ?f, ?v, ?f)", "max(v, f)"),
        ("IF(?v < ?f, ?v, ?f)", "min(v, f)"),
        ("IF(?v <= ?f, ?f, ?v)", "max(v, f)"),
        ("<urn:topwater:clip>(?v, 0, 10) + ?f", "clip(v, 0, 10) + f"),
        ("<http://www.w3.org/2005/xpath-functions/math#sqrt>(?v) + ?f", "sqrt(v) + f"),
        ("COALESCE(?v, 3) + ?f", "v + f"),
        ("(?v + ?f) / 2", "(v + f) / 2"),
    ],
)
def test_scores(score: str, formula: str) -> None:
    assert ranked(score).score == formula


@pytest.mark.parametrize(
    ("score", "told"),
    [
        ("?v * ?f", "rises or falls"),
        ("ABS(?f)", "rises or falls"),
        ("?v / ?f", "rises or falls"),
        ("?f - ?f * 2", "rises or falls"),
        ("STRLEN(?v) + ?f", "STRLEN gives no number"),
        ('"a" + ?f', "is no number"),
        (":thing + ?f", "is no number"),
        ("true + ?f", "is no number"),
        ("(?v > ?f) + ?f", "a comparison gives no number"),
        ("IF(?v > 1, 2, ?f)", "two forms"),
        (":F(?v, ?f)", "function <http://example.org/F> is unknown"),
        ("<urn:topwater:norm>(?v, ?f, 1) + ?f", "no plain numbers"),
        ("<urn:topwater:norm>(?v, 9, 1) + ?f", "no range"),
        ("<urn:topwater:clip>(?v) + ?f", "takes 3"),
        ("?nowhere + ?f", r"\?nowhere has no value"),
        ("RAND() + ?f", "RAND"),
        ("1e999 + ?f", "is no number"),
    ],
)
def test_scores_refused(score: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        ranked(score)


def test_filters_give_the_signs_that_a_product_needs() -> None:
    assert ranked("?v * ?f", "FILTER(?v >= 0) FILTER(?f > 0)").score == "v * f"
    assert ranked("?v * ?f", "FILTER(?v >= 0 && 0 < ?f)").score == "v * f"
    assert ranked("?f / ?v", "FILTER(?v > 0) FILTER(?f > 0)").score == "f / v"
    with pytest.raises(QueryError, match="rises or falls"):
        ranked("?f / ?v", "FILTER(?v >= 0) FILTER(?f > 0)")
    with pytest.raises(QueryError, match="rises or falls"):
        ranked("?v * ?f", "FILTER(?v >= -1) FILTER(?f > 0)")
    with pytest.raises(QueryError, match="rises or falls"):
        ranked("?v * ?f", "FILTER(?v >= 0 || ?f >= 0)")


def test_conditions_on_the_stream_are_pushed_down_and_others_kept() -> None:
    plan = ranked("?v + ?f", "FILTER(?v > 1 && ?f < 9 && ?u != :nobody)")
    (pattern,) = plan.patterns
    assert pattern.filters[0] == Compare("v", ">", "1")
    assert len(pattern.filters) == 2
    assert plan.conditions == (Compare("f", "<", "9"),)


def test_without_a_service_any_score_will_do() -> None:
    text = f"{HEAD}SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE 6s] {WHERE}"  # noqa: S608
    assert parse(text.replace("DESC(?v)", "ASC(ABS(?v - 3))")).score == "abs(v - 3)"


@pytest.mark.parametrize(
    ("clause", "told"),
    [
        ("WITH", "followed by no setting"),
        ("WITH BUDGET", "expected a number"),
        ("WITH BUDGET many FETCHES", "expected a number"),
        ("WITH BUDGET 7s", "BUDGET counts fetches"),
        ("WITH BUDGET 0 FETCHES", "may fetch nothing"),
        ("WITH BUDGET 1 FETCHES BUDGET 2 FETCHES", "said twice"),
        ("WITH BUDGET 1 FETCHES BUDGET UNLIMITED", "said twice"),
        ("WITH BUDGET UNLIMITED DEADLINE PT2S", "either a number of fetches or a deadline"),
        ("WITH BUDGET UNLIMITED FETCHES", "no setting of WITH"),
        ("WITH DEADLINE 0s", "leaves no time"),
        ("WITH POLICY bst", "knows the truth"),
        ("WITH POLICY at-nothing", "is unknown"),
        ("WITH ACCURACY 0", "above 0"),
        ("WITH ACCURACY 2", "above 0"),
        ("WITH SPARE some", "expected a number"),
        ("WITH SPARE 3 LIMIT 5", "no setting of WITH"),
        ("WITH SPARE 3 WITH SPARE 3", "no setting of WITH"),
    ],
)
def test_with_refused(clause: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        parse(JOINED + clause)


@pytest.mark.parametrize(
    "clause",
    [
        "WITH BUDGET 7 FETCHES POLICY worth SPARE 10 ACCURACY 0.9",
        "with accuracy 0.9 spare 10 policy WORTH budget 7 fetches",
        "WITH BUDGET 7 FETCHES\nPOLICY worth # a comment\n\tSPARE 10 ACCURACY 9e-1",
    ],
)
def test_settings_stand_in_any_order(clause: str) -> None:
    said = parse(JOINED + clause).refresh
    assert (said.fetches, said.policy, said.spare, said.accuracy) == (7, "worth", 10, 0.9)


def test_a_budget_may_be_unlimited() -> None:
    plan = parse(JOINED + "WITH budget unlimited ACCURACY 0.9")
    settings = plan.query().refresh
    assert settings is not None
    assert settings.budget == Budget(accuracy=0.9)
    assert settings.budget.unlimited


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


def test_select_may_use_what_it_computed_before() -> None:
    plan = parse(
        HEAD + "SELECT ?s (AVG(?v) AS ?mean) (?mean * 2 AS ?twice) "
        "FROM NAMED WINDOW :w ON :s [RANGE 6s] WHERE { WINDOW :w { ?s :v ?v } } "
        "GROUP BY ?s ORDER BY DESC(?twice + ?mean) LIMIT 3"
    )
    assert (plan.take, plan.score) == ({"mean": "mean(`v`)"}, "mean * 2 + mean")


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


def test_a_group_has_no_single_solution_to_compare_with_a_remote_value() -> None:
    where = "WINDOW :w { ?u :v ?v } SERVICE :b { ?u :f ?f } FILTER(?f > ?v)"
    told = refused(
        f"{HEAD}SELECT ?u FROM NAMED WINDOW :w ON :s [RANGE 9s] WHERE {{ {where} }} "  # noqa: S608
        "GROUP BY ?u ORDER BY DESC(SUM(?v)) LIMIT 3"
    )
    assert "FILTER compares ?v with a remote value" in told


def test_a_base_that_is_no_address_is_refused() -> None:
    text = f"BASE <http://ex[g/>\n{HEAD}SELECT ?s FROM NAMED WINDOW <w> ON :s [RANGE 6s] {WHERE}"  # noqa: S608
    assert "line 2" in refused(text)
    assert "is no IRI" in refused(text)


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
    assert grouped.numbers == (name,)
    joined = parse(
        f"{HEAD}SELECT ?s {window} SERVICE :b {{ ?s :f ?f }} }} ORDER BY DESC(?{name} + ?f) LIMIT 3"
    )
    assert joined.numbers == (name,)
