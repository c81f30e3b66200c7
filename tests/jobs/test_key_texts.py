"""Keys as files and command lines write them."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from topwater import QueryError, TopKQuery, tumbling
from topwater.jobs.key_texts import key_from, key_of_text

COLUMNS = {"product": "string", "day": "date", "n": "bigint", "ok": "boolean", "price": "decimal"}


def query_of(*key: str) -> TopKQuery:
    return TopKQuery(key=key, time="at", window=tumbling(10), score="v", k=1)


@pytest.mark.parametrize(
    ("cell", "kind", "key"),
    [
        ("7", "bigint", 7),
        (7, "", 7),
        ("7", "", "7"),
        ("true", "boolean", True),
        (False, "boolean", False),
        ("1.50", "decimal", Decimal("1.50")),
        ("2026-11-18", "date", date(2026, 11, 18)),
        ("2026-11-18T10:00:00", "timestamp_ntz", datetime(2026, 11, 18, 10)),
        (date(2026, 11, 18), "date", date(2026, 11, 18)),
        (None, "string", None),
        (True, "string", None),
        (1.5, "", None),
        ([1], "string", None),
        ("maybe", "boolean", None),
        ("x", "date", None),
        ("x", "decimal", None),
    ],
)
def test_a_cell_is_read_as_its_type(cell: Any, kind: str, key: Any) -> None:
    found = key_from([cell], [kind])
    assert found == key
    assert type(found) is type(key)


def test_parts_stand_with_commas_between() -> None:
    query = query_of("product", "day", "n")
    assert key_of_text('"tea, green",2026-11-18,7', query, COLUMNS) == (
        "tea, green",
        date(2026, 11, 18),
        7,
    )
    assert key_of_text("tea, green", query_of("product"), COLUMNS) == "tea, green"


@pytest.mark.parametrize(
    ("text", "problem"),
    [("tea", "has 1 parts, and keys have 2: product, day"), ("tea,soon", "is not a key")],
)
def test_what_is_not_a_key_is_told(text: str, problem: str) -> None:
    with pytest.raises(QueryError, match=f"(?s)^--key: .*{problem}.*fix: "):
        key_of_text(text, query_of("product", "day"), COLUMNS)
