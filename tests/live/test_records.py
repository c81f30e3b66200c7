from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.live_made import MINUTE, START, answer, remote_record
from topwater import TopKQuery, remote, run, tumbling
from topwater.errors import QueryError
from topwater.live import Truth, record_of, records_of_rows
from topwater.live.records import LONGEST, MOST_LOOK_UPS, MOST_ROWS
from topwater.model import Answer, LookUp, Row, Window

WINDOW = {"start": 0, "end": 60_000}


def test_an_answer_as_a_record() -> None:
    record = record_of(answer(0, "ann", "bob", group="north"))
    assert record["window"] == {"start": START, "end": START + MINUTE}
    assert record["group"] == "north"
    assert [row["label"] for row in record["rows"]] == ["ann", "bob"]
    assert record["exact"] is True
    assert record["counts"]["events"] == 5
    assert "freshness" not in record


def test_its_dictionary_gives_the_same() -> None:
    made = answer(0, "ann")
    assert record_of(made) == record_of(made.to_dict())


def test_a_record_stays_as_it_is() -> None:
    record = record_of(remote_record(0, "ann", "bob", failed=1), truth=Truth(0.8, 0.9))
    assert record_of(record) == record


def test_truth_and_rivals() -> None:
    rivals = {"TTL cache": Truth(0.4, 0.7)}
    record = record_of(remote_record(0, "ann"), truth=Truth(0.8, 0.9), rivals=rivals)
    assert record["truth"] == {"precision": 0.8, "ndcg": 0.9}
    assert record["rivals"]["TTL cache"]["ndcg"] == 0.7
    assert record["looked_up"] == [{"label": "ann", "before": 38.0, "after": 41.0, "ok": True}]


def test_keys_beyond_what_a_browser_counts_to_stay_exact() -> None:
    record = record_of(answer(0, 2**63 - 1, "7"))
    assert record["rows"][0]["label"] == "9223372036854775807"


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_none(odd: float) -> None:
    made = Answer(Window(0, 0, 1), (Row(1, "a", odd, 0, (odd,), odd, None, odd),))
    record = record_of(made)
    row = record["rows"][0]
    assert row["score"] is row["remote"] is row["confidence"] is None
    assert row["values"] == [None]
    json.dumps(record, allow_nan=False)


def test_a_long_key_is_cut() -> None:
    label = record_of(answer(0, "x" * 10_000))["rows"][0]["label"]
    assert len(label) == LONGEST
    assert label.endswith("…")


def test_what_is_sent_of_a_window_is_bounded() -> None:
    made = remote_record(0, *(f"k{each}" for each in range(9_000)))
    made["looked_up"] *= 9_000
    record = record_of(made)
    assert (len(record["rows"]), len(record["looked_up"])) == (MOST_ROWS, MOST_LOOK_UPS)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (None, "record"),
        ([WINDOW], "record"),
        ({}, "window"),
        ({"window": {"start": 0}}, "window"),
        ({"window": "today"}, "window"),
        ({"window": WINDOW, "row": []}, "row"),
        ({"window": WINDOW, "rows": [{"label": "a"}]}, "rows"),
        ({"window": WINDOW, "rows": [{"rank": 1, "colour": "red"}]}, "rows"),
        ({"window": WINDOW, "rows": [{"rank": 1, "score": "much"}]}, "rows"),
        ({"window": WINDOW, "counts": 5}, "counts"),
        ({"window": WINDOW, "rivals": {"a": 1}}, "rivals"),
        ({"window": WINDOW, "looked_up": [{}]}, "looked_up"),
    ],
)
def test_a_wrong_record_is_refused_by_the_name_of_its_field(given: Any, field: str) -> None:
    with pytest.raises(QueryError) as caught:
        record_of(given)
    assert caught.value.field == field
    assert "docs/live.md" in caught.value.fix


def row(rank: int | None, minute: int = 1, **more: Any) -> dict[str, Any]:
    times = {"window_start": START, "window_end": START + minute * MINUTE}
    return {**times, "rank": rank, "exact": True, "events": 4, "fetched": None, **more}


def test_rows_of_topk() -> None:
    rows = [
        row(2, key="bob", score=1.0, group="n"),
        row(1, key="ann", score=2.0, group="n"),
        row(None, 2, key=None, score=None, group="n"),
        {"kind": "late", "key": "x", "window_end": None},
    ]
    first, second = records_of_rows(rows)
    assert [each["label"] for each in first["rows"]] == ["ann", "bob"]
    assert (first["group"], first["counts"]) == ("n", {"events": 4})
    assert second["rows"] == []


