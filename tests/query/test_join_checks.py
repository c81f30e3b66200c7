"""Filters and joins that can't work are refused when the query is built, with the fix."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.joined_scene import JOINS, query_of
from topwater.errors import QueryError
from topwater.query import TopKQuery

TAKE = {"sold": "count", "vendor": "last(vendor)", "title": "last(title)"}


@pytest.mark.parametrize(
    ("changes", "field", "problem", "fix"),
    [
        ({"where": "stock > 0 and stock < 0"}, "where", "can never hold", "limits"),
        ({"where": "sold < 1"}, "where", "can never hold", "limits"),
        ({"where": "stok > 0"}, "where", "'stok' is not among", "did you mean stock"),
        ({"score": "sold * prise"}, "score", "'prise' is not among", "did you mean price"),
        ({"score": "sold", "where": "stock > 0"}, "refresh", "from 'vendors' is used", "score or"),
        ({"take": {**TAKE, "price": "max(p)"}}, "refresh.remote", "both a remote", "another name"),
        ({"take": {"sold": "count"}}, "refresh.key", "'vendor' is not among", "last(vendor)"),
        (
            {"take": {"sold": "count", "vender": "last(vendor)"}},
            "refresh.key",
            "'vendor' is not among",
            "did you mean vender? Or add it to take",
        ),
        (
            {"take": {**TAKE, "vendor": "max(vendor)"}},
            "refresh.key",
            "'vendor' is a max",
            "take the last one",
        ),
        (
            {"score": "sold * price * trust * vendor"},
            "refresh.key",
            "be computed with",
            "second time",
        ),
        (
            {"refresh": [JOINS[0], {**JOINS[1], "key": "price"}]},
            "refresh.key",
            "'price' is itself looked up",
            "let the source join",
        ),
        (
            {"refresh": [JOINS[0], {**JOINS[1], "key": "maker"}]},
            "refresh.key",
            "'maker' is itself looked up",
            "let the source join",
        ),
        ({"list": "panes+n"}, "list", "", "leave it out"),
        ({"take": "each"}, "take", "remote values belong to keys", "last(amount)"),
    ],
)
def test_what_can_not_work_is_said_with_the_fix(
    changes: dict[str, Any], field: str, problem: str, fix: str
) -> None:
    with pytest.raises(QueryError) as caught:
        query_of(**changes)
    assert caught.value.field == field
    assert problem in caught.value.problem
    assert fix in (caught.value.fix or "")


def test_a_filter_needs_no_remote_value() -> None:
    query = query_of(refresh=None, budget=..., score="sold", where="sold > 2")
    assert query.condition is not None
    assert query.label_names == ("vendor", "title")


def test_a_filter_on_single_events_is_refused() -> None:
    with pytest.raises(QueryError, match="each event is an item of its own"):
        query_of(refresh=None, budget=..., take="each", score="sold", where="sold > 2")


def test_a_filter_and_a_list_are_refused_together() -> None:
    refresh = {"remote": "price"}
    with pytest.raises(QueryError, match="list"):
        query_of(
            refresh=refresh,
            budget=...,
            take={"n": "last(n)"},
            score="n * price",
            where="price > 0",
            list="panes+n",
        )


def test_one_value_keeps_its_way_unless_there_is_a_filter() -> None:
    plain: dict[str, Any] = {"refresh": "price", "score": "sold * price", "where": None}
    assert query_of(**plain, budget=20).single is not None
    assert query_of(**{**plain, "where": "price > 0"}, budget=20).joins is not None
    assert query_of(**plain, budget={"cost": 20}).joins is not None
    with pytest.raises(QueryError, match="both in the query and in refresh"):
        query_of(**{**plain, "refresh": {"remote": "price", "budget": 3}}, budget=20)
    with pytest.raises(QueryError, match="there is nothing to look up"):
        query_of(refresh=None, score="sold", where=None, budget=20)


def test_it_survives_json() -> None:
    query = query_of(budget={"cost": 100, "deadline": "2 s", "per": {"1 day": 50_000}})
    assert TopKQuery.from_json(query.to_json()) == query
    assert "where stock > 0 and trust > 0.2" in repr(query)
    assert "trust of each vendor" in query.remote_in_words
