"""Rows of windows and items back to answers; tests/spark/test_frames.py has them from Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from topwater import TopKQuery, tumbling
from topwater.errors import QueryError
from topwater.model import Answer, Counts, Row, Window
from topwater.spark.answer_rows import answers_from
from topwater.spark.packed_rows import ESTIMATES, FIGURES, TOLD, packed

QUERY = TopKQuery(
    key="who", time="at", take={"value": "max(x)"}, score="value", k=1, window=tumbling(10)
)


def at(end: int) -> dict[str, Any]:
    return {
        "window_start": datetime.fromtimestamp((end - 10) / 1_000, UTC),
        "window_end": datetime.fromtimestamp(end / 1_000, UTC),
    }


def window(end: int, **figures: Any) -> dict[str, Any]:
    told = packed(Answer(Window(0, 0, 10), (), counts=Counts()), QUERY)[TOLD] | figures
    none = dict.fromkeys(("rank", "who", "score", "time", "value", *ESTIMATES))
    return {"kind": "window", **at(end), **none, "exact": True, FIGURES: told}


def item(end: int, rank: int | None, who: str, kind: str = "item") -> dict[str, Any]:
    when = datetime.fromtimestamp((end - 1) / 1_000, UTC)
    cells = {"rank": rank, "who": who, "score": 1.5, "time": when, "value": 1.5}
    return {"kind": kind, **at(end), **cells, **dict.fromkeys(ESTIMATES), "exact": True}


def test_rows_become_answers_in_the_order_of_windows_and_ranks() -> None:
    rows = [
        item(20, 2, "c"),
        item(20, 1, "b"),
        window(20, candidates=2),
        window(10),
        item(10, None, "x", kind="late"),
    ]
    table = pa.Table.from_pylist([{**dict.fromkeys(window(10)), **row} for row in rows])
    empty, full = answers_from(table, QUERY)
    assert (empty.window, empty.rows, empty.candidates) == (Window(0, 0, 10), (), 0)
    assert (full.window, full.keys, full.candidates) == (Window(1, 10, 20), ["b", "c"], 2)
    assert full.rows[0] == Row(1, "b", 1.5, 19, values=(1.5,))
    assert (full.freshness, full.counts) == (None, Counts())


def test_rows_of_items_alone_are_refused_with_what_to_do() -> None:
    row = item(10, 1, "a")
    del row["kind"]
    with pytest.raises(QueryError, match="not of windows and items") as caught:
        answers_from(pa.Table.from_pylist([row]), QUERY)
    assert 'give="both"' in caught.value.fix