def test_rows_of_rspql() -> None:
    rows = [row(1, user="http://ex/ann", growth=7.5), row(2, user="http://ex/bob", growth=3.0)]
    (record,) = records_of_rows(rows)
    assert record["columns"] == ["user", "growth"]
    assert record["rows"][0]["label"] == "http://ex/ann"
    assert record["rows"][0]["cells"] == ["http://ex/ann", 7.5]
    assert record["rows"][0]["score"] == 7.5  # the only number


def test_which_variable_draws_the_bars_can_be_told() -> None:
    rows = [row(1, user="ann", growth=7.5, mentions=3.0)]
    assert records_of_rows(rows)[0]["rows"][0]["score"] is None
    assert records_of_rows(rows, score="mentions")[0]["rows"][0]["score"] == 3.0


def test_variables_may_be_called_as_columns_are() -> None:
    rows = [row(1, user="ann", score=7.5, values=3.0, remote=1.0, label="x")]
    (record,) = records_of_rows(rows, score="score")
    assert record["columns"] == ["user", "score", "values", "remote", "label"]
    assert record["rows"][0]["cells"] == ["ann", 7.5, 3.0, 1.0, "x"]
    assert record["rows"][0]["label"] == "ann"


def test_rows_of_topk_with_more_columns() -> None:
    rows = [row(1, key=1286, score=7.5, values=[3.0], remote=1.0, city="Oslo", age=5)]
    (record,) = records_of_rows(rows)
    assert record["columns"] == ["key", "score", "remote", "city"]
    assert record["rows"][0]["cells"] == [1286, 7.5, 1.0, "Oslo"]
    assert (record["rows"][0]["label"], record["rows"][0]["age"]) == ("1286", 5)


def test_triples_of_construct() -> None:
    (record,) = records_of_rows([{"window_end": START, "triples": "<a> <b> <c> .", "exact": True}])
    assert record["triples"] == "<a> <b> <c> ."
    assert record["rows"] == []


@pytest.mark.parametrize(
    "when", [START, "2026-01-01T00:00:00.000Z", datetime(2026, 1, 1, tzinfo=UTC)]
)
def test_times_in_every_form(when: Any) -> None:
    (record,) = records_of_rows([{"window_end": when, "rank": 1, "key": "a"}])
    assert record["window"]["end"] == START


def test_rows_that_are_not_answers() -> None:
    with pytest.raises(QueryError, match="not answers") as caught:
        records_of_rows([{"a": 1}])
    assert caught.value.field == "window_end"


def test_a_key_of_several_columns_is_shown_by_its_parts() -> None:
    look = LookUp(("tea", "DE"), None, 3.0, ok=True)
    given = Answer(
        Window(0, 0, 10),
        (Row(1, ("tea", "DE"), 2.5, 7),),
        group=("shop", 7),
        looked_up=(look,),
        key_columns=("product", "country"),
        group_columns=("kind", "number"),
    )
    record = record_of(given)
    assert record["rows"][0]["label"] == "tea, DE"
    assert (record["group"], record["looked_up"][0]["label"]) == ("shop, 7", "tea, DE")


def test_what_several_remote_values_add_is_left_out() -> None:
    """And a text that an answer shows is one in the record."""
    query = TopKQuery(
        key="who", time="at", window=tumbling(10), k=2, take={"n": "count", "title": "last(title)"},
        score="n * price * trust",
        refresh=[{"remote": "price", "from": "shop"}, {"remote": "trust", "from": "people"}],
        budget={"cost": 4},
    )  # fmt: skip
    sources = {"shop": remote.memory({"a": 3.0}), "people": remote.memory({"a": 0.5})}
    (made,) = run(query, [{"who": ["a"], "at": [1], "title": ["tea"]}], sources=sources)
    record = record_of(made)
    assert record["rows"][0]["values"] == [1.0, "tea"]
    assert record["rows"][0]["score"] == 1.5
    assert "spent" in made.to_dict()
    assert record.keys() & {"spent", "left"} == set()


def test_changed_settings_are_told() -> None:
    assert record_of(replace(answer(0, "ann"), tuned=("k: 1 → 3",)))["tuned"] == ["k: 1 → 3"]
    assert "tuned" not in record_of(answer(0, "ann"))
