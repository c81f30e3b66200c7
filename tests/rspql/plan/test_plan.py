"""Plans as values: what their binding tables have, and that they can be compared and sent."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import pytest

from tests.support import corpus_files
from tests.support.rspql_asked import asked
from topwater.rspql import parse

LISTING = (corpus_files.FOLDER / "acquatop_listing.rq").read_text()


def test_a_binding_table_has_the_time_the_key_and_numbers() -> None:
    plan = parse(LISTING)
    assert (plan.key, plan.numbers) == ("user", ("mentionCount",))
    plan = asked("?s ?p", "WINDOW :w { ?s :p ?p ; :v ?v }", "ORDER BY DESC(?v) LIMIT 1")
    assert (plan.keys, plan.key, plan.numbers) == (("s", "p"), "s p", ("v",))


def test_plans_can_be_compared_and_sent() -> None:
    plan = parse(LISTING)
    assert plan == parse(LISTING) != parse(LISTING.replace("0.7", "0.8"))
    assert pickle.loads(pickle.dumps(plan)) == plan  # noqa: S301
    assert len({plan, parse(LISTING)}) == 1


def test_reading_a_query_loads_neither_spark_nor_a_client() -> None:
    code = (
        "import json, sys; from topwater.rspql import explain; explain(sys.stdin.read());"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], input=LISTING, capture_output=True, text=True, check=True
    )
    loaded = set(json.loads(done.stdout))
    assert not loaded & {"pyspark", "py4j", "httpx", "requests", "sqlalchemy", "typer"}


def test_groups_of_two_variables_have_keys_of_two_terms() -> None:
    plan = asked(
        "?b ?s (SUM(?v) AS ?n)",
        "WINDOW :w { ?s :v ?v ; :b ?b }",
        "GROUP BY ?s ?b ORDER BY DESC(?n) LIMIT 5",
    )
    assert (plan.keys, plan.key, plan.query().key) == (("s", "b"), "s b", "s b")
    assert [shown.role for shown in plan.projection] == ["key", "key", "score"]


def test_the_origin_tells_what_a_binding_table_is_made_from() -> None:
    where, rest = "WINDOW :w { ?s :v ?v }", "ORDER BY DESC(?v) LIMIT 1"
    plan = asked("?s", where, rest)
    assert plan.origin == asked("?s ?v", where, rest.replace("DESC", "ASC")).origin
    assert plan.origin != asked("?s", where.replace(":v", ":u"), rest).origin
    assert plan.origin != parse(plan.text.replace("ON :s", "ON :t")).origin
    assert plan.origin != asked("?s", f"{where} SERVICE :r {{ ?s a :T }}", rest).origin


def test_a_plan_does_not_change() -> None:
    plan = asked("?s (SUM(?v) AS ?n)", "WINDOW :w { ?s :v ?v }", "GROUP BY ?s ORDER BY ?n LIMIT 1")
    for mapping in (plan.take, plan.prefixes, plan.kinds):
        with pytest.raises(TypeError):
            mapping["x"] = "y"  # type: ignore[index]
    assert (plan.service, plan.key) == (None, "s")
