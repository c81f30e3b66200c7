"""Rows with the columns that users named: what their places say."""

from __future__ import annotations

from typing import Any

from topwater.live import records_of_rows
from topwater.live.item_rows import fields_of, group_of, is_ours

WINDOW: dict[str, Any] = {
    "kind": "window",
    "window_start": 0,
    "window_end": 60_000,
    "town": "Oslo",
    "rank": None,
    "lot": None,
    "score": None,
    "time": None,
    "bids": None,
    "price": None,
    "price_age": None,
    "price_confidence": None,
    "price_assumed": None,
    "exact": False,
    "precision": 0.9,
    "ndcg": 0.95,
    "figures": {
        "candidates": 7,
        "fetched": 2,
        "failed": 0,
        "events": 12,
        "problems": [("timeout", 1)],
        "looked_up": [{"key": "vase", "before": None, "after": 3.0, "ok": True}],
        "tuned": None,
    },
}
VASE = WINDOW | {
    "kind": "item",
    "rank": 1,
    "lot": "vase",
    "score": 9.0,
    "time": 59_000,
    "bids": 3,
    "price": 3.0,
    "price_age": 0,
    "price_confidence": 1.0,
    "figures": None,
}


def test_a_window_and_its_items_are_a_record() -> None:
    (record,) = records_of_rows(
        [WINDOW, VASE | {"rank": 2, "lot": "lamp", "price_age": None}, VASE]
    )
    assert record["window"] == {"start": 0, "end": 60_000}
    assert (record["group"], record["exact"], record["candidates"]) == ("Oslo", False, 7)
    assert record["columns"] == ["lot", "score", "bids", "price"]
    assert record["rows"][0] == {
        "rank": 1, "label": "vase", "cells": ["vase", 9.0, 3, 3.0], "score": 9.0, "remote": 3.0,
        "confidence": 1.0, "age": 0, "time": 59_000,
    }  # fmt: skip
    assert [row["label"] for row in record["rows"]] == ["vase", "lamp"]
    assert "age" not in record["rows"][1], "never looked up"
    assert record["counts"] == {"events": 12}
    assert (record["freshness"]["fetched"], record["freshness"]["precision"]) == (2, 0.9)
    assert record["problems"] == {"timeout": 1}
    assert record["looked_up"][0]["label"] == "vase"


def test_json_has_no_columns_without_a_value() -> None:
    rows = [
        {name: each for name, each in row.items() if each is not None} for row in (WINDOW, VASE)
    ]
    rows.append({"kind": "late", "lot": "x", "time": 5})
    (record,) = records_of_rows(rows)
    assert (record["group"], record["rows"][0]["label"]) == ("Oslo", "vase")
    (empty,) = records_of_rows(rows[:1])
    assert (empty["rows"], empty["counts"]) == ([], {"events": 12})


def test_items_alone_are_shown_as_far_as_they_go() -> None:
    alone = {name: each for name, each in VASE.items() if name not in ("kind", "figures")}
    assert is_ours(alone)
    (record,) = records_of_rows([alone])
    assert record["columns"] == ["lot", "score", "bids", "price"]
    assert "freshness" not in record
    assert not is_ours({"window_end": 1, "rank": 1, "key": "a", "score": 1.0, "time": 1})
    assert not is_ours({**alone, "candidates": 5}), "rows of RSP-QL"


def test_groups_and_keys_may_have_several_columns() -> None:
    two = {}
    for name, each in VASE.items():
        two[name] = each
        two |= {"street": "A"} if name == "town" else {"year": 1920} if name == "lot" else {}
    assert group_of(two) == ["Oslo", "A"]
    (record,) = records_of_rows([two])
    assert (record["group"], record["rows"][0]["label"]) == ("Oslo, A", "vase, 1920")


def test_of_several_remote_values_none_is_the_one() -> None:
    more = {}
    for name, each in VASE.items():
        more[name] = each
        more |= {"trust": 0.5, "trust_age": 3} if name == "price_assumed" else {}
    found = fields_of([more])
    assert found["columns"] == ["lot", "score", "bids", "price", "trust"]
    assert "remote" not in found["rows"][0]
