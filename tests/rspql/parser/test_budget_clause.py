"""``WITH`` and the settings after it, read on their own."""

from __future__ import annotations

from typing import Any

import pytest

from topwater.errors import QueryError
from topwater.rspql.parser.budget_clause import refresh_clause
from topwater.rspql.parser.cursor import Cursor, Names
from topwater.rspql.parser.tokens import Document
from topwater.rspql.plan.plan import Refresh


def read(text: str) -> tuple[Refresh, str]:
    """The clause, and what stands after it."""
    document = Document(text)
    cursor = Cursor(document, Names(document))
    return refresh_clause(cursor), cursor.token.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("WITH BUDGET 7 FETCHES", {"fetches": 7}),
        ("with budget 1 fetch", {"fetches": 1}),
        ("WITH BUDGET 0 FETCHES", {"fetches": 0}),
        ("WITH BUDGET UNLIMITED", {"fetches": "unlimited"}),
        ("WITH BUDGET AT MOST 50 FETCHES ACCURACY 0.9", {"at_most": 50, "accuracy": 0.9}),
        ("WITH DEADLINE 2s BUDGET AT MOST 9 FETCHES", {"deadline": 2_000, "at_most": 9}),
        ("WITH DEADLINE PT2S SPARE 0", {"deadline": 2_000, "spare": 0}),
        ("WITH POLICY at-BSM", {"policy": "at-bsm"}),
        ("WITH POLICY wsj-lru ACCURACY 1", {"policy": "wsj-lru", "accuracy": 1.0}),
        ("WITH ACCURACY 9e-1 POLICY worth", {"accuracy": 0.9, "policy": "worth"}),
    ],
)  # fmt: skip
def test_what_is_said_and_nothing_else(text: str, said: dict[str, Any]) -> None:
    assert read(f"{text} LIMIT") == (Refresh(**said), "LIMIT")


@pytest.mark.parametrize(
    ("text", "column", "told"),
    [
        ("WITH", 5, "no setting"),
        ("WITH LIMIT 3", 6, "no setting"),
        ("WITH BUDGET 7", 14, "BUDGET 7 FETCHES"),
        ("WITH BUDGET 7s", 13, "DEADLINE PT2S"),
        ("WITH BUDGET 1 FETCH BUDGET 2 FETCH", 21, "twice"),
        ("WITH BUDGET AT MOST 1 FETCH BUDGET 2 FETCHES", 29, "twice"),
        ("WITH BUDGET 1 FETCH BUDGET AT MOST 2 FETCHES", 21, "twice"),
        ("WITH BUDGET AT LEAST 2 FETCHES", 16, "MOST"),
        ("WITH BUDGET AT MOST UNLIMITED", 21, "AT MOST 50"),
        ("WITH BUDGET 1 FETCH DEADLINE 2s", 21, "deadline"),
        ("WITH DEADLINE 2s BUDGET UNLIMITED", 18, "deadline"),
        ("WITH DEADLINE 0s", 15, "DEADLINE"),
        ("WITH POLICY wort", 13, "did you mean worth?"),
        ("WITH POLICY bst", 13, "truth"),
        ("WITH POLICY wbm* SPARE 1", 13, "'wbm*'"),
        ("WITH SPARE -1", 12, "negative"),
        ("WITH ACCURACY 0", 15, "'0'"),
        ("WITH ACCURACY 1.5", 15, "'1.5'"),
        ("WITH ACCURACY high", 15, "'high'"),
    ],
)
def test_what_is_refused_is_marked(text: str, column: int, told: str) -> None:
    with pytest.raises(QueryError) as caught:
        read(text)
    assert caught.value.problem.startswith(f"line 1, column {column}:")
    assert told in str(caught.value)
