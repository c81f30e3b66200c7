"""Times that are written as text."""

from __future__ import annotations

import pyarrow as pa
import pytest

from topwater import TopKQuery, run, tumbling
from topwater.monitor.time_texts import MOMENT, moments

NINE = 1_767_258_000_000_000
"""2026-01-01 at nine, in microseconds."""


@pytest.mark.parametrize(
    "texts",
    [
        ["2026-01-01T09:00:00Z", "2026-01-01 10:00:00+01:00"],
        ["2026-01-01T09:00:00", "2026-01-01 09:00"],
        ["2026-01-01T09:00:00.000Z", "2026-01-01T09:00:00"],
        [" 2026-01-01T09:00:00Z ", "2026-01-01T09:00:00.000000+00:00"],
    ],
    ids=["with zones", "without", "mixed", "with blanks"],
)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_iso_8601(texts: list[str], kind: pa.DataType) -> None:
    found = moments(pa.array(texts, kind))
    assert found.type == MOMENT
    assert found.cast(pa.int64()).to_pylist() == [NINE, NINE]


def test_what_is_not_a_time_is_null() -> None:
    texts = ["soon", "", None, "1767258000000", "2026-13-01", "2026-01-01T09:00:00Z"]
    assert moments(pa.array(texts)).is_valid().to_pylist() == [False] * 5 + [True]
    assert len(moments(pa.array([], pa.string()))) == 0


def test_a_query_takes_times_as_text_and_counts_those_that_are_none() -> None:
    query = TopKQuery(key="who", time="at", window=tumbling("1 h"), score="n", k=1)
    at = ["2026-01-01T09:10:00Z", "2026-01-01T09:20:00Z", "later", None]
    (answer,) = run(query, [{"who": ["a", "b", "c", "d"], "at": at, "n": [1.0, 2.0, 3.0, 4.0]}])
    assert answer.keys == ["b"]
    assert answer.counts.bad_time == 2
    assert answer.window.end == NINE // 1_000 + 3_600_000


def test_a_time_whose_bytes_are_not_text_is_counted() -> None:
    bytes_given = pa.array([b"2026-01-01T09:10:00Z", b"\xff\xfe"], pa.binary())
    at = pa.Array.from_buffers(pa.string(), 2, bytes_given.buffers())
    query = TopKQuery(key="who", time="at", window=tumbling("1 h"), score="n", k=2)
    (answer,) = run(query, [pa.table({"who": ["a", "b"], "at": at, "n": [1.0, 2.0]})])
    assert answer.keys == ["a"]
    assert answer.counts.bad_time == 1
