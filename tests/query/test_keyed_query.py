"""A query as it is inside: it tells by its columns what keys were."""

from __future__ import annotations

from topwater.model import KeyColumn, KeyForm
from topwater.query import TopKQuery
from topwater.query.keyed_query import forms_of, inner_query, outer_query
from topwater.windows import tumbling

QUERY = TopKQuery(
    key=("product", "day"), time="at", window=tumbling(10), score="v", k=1, group_by="shop"
)
KEY = KeyForm((KeyColumn("product", "text"), KeyColumn("day", "date")))
SHOP = KeyForm((KeyColumn("shop", "decimal(2)"),))


def test_it_is_over_one_column_each_and_can_be_turned_back() -> None:
    inner = inner_query(QUERY, KEY, SHOP)
    assert (inner.key_column, inner.group_column) == (KEY.column, SHOP.column)
    assert forms_of(inner) == (KEY, SHOP)
    assert outer_query(inner) == QUERY
    assert TopKQuery.from_json(inner.to_json()) == inner


def test_other_types_make_another_query() -> None:
    other = KEY.with_kinds(["text", "local"])
    assert inner_query(QUERY, other, SHOP) != inner_query(QUERY, KEY, SHOP)


def test_over_integers_and_text_it_is_the_query_itself() -> None:
    plain = TopKQuery(key="who", time="at", window=tumbling(10), score="v", k=1, group_by="team")
    who, team = (KeyForm((KeyColumn(name, "text"),)) for name in ("who", "team"))
    assert inner_query(plain, who, team) == plain
    assert outer_query(plain) is plain
    assert forms_of(plain) == (None, None)
