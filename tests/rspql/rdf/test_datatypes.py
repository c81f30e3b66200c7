"""The numbers in what ``CONSTRUCT`` says: they have the datatypes that SPARQL would give them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from topwater import run
from topwater.rspql import Plan, parse
from topwater.rspql.plan.projection import constructed, solutions_of
from topwater.rspql.rdf.event_format import Columns, Documents
from topwater.rspql.rdf.pattern_match import Matcher
from topwater.testing import Scripted

X = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
SERVICE = "SERVICE :r { ?s :f ?f }"


def literal(text: str, kind: str) -> str:
    return f'"{text}"^^<{XSD}{kind}>'


def said(plan: Plan, numbers: list[tuple[str, str]], remote: float = 0.0) -> str:
    """What is said of :a, which the stream gave these numbers."""
    texts = [f"<{X}a> <{X}v> {literal(*each)} ." for each in numbers]
    events = pa.table({"time": range(1, len(texts) + 1), "value": texts})
    return told(plan, Documents(), events, remote)


def told(plan: Plan, reading: Documents | Columns, events: pa.Table, remote: float) -> str:
    table = Matcher.of(plan, plan.windows[0].stream, reading).match(events)
    source = Scripted({f"{X}a": remote}) if plan.service else None
    (answer,) = run(plan.query(), [table], source=source)
    lines = constructed(plan, solutions_of(plan, answer), "1")
    assert len(lines) == 1
    return lines[0].removeprefix(f"<{X}a> <{X}is> ").removesuffix(" .")


def plan_of(value: str, service: str = "", group: str = "", more: str = "") -> Plan:
    """A query that says ``:a :is`` some value, of which one item is ranked."""
    return parse(f"""PREFIX : <{X}> CONSTRUCT {{ ?s :is ?x }}
        FROM NAMED WINDOW :w ON :s [RANGE 10] WHERE {{ {{
            SELECT ?s ({value} AS ?x) WHERE {{ WINDOW :w {{ ?s :v ?v }} {service} }}
            {group} ORDER BY DESC(?x) LIMIT 1 }} }} {more}""")


@pytest.mark.parametrize(
    "number",
    [
        *(("+05", "integer"), ("7", "long"), ("1.50", "decimal"), ("2.0", "decimal")),
        *(("3", "double"), ("1e3", "double"), ("0.5", "float")),
    ],
)
def test_without_a_service_a_number_stays_the_term_that_it_was(number: tuple[str, str]) -> None:
    assert said(plan_of("?v"), [number]) == literal(*number)


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (("+05", "integer"), ("5", "integer")),
        (("7", "unsignedByte"), ("7", "unsignedByte")),
        (("1.50", "decimal"), ("1.5", "decimal")),
        (("2.0", "decimal"), ("2.0", "decimal")),
        (("0.0000001", "decimal"), ("0.0000001", "decimal")),
        (("3", "double"), ("3.0", "double")),
        (("0.5", "float"), ("0.5", "float")),
    ],
)
def test_what_is_passed_through_keeps_its_datatype(
    number: tuple[str, str], shown: tuple[str, str]
) -> None:
    assert said(plan_of("?v", SERVICE), [number], 4.0) == literal(*shown)


ONE, HALF, TWO = ("1", "int"), ("0.5", "decimal"), ("2", "double")


@pytest.mark.parametrize(
    ("value", "numbers", "shown"),
    [
        ("COUNT(?v)", [HALF, TWO], ("2", "integer")),
        ("SUM(?v)", [ONE, ONE], ("2", "integer")),
        ("SUM(?v)", [ONE, HALF, HALF], ("2.0", "decimal")),
        ("SUM(?v)", [ONE, TWO], ("3.0", "double")),
        ("AVG(?v)", [ONE, ONE], ("1.0", "decimal")),
        ("AVG(?v)", [TWO, ONE], ("1.5", "double")),
        ("MAX(?v)", [ONE, ONE], ("1", "integer")),
        ("MAX(?v) + 1", [HALF], ("1.5", "decimal")),
        ("COUNT(?v) / 2", [HALF, TWO], ("1.0", "decimal")),
        ("<urn:topwater:sqrt>(SUM(?v))", [ONE], ("1.0", "double")),
        ("2 * SUM(2 * ?v)", [ONE], ("4", "integer")),
    ],
)
def test_what_is_computed_of_a_group(
    value: str, numbers: list[tuple[str, str]], shown: tuple[str, str]
) -> None:
    assert said(plan_of(value, group="GROUP BY ?s"), numbers) == literal(*shown)


@pytest.mark.parametrize(
    ("value", "more", "remote", "shown"),
    [
        ("?f", "", 7.0, ("7", "integer")),
        ("?f", "", 7.5, ("7.5", "decimal")),
        ("?v + 0.5 * ?f", "", 8.0, ("5.0", "decimal")),
        ("?v + ?f", "", 8.0, ("9", "integer")),
        ("?v + 0 * ?f", "WITH SPARE 5", 8.0, ("1", "integer")),
        ("?f / ?v", "WITH SPARE 5", 8.0, ("8.0", "decimal")),
    ],
)
def test_what_a_service_says(value: str, more: str, remote: float, shown: tuple[str, str]) -> None:
    service = f"{SERVICE} FILTER(?v > 0) FILTER(?f > 0)"
    plan = plan_of(value, service, more=more)
    assert said(plan, [("1", "integer")], remote) == literal(*shown)


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [
        (pa.array([3]), ("3", "integer")),
        (pa.array([3.0]), ("3.0", "double")),
        (pa.array([3], pa.decimal128(5, 1)), ("3.0", "decimal")),
    ],
)
def test_columns_have_datatypes_too(numbers: Any, shown: tuple[str, str]) -> None:
    events = pa.table({"time": [1], "who": ["a"], "n": numbers})
    reading = Columns("who", {f"{X}v": "n"}, namespace=X)
    assert told(plan_of("?v", SERVICE), reading, events, 1.0) == literal(*shown)


def test_a_key_under_another_name_is_no_number() -> None:
    plan = parse(f"""PREFIX : <{X}> CONSTRUCT {{ ?who :is ?t }}
        FROM NAMED WINDOW :w ON :s [RANGE 10] WHERE {{ {{
            SELECT (?été AS ?who) (SUM(?v) AS ?t) WHERE {{ WINDOW :w {{ ?été :v ?v }} }}
            GROUP BY ?été ORDER BY DESC(?t) LIMIT 1 }} }}""")
    assert said(plan, [ONE, HALF]) == literal("1.5", "decimal")
