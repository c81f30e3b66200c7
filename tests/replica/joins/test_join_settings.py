"""Several remote values in one frozen value: what is written, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from topwater.errors import QueryError
from topwater.replica.budget import Budget
from topwater.replica.joins.join import Join
from topwater.replica.joins.join_settings import JoinSettings
from topwater.replica.refresh_settings import RefreshSettings

SHOP = {"remote": ["price", "stock"], "from": "shop"}
VENDORS = {"remote": "trust", "from": "vendors", "key": "vendor", "cost": 5}


def test_a_list_of_joins_is_all_that_has_to_be_said() -> None:
    settings = JoinSettings.of([SHOP, VENDORS], 100)
    assert settings.names == ("price", "stock", "trust")
    assert settings.sources == ("shop", "vendors")
    assert settings.keys == ("vendor",)
    assert settings.budget.cost == 100
    assert JoinSettings.of(json.loads(json.dumps(settings.to_dict()))) == settings


def test_one_join_may_have_its_budget_beside_it() -> None:
    settings = JoinSettings.of({**SHOP, "budget": 9, "aim": "accuracy", "seed": 3})
    assert (settings.budget.cost, settings.aim, settings.seed) == (9, "accuracy", 3)
    assert settings.joins == (Join(("price", "stock"), source="shop"),)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("price", False),
        ({"remote": "price"}, False),
        ({"remote": "price", "budget": 3}, False),
        (SHOP, True),
        ({"remote": "price", "from": "shop"}, True),
        ({"remote": "price", "cost": 3}, True),
        (["price"], True),
        (RefreshSettings("price"), False),
    ],
)
def test_one_value_alone_keeps_its_short_form(given: Any, meant: bool) -> None:
    assert JoinSettings.meant(given) == meant


def test_what_is_looked_up_by_the_ranked_key_needs_no_column() -> None:
    settings = JoinSettings.of([{**SHOP, "key": "product"}, VENDORS], 100)
    assert settings.ranked_by("product").keys == ("vendor",)
    assert settings.ranked_by("other") is settings


def test_one_value_with_a_filter_keeps_what_fits() -> None:
    settings = JoinSettings.of(RefreshSettings("price", budget=Budget(9), default=1.0, hint=True))
    assert settings.joins == (Join(("price",), default=1.0, hint=True),)
    assert settings.budget.cost == 9
    with pytest.raises(QueryError, match=r"refresh\.policy: a filter goes with the policy 'worth'"):
        JoinSettings.of(RefreshSettings("price", policy="lru"))


@pytest.mark.parametrize(
    ("given", "budget", "problem"),
    [
        ([], 9, "are not joins"),
        ([SHOP, {"remote": "price", "from": "other"}], 9, "'price' names two remote values"),
        ([SHOP, {"remote": "weight", "from": "shop"}], 9, "asked twice for the same key"),
        ([VENDORS], 4, r"budget\.cost: 4 is less than one look-up, which takes 5"),
        ([VENDORS], {"per": {"1 d": 4}}, r"budget\.per\.1 d: 4 is less than one look-up"),
        ([{**VENDORS, "request_cost": 3}], 7, "which takes 8"),
        ({**SHOP, "budget": 3}, 4, "is set both in the query and in refresh"),
        ({"joins": [SHOP], "limits": 3}, 4, "no such setting"),
    ],
)
def test_what_can_not_be_is_refused(given: Any, budget: Any, problem: str) -> None:
    with pytest.raises(QueryError, match=problem):
        JoinSettings.of(given, budget)
