"""What a query takes of its services."""

from __future__ import annotations

from tests.support.rspql_asked import asked

STREAM = "WINDOW :w { ?s :v ?v ; :at ?a ; :says ?t }"
BOTH = f"{STREAM} SERVICE :r {{ ?s :f ?f ; :g ?g ; :n ?n }} SERVICE :t {{ ?a :h ?h }}"


def test_what_is_computed_with_is_a_number_and_the_rest_text() -> None:
    plan = asked("?s ?n (?g * 2 AS ?twice)", BOTH, "ORDER BY DESC(?f + ?h) LIMIT 3")
    one, other = plan.services
    assert [each.name for each in one.numbers] == ["f", "g"]
    assert [each.name for each in one.texts] == ["n"]
    assert (other.value, other.by, other.label) == ("h", "a", ":t")
    assert plan.keys == ("s", "a")
    assert plan.joins_services
    assert plan.service is None


def test_one_service_by_two_variables_is_asked_twice() -> None:
    where = f"{STREAM} SERVICE :r {{ ?s :f ?f }} SERVICE :r {{ ?a :f ?h }}"
    plan = asked("?s", where, "ORDER BY DESC(?f + ?h) LIMIT 3")
    assert [each.label for each in plan.services] == [":r by ?s", ":r by ?a"]


def test_a_service_of_which_nothing_is_compared_says_whether_it_knows_a_key() -> None:
    where = f"{STREAM} SERVICE :r {{ ?s :f ?f }} SERVICE :t {{ ?a a :Good }}"
    plan = asked("?s", where, "ORDER BY DESC(?f) LIMIT 3")
    assert plan.services[1].pattern.endswith("BIND(1 AS ?found)")
    assert plan.query().where == "found == found"


def test_one_number_by_the_key_stays_as_it_was() -> None:
    plan = asked("?s ?t", f"{STREAM} SERVICE :r {{ ?s :f ?f }}", "ORDER BY DESC(?v + ?f) LIMIT 3")
    assert plan.service is plan.services[0]
    assert plan.texts == ("t@",)
    assert plan.query().single is not None


def test_conditions_that_no_score_can_have_choose_among_items() -> None:
    where = f"{STREAM} SERVICE :r {{ ?s :f ?f }} FILTER(?f = 1 || !(?f <= 3))"
    plan = asked("?s", where, "ORDER BY DESC(?v + ?f) LIMIT 3")
    assert plan.joins_services
    assert plan.query().where == "f == 1 or f > 3"
