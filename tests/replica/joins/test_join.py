"""What comes with one look-up of one source, and what that costs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from topwater.errors import QueryError
from topwater.replica.joins.join import Join


def test_a_mapping_says_from_where() -> None:
    join = Join.of({"remote": ["price", "stock"], "from": "shop", "key": "product", "cost": 5})
    assert join == Join(("price", "stock"), source="shop", key="product", cost=5.0)
    assert Join.of("price") == Join(("price",))
    assert Join.of(join) is join


def test_it_survives_json() -> None:
    join = Join.of(
        {"remote": ["a", "b"], "from": "x", "per": {"1 min": 60}, "default": {"a": 1}, "hint": True,
         "noise": "2 %"}
    )  # fmt: skip
    assert Join.of(json.loads(json.dumps(join.to_dict()))) == join


def test_a_default_is_for_all_names_or_for_some() -> None:
    assert Join(("a", "b"), default=2).default_of("b") == 2
    assert Join.of({"remote": ["a", "b"], "default": {"a": 1}}).default_of("b") is None


def test_requests_cost_by_how_many_there_are() -> None:
    join = Join(("a",), cost=2, request_cost=3)
    assert [join.costs(n, None) for n in (0, 1, 10)] == [0.0, 5.0, 23.0]
    assert join.costs(10, most=4) == 10 * 2 + 3 * 3


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"remote": []}, "names no remote value"),
        ({"remote": ["a", "a"]}, "'a' names two remote values"),
        ({"remote": "a", "cost": 0}, "must be a number above 0"),
        ({"remote": "a", "cost": -1}, "must be a number above 0"),
        ({"remote": "a", "request_cost": -1}, "of at least 0"),
        ({"remote": "a", "per": {"1 d": 0.5}}, "less than one look-up"),
        ({"remote": "a", "default": {"b": 1}}, "not among the remote values a"),
        ({"remote": "price", "default": {"prise": 1}}, r"\n  fix: did you mean price\?"),
        ({"remote": "a", "form": "shop"}, r"refresh.form: no such setting\n.*did you mean from\?"),
        ({"remote": "a", "noise": "2"}, "neither a number nor a share"),
        ({"from": "shop"}, "names no remote value"),
    ],
)
def test_settings_that_can_not_be_are_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(QueryError, match=problem):
        Join.of(settings)
