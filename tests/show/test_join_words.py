"""Several remote values in words."""

from __future__ import annotations

from tests.support.joined_scene import query_of
from topwater.replica.joins.join_settings import JoinSettings
from topwater.show.explain import explain
from topwater.show.join_words import join_lines, memory_line, uncertain

JOINS = [
    {"remote": "price", "from": "shop", "request_cost": 2, "per": {"1 day": 5_000}},
    {"remote": "trust", "from": "vendors", "key": "vendor", "cost": 5},
]


def test_costs_and_limits_are_told() -> None:
    lines = [*join_lines(JoinSettings.of(JOINS, {"cost": 90, "over": "all"}), "product")]
    assert lines == [
        "price of each product, from shop: 2 a request beside that, at most 5,000 in 1 d",
        "trust of each vendor, from vendors: 5 a look-up",
        "90 a window, all groups together, spent where it is worth most for its cost",
    ]
    assert "no limit" in [*join_lines(JoinSettings.of(JOINS, None), "product")][-1]


def test_memory_is_told() -> None:
    assert "at most 64 MB" in memory_line(JoinSettings.of(JOINS, 90))
    free = JoinSettings.of({"joins": JOINS, "memory": None})
    assert "without a limit" in memory_line(free)
    assert "price, trust" in next(uncertain(free))


def test_a_query_is_explained_with_its_filter() -> None:
    text = explain(query_of(budget=100))
    assert "where    stock > 0 and trust > 0.2" in text
    assert "trust of each vendor, from vendors: 5 a look-up" in text
    assert "approximate:" in text
