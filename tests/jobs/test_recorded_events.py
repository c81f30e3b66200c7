"""The events of a job's stream as tables, in order of time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.support.job_files import job
from topwater import TopKQuery, counting, tumbling
from topwater.errors import QueryError
from topwater.jobs.recorded_events import RecordedEvents, events_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = TopKQuery(key="user", time="at", window=tumbling(10), k=1, take={"n": "count"}, score="n")


def test_events_are_sorted_and_those_without_key_or_time_left_out() -> None:
    table = pa.table({"user": ["b", None, "a", "b", "c"], "at": [7, 1, 2, None, 2]})
    found = RecordedEvents.of(QUERY, table)
    [batch] = found.batches
    assert batch.to_pydict() == {"user": ["a", "c", "b"], "at": [2, 2, 7]}
    assert (found.first, found.last, sorted(found.keys)) == (2, 7, ["a", "b", "c"])


def test_many_events_come_in_batches() -> None:
    rows = 250_001
    found = RecordedEvents.of(QUERY, pa.table({"user": [1] * rows, "at": range(rows, 0, -1)}))
    assert [each.num_rows for each in found.batches] == [100_000, 100_000, 50_001]
    assert found.batches[1]["at"][0].as_py() == 100_001


def test_what_is_no_recording() -> None:
    empty = pa.table({"user": pa.array([], pa.string()), "at": pa.array([], pa.int64())})
    with pytest.raises(QueryError, match="no events"):
        RecordedEvents.of(QUERY, empty)
    counts = TopKQuery(key="user", window=counting(10), k=1, take={"n": "count"}, score="n")
    with pytest.raises(QueryError, match="counts events"):
        RecordedEvents.of(counts, empty)


@pytest.mark.spark
def test_the_events_of_a_job(tmp_path: Path, spark: SparkSession) -> None:
    found = job(tmp_path)
    for name, users in {"2": "bc", "1": "aa"}.items():
        lines = (f'{{"user": "{u}", "at": "2026-01-01T00:0{name}:00Z"}}\n' for u in users)
        (tmp_path / "in" / f"{name}.json").write_text("".join(lines))
    events = events_of(found, spark)
    [batch] = events.batches
    assert sorted(batch["user"].to_pylist()[:2]) == ["a", "a"]
    assert events.last - events.first == 60_000


def test_a_stream_without_an_end(tmp_path: Path) -> None:
    schema = 'spool="kept", schema="user string, at timestamp"'
    stream = f'stream={{kind="mqtt", url="mqtt://127.0.0.1:1", topics=["t"], {schema}}}'
    endless = job(tmp_path, "", stream)
    with pytest.raises(QueryError, match="has no end"):
        events_of(endless, None)  # type: ignore[arg-type]
