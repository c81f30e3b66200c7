"""Rows of windows and items by names that are ours."""

from __future__ import annotations

from typing import Any

from topwater import TopKQuery, tumbling
from topwater.jobs.display import windows_of
from topwater.jobs.told_rows import told_rows

ENDS: dict[str, Any] = {"window_start": 0, "window_end": 10}
ESTIMATES: dict[str, Any] = {"exact": False, "precision": 0.5, "ndcg": 0.75}
FIGURES = {"candidates": 3, "events": 7, "problems": {"timeout": 1}}


def query(**changes: Any) -> TopKQuery:
    given: dict[str, Any] = {
        "key": "lot", "time": "at", "window": tumbling(10), "k": 2, "group_by": "town",
        "take": {"bids": "count", "title": "last(title)"}, "score": "bids * price",
        "refresh": "price",
    }  # fmt: skip
    return TopKQuery(**{**given, **changes})


def rows(**more: Any) -> list[dict[str, Any]]:
    cells = {"score": 6.0, "time": 9, "bids": 2, "title": "tea", "price": 3.0}
    cells |= {"price_age": 1, "price_confidence": 0.5, "price_assumed": None}
    whole = {"kind": "window", **ENDS, "town": "Oslo", "rank": None, **ESTIMATES}
    item = {"kind": "item", **ENDS, "town": "Oslo", "rank": 1, "lot": "vase", **cells}
    late = item | {"kind": "late", "window_end": None, "rank": None}
    return [late, item | ESTIMATES | more, whole | {"figures": FIGURES}]


def test_the_figures_are_with_the_window_and_the_items_follow() -> None:
    item, whole = told_rows(rows(), query())
    assert whole == {**ENDS, "group": "Oslo", "rank": None, **ESTIMATES, **FIGURES}
    assert item == {
        **ENDS, "group": "Oslo", "rank": 1, "score": 6.0, "time": 9, "exact": False, "key": "vase",
        "values": [2, "tea"], "remote": 3.0, "age": 1, "confidence": 0.5, "assumed": None,
    }  # fmt: skip


def test_keys_and_groups_of_several_columns_keep_their_names() -> None:
    asked = query(key=("lot", "year"), group_by=("town", "street"))
    given = [{**row, "street": "A", "year": 1920} for row in rows()]
    item, _ = told_rows(given, asked)
    assert (item["lot"], item["year"], item["town"], item["street"]) == ("vase", 1920, "Oslo", "A")
    assert {"key", "group"}.isdisjoint(item)


def test_several_remote_values_are_named_and_told_together() -> None:
    joins = [{"remote": "price", "from": "shop"}, {"remote": "trust", "from": "people"}]
    more = {"trust": 0.5, "trust_age": 9, "trust_confidence": 0.5, "trust_assumed": "failed"}
    item, _ = told_rows(rows(**more), query(refresh=joins, score="bids * price * trust"))
    told = (item["remote"], item["age"], item["confidence"], item["assumed"])
    assert told == (None, 9, 0.25, "failed")
    assert item["remotes"]["trust"]["value"] == 0.5


def test_windows_by_rank_with_the_window_itself_first() -> None:
    from datetime import UTC, datetime

    end = {"window_end": datetime(2026, 1, 1, tzinfo=UTC)}
    given = [row | end for row in rows()]
    (found,) = windows_of([*told_rows(given, query())])
    assert [row["rank"] for row in found] == [None, 1]
    assert found[0]["events"] == 7
