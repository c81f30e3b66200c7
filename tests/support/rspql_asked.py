"""Small queries in RSP-QL over windows of 10 ms, their answers, and single parts of SPARQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.parser import parseQuery

from topwater import Answer, run
from topwater.rspql import Plan, parse
from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.plan import SILENT
from topwater.rspql.rdf.term_values import ERROR
from topwater.testing import Scripted

EX = "http://example.org/"
HEAD = f"PREFIX : <{EX}>\n"
FROM = "FROM NAMED WINDOW :w ON :s [RANGE 10]"
Rows: TypeAlias = Mapping[str, Sequence[Any]]


def asked(select: str, where: str, rest: str) -> Plan:
    """The plan of a query with one window, ``:w``."""
    return parse(f"{HEAD}SELECT {select} {FROM} WHERE {{ {where} }} {rest}")


def ranked(score: str, where: str = "") -> Plan:
    """A score of ?v from the stream and ?f from a service."""
    return parse(
        f"{HEAD}SELECT ?u FROM NAMED WINDOW :w ON :s [RANGE 9s STEP 3s] WHERE {{ "  # noqa: S608
        f"WINDOW :w {{ ?u :v ?v }} SERVICE :b {{ ?u :f ?f }} {where} }} "
        f"ORDER BY DESC({score}) LIMIT 3"
    )


def answered(plan: Plan, rows: Rows, remote: Mapping[str, float] | None = None) -> list[Answer]:
    """What a plan answers over a binding table whose numbers are all there."""
    count = len(next(iter(rows.values())))
    rows = {name: [0.0] * count for name in plan.numbers if name.endswith(ERROR)} | dict(rows)
    source = None if remote is None else Scripted(dict(remote))
    return list(run(plan.query(), [{SILENT: [False] * count, **rows}], source=source))


def algebra_of(sparql: str) -> tuple[Document, Any]:
    """The text of plain SPARQL, and what rdflib reads in it."""
    document = Document(HEAD + sparql)
    return document, translateQuery(parseQuery(document.text)).algebra


def expression_of(text: str) -> tuple[Document, Any]:
    """An expression as it stands in FILTER, and the text around it."""
    document, algebra = algebra_of(f"SELECT * {{ ?a :v ?b FILTER({text}) }} ORDER BY ?a")
    node = algebra.p
    while node.name != "Filter":
        node = node.p
    return document, node.expr
