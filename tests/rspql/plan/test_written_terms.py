"""What is computed has no text to test."""

from __future__ import annotations

import pytest

from tests.support.rspql_asked import HEAD
from topwater.errors import QueryError
from topwater.rspql import parse

WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE 10]"


def planned(condition: str) -> None:
    block = f"?s :p ?v BIND(?v * 2 AS ?c) FILTER({condition})"
    parse(f"{HEAD}SELECT ?s {WINDOW} WHERE {{ WINDOW :w {{ {block} }} }} ORDER BY ?v LIMIT 3")


@pytest.mark.parametrize(
    "condition",
    [
        "CONTAINS(STR(?c), '1')",
        "REGEX(?c, '1')",
        "LANG(?c) = 'en'",
        "LANGMATCHES(LANG(?c), 'en')",
        "DATATYPE(?c) IN (:nobody)",
        "?v > 1 || !STRENDS(?c, '1')",
        "IF(CONTAINS(STR(?c), '1'), 1, 0) > 0",
    ],
)
def test_a_computed_number_has_no_text(condition: str) -> None:
    """It was a KeyError when the query ran."""
    with pytest.raises(QueryError, match=r"line 2, .*\?c is a computed number: it has no text"):
        planned(condition)


@pytest.mark.parametrize("condition", ["CONTAINS(STR(?v), '1')", "isNUMERIC(?c)", "?c IN (14)"])
def test_terms_and_comparisons_are_fine(condition: str) -> None:
    planned(condition)
