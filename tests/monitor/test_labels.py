"""Texts that travel as numbers, and come back as they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater import TopKQuery, run, sliding, tumbling
from topwater.errors import BatchError
from topwater.monitor import TopKMonitor
from topwater.monitor import labels as module
from topwater.monitor.labels import NONE, LabelBook, codes_of, with_labels

texts = st.lists(st.none() | st.text(max_size=6), max_size=20)
numbers = st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=20)


@given(texts | numbers)
def test_equal_labels_have_equal_codes_and_come_back(given_labels: list[Any]) -> None:
    kind = pa.int64() if any(isinstance(each, int) for each in given_labels) else pa.large_string()
    labels = pa.array(given_labels, kind)
    codes = codes_of(labels)
    assert ((codes >= 2.0**52) & (codes <= NONE)).all()
    book = LabelBook()
    assert np.array_equal(book.add(codes, labels), codes)
    assert book.shown(codes).tolist() == given_labels
    assert book.column(codes).to_pylist() == given_labels
    assert len(book) == len({each for each in given_labels if each is not None})


def test_numbers_that_are_no_codes_are_shown_as_they_are() -> None:
    assert LabelBook().shown(np.array([3.5, NONE])).tolist() == [3.5, None]


def test_neighbours_have_codes_of_their_own() -> None:
    near = pa.array([*range(-500, 500), 2**50 - 1, 2**50, -(2**50), 2**63 - 1])
    assert len(np.unique(codes_of(near))) == len(near)


def test_a_label_whose_code_another_has_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_of_text", lambda _: 2**52 + 5)
    assert codes_of(pa.array(["a", "b", "a"])).tolist() == [2.0**52 + 5, NONE, 2.0**52 + 5]
    book = LabelBook()
    for text, code in (("a", 2.0**52 + 5), ("b", NONE), ("a", 2.0**52 + 5)):
        labels = pa.array([text])
        assert book.add(codes_of(labels), labels).tolist() == [code]


def test_what_nobody_needs_is_forgotten() -> None:
    book, labels = LabelBook(), pa.array([f"title {each}" for each in range(5_000)])
    codes = book.add(codes_of(labels), labels)
    assert book.crowded
    book.keep(np.append(codes[:10], [NONE, 3.0]))
    assert (len(book), book.crowded) == (10, False)
    assert book.shown(codes[:2]).tolist() == ["title 0", "title 1"]


def test_partial_aggregates_have_their_labels_beside_them() -> None:
    labels = pa.array(["x", None, "y", "x"])
    codes = codes_of(labels)
    partials = pa.table({"pane": [0, 0, 1], "v": [codes[2], codes[1], codes[0]]})
    found = with_labels(partials, "v", labels, codes)
    assert found.column("label v").to_pylist() == ["y", None, "x"]


EVENTS = {"who": ["a", "b", "a", "c"], "at": [1, 2, 3, 14], "title": ["x", None, "y", "z"]}


def query_of(**changes: Any) -> TopKQuery:
    settings: dict[str, Any] = {
        "key": "who",
        "time": "at",
        "window": tumbling(10),
        "take": {"n": "count", "title": "last(title)"},
        "score": "n",
        "k": 2,
    }
    return TopKQuery(**{**settings, **changes})


def test_a_last_text_is_shown() -> None:
    first, second = run(query_of(), [EVENTS])
    assert [(row.key, row.values) for row in first.rows] == [("a", (2.0, "y")), ("b", (1.0, None))]
    assert second.rows[0].values == (1.0, "z")


def test_a_last_number_is_shown_as_a_number() -> None:
    (answer, _) = run(query_of(), [EVENTS | {"title": [1, 2, 3.5, 4]}])
    assert [row.values for row in answer.rows] == [(2.0, 3.5), (1.0, 2.0)]


def test_text_that_is_computed_with_is_refused() -> None:
    query = query_of(score="n * title")
    with pytest.raises(BatchError, match="'title' is of type string, not numeric"):
        list(run(query, [EVENTS]))


def test_texts_slide_with_their_windows_over_restarts() -> None:
    query = query_of(window=sliding(30, 10), take={"n": "count", "title": "last(title)"})
    batches = [
        {"who": ["a", "b"], "at": [10 * each + 1, 10 * each + 2], "title": [f"t{each}", "same"]}
        for each in range(8)
    ]
    plain = [row.values for answer in run(query, batches) for row in answer.rows]
    monitor, told = TopKMonitor.build(query), list[Any]()
    for batch in batches:
        monitor.ingest(batch)
        monitor = TopKMonitor.build(query, monitor.snapshot())
        watermark = monitor.watermark
        assert watermark is not None
        told += monitor.close_until(watermark)
    told += monitor.flush()
    assert [row.values for answer in told for row in answer.rows] == plain
