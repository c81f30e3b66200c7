"""Columns of keys: what can stand in an answer by its own name."""

from __future__ import annotations

from typing import Any

import pytest

from topwater.errors import QueryError
from topwater.query import TopKQuery
from topwater.query.key_names import check_key_names, names_of, one_column
from topwater.windows import tumbling


def query_of(**changes: Any) -> TopKQuery:
    plain = {"key": ("product", "country"), "time": "at", "window": tumbling(10), "k": 1}
    plain |= {"take": {"sold": "count"}, "score": "sold * price", "refresh": "price"}
    return TopKQuery(**{**plain, **changes})


@pytest.mark.parametrize("field", ["key", "group_by"])
@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ((), "names no column"),
        (("product", "product"), "names 'product' twice"),
        (("product", 7), "does not name a column"),
        (("product", ""), "does not name a column"),
        (("product", "rank"), "'rank' is the name of a column"),
        (("product", "late"), "'late' is the name of a column"),
        (("product", "sold"), "'sold' names both"),
        (("product", "price"), "'price' names both"),
        (7, "does not name a column"),
    ],
)
def test_names_that_can_not_be_are_refused(field: str, columns: Any, problem: str) -> None:
    with pytest.raises(QueryError, match=f"(?s)^{field}: .*{problem}.*fix: "):
        query_of(**{field: columns})


def test_a_list_of_one_column_is_that_column() -> None:
    assert query_of(key=["product"]) == query_of(key="product")


def test_columns_survive_a_round_trip() -> None:
    query = query_of(group_by=["day", "shop"])
    assert TopKQuery.from_json(query.to_json()) == query
    assert (query.key, query.group_by) == (("product", "country"), ("day", "shop"))
    assert query.columns == ("product", "country", "at", "day", "shop")
    assert "price of each product and country" in repr(query)
    assert "for each day and shop" in repr(query)


def test_one_column_may_have_any_name() -> None:
    check_key_names("rank", "key", ["rank"])
    assert names_of("rank") == ("rank",)


def test_where_keys_are_kept_they_have_one_column() -> None:
    assert one_column("who", "key") == "who"
    with pytest.raises(QueryError, match=r"(?s)product, country.*fix: use run"):
        _ = query_of().key_column
