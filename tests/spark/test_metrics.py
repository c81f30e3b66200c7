"""What a running query tells of itself, and where it is written."""

from __future__ import annotations

import json
import logging
import urllib.error
import urllib.request
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest
from pyspark.sql import Row

from tests.support.observed import FILES, eventually, query, read, source, write
from topwater.spark import Progress, start, topk, watch

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.observed import Ran

PLAIN = Progress(query="bids", id="7f", run="1", batch=3, at="2026-01-01T00:00:00.000Z")


@pytest.mark.spark
def test_each_micro_batch_tells_what_it_did(ran: Ran) -> None:
    names = ("batch", "windows", "events", "late", "bad_key", "bad_time", "rows")
    assert [[getattr(each, name) for name in names] for each in ran.progress] == [
        [0, 0, 0, 0, 0, 0, 6],
        [1, 1, 9, 0, 1, 1, 3],
        [2, 1, 2, 1, 0, 0, 2],
        [3, 0, 0, 0, 0, 0, 1],
    ]
    assert [each.precision is None for each in ran.progress] == [True, False, False, True]


@pytest.mark.spark
def test_refreshing_is_told_too(ran: Ran) -> None:
    first, second = ran.progress[1:3]
    assert (first.failed, second.failed) == (0, 1)
    assert (first.problems, second.problems) == ({}, {"": 1})
    assert first.fetched == 2
    assert (first.candidates, second.candidates) == (7, 2)
    assert second.ndcg is not None


@pytest.mark.spark
def test_sizes_and_durations_are_sparks(ran: Ran) -> None:
    assert len({each.id for each in ran.progress}) == 1
    for each in ran.progress:
        assert each.query == 'the "mentions"'
        assert each.state_bytes > 1_000
        assert each.state_memory > 0
        assert each.batch_ms > 0
        assert each.rows_per_second > 0


@pytest.mark.spark
def test_json_lines_hold_everything(ran: Ran) -> None:
    lines = [json.loads(line) for line in ran.json_file.read_text().splitlines()]
    assert lines == [asdict(each) for each in ran.progress]


@pytest.mark.spark
def test_prometheus_gets_sums_and_last_values(ran: Ran) -> None:
    lines = ran.prom_file.read_text().splitlines()
    identifier = ran.progress[0].id
    labels = f'{{id="{identifier}",query="the \\"mentions\\""}}'
    assert f"topwater_events_total{labels} 11.0" in lines
    assert f"topwater_windows_total{labels} 2.0" in lines
    assert f"topwater_batch{labels} 3.0" in lines
    assert f"topwater_batch_duration_seconds_count{labels} 4.0" in lines
    assert f"topwater_closing_duration_seconds_count{labels} 2.0" in lines
    assert f"topwater_precision{labels} {ran.progress[2].precision}" in lines
    assert [path.name for path in ran.prom_file.parent.glob("*prom*")] == [ran.prom_file.name]


@pytest.mark.spark
def test_prometheus_is_told_that_a_query_ended(ran: Ran) -> None:
    lines = [line for line in ran.prom_file.read_text().splitlines() if line[0] != "#"]
    values = {line.partition("{")[0]: float(line.rpartition(" ")[2]) for line in lines}
    assert (values["topwater_running"], values["topwater_failures_total"]) == (0.0, 0.0)
    assert values["topwater_last_seen_timestamp_seconds"] > 1.7e9


@pytest.mark.spark
def test_metrics_are_served_while_a_watch_is_open(spark: SparkSession) -> None:
    with watch(spark, "http://127.0.0.1:0") as served:
        assert served.url is not None
        with urllib.request.urlopen(served.url, timeout=10) as reply:  # noqa: S310
            assert b"topwater_info" in reply.read()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(served.url, timeout=10)  # noqa: S310
    with watch(spark, print) as printed:
        assert printed.url is None


def event(identifier: str = "7f", **more: Any) -> Any:
    return SimpleNamespace(id=identifier, **more)


def test_a_failure_and_a_wait_are_passed_on(tmp_path: Path) -> None:
    """Of queries that are known; what other queries of the session do is theirs."""
    session = MagicMock()
    watched = watch(session, tmp_path / "t.prom")
    [[listener]] = [call.args for call in session.streams.addListener.call_args_list]
    listener.onQueryIdle(event())
    listener.onQueryTerminated(event(exception="broken"))
    assert not (tmp_path / "t.prom").exists()
    listener.onQueryProgress(SimpleNamespace(progress=told(topwater=Row(windows=1))))
    listener.onQueryIdle(event())
    listener.onQueryTerminated(event("other", exception="broken"))
    assert 'topwater_failures_total{id="7f",query="7f"} 0.0' in (tmp_path / "t.prom").read_text()
    listener.onQueryTerminated(event(exception="broken"))
    text = (tmp_path / "t.prom").read_text()
    assert 'topwater_failures_total{id="7f",query="7f"} 1.0' in text
    assert 'topwater_running{id="7f",query="7f"} 0.0' in text
    assert watched.error is None
    watched.close()


@pytest.mark.spark
def test_queries_are_told_apart_and_an_error_of_ours_stops_none(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(progress: Progress) -> None:
        raise OSError(f"no room for {progress.query}")

    events = read(spark, write(tmp_path / "in", FILES[:1]))
    with caplog.at_level(logging.WARNING, "topwater"), watch(spark, fail) as watched:
        started = [
            start(
                topk(events, query(), source()),
                to="noop",
                checkpoint=tmp_path / name,
                trigger={"availableNow": True},
                name=name,
            )
            for name in ("left", "right")
        ]
        for each in started:
            each.awaitTermination()
        eventually(lambda: len(watched.latest) == 2)
    assert all(each.exception() is None for each in started)
    assert {each.query for each in watched.latest.values()} == {"left", "right"}
    assert {str(each.id) for each in started} == set(watched.latest)
    assert isinstance(watched.error, OSError)
    assert len(caplog.records) == 1
    watched.close()


def test_a_line_for_people() -> None:
    assert str(PLAIN) == (
        "bids #3: windows 0, events 0, late 0, bad 0, candidates 0, rows 0 in 0 ms (0/s), state 0 B"
    )
    refreshed = replace(PLAIN, precision=0.875, ndcg=0.96, fetched=7, failed=1, missed=1)
    assert "fetched 7, failed 1, precision 0.88, nDCG 0.96, missed 1" in str(refreshed)
    unlucky = replace(refreshed, failed=4, problems={"": 1, "timeout": 3})
    assert "fetched 7, failed 4 (unknown 1, timeout 3), precision" in str(unlucky)


def told(**observed: Row) -> Any:
    """What Spark tells of a micro-batch of a query without a name."""
    return SimpleNamespace(
        name=None,
        id="7f",
        runId="1",
        batchId=3,
        timestamp=PLAIN.at,
        observedMetrics=observed,
        stateOperators=[],
        numInputRows=9,
        processedRowsPerSecond=4.5,
        batchDuration=2_000,
    )


def test_other_queries_are_passed_over() -> None:
    assert Progress.of(told(mine=Row(windows=3))) is None


def test_what_was_not_observed_is_none_or_zero() -> None:
    estimates = {"estimated": 2.0, "precision": 1.5, "ndcg": 1.0}
    figures = estimates | {"windows": 2.0, "missed": 2.0, "bad": 1.0, "new figure": 1.0}
    assert Progress.of(told(topwater=Row(figures=[figures]))) == replace(
        PLAIN,
        query="7f",
        windows=2,
        missed=2,
        precision=0.75,
        ndcg=0.5,
        bad_values=1,
        rows=9,
        rows_per_second=4.5,
        batch_ms=2_000,
    )


def test_what_shards_tell_of_their_states_is_added_up() -> None:
    first = {"kept": 1, "came": 5, "written": 7, "held": 9, "closing_ms": 3}
    second = {"rebuilt": 1, "came": 1, "written": 1, "held": 2, "closing_ms": 8}
    found = Progress.of(told(topwater=Row(windows=1, figures=[first, second])))
    assert found is not None
    assert (found.state_kept, found.state_rebuilt, found.state_caught_up) == (1, 1, 0)
    assert (found.state_came, found.state_written, found.state_bytes) == (6, 8, 11)
    assert found.closing_ms == 8


def test_rankings_of_one_query_are_told_apart() -> None:
    first = {"figures": [{"windows": 1, "held": 9, "written": 3, "came": 5}]}
    second = {"results": 2, "state_bytes": 8, "changes": 0}
    seen = {"topwater.near": Row(**second), "topwater#7": Row(**first), "mine": Row(windows=9)}
    found = Progress.all_of(told(**seen))
    assert [(each.ranking, each.windows, each.results, each.rows) for each in found] == [
        ("near", 0, 2, 9),
        ("#1", 1, 0, 0),
    ]
    assert [(each.state_bytes, each.state_written) for each in found] == [(8, 8), (9, 3)]
    assert str(found[1]).startswith("7f #1 #3: windows 1")
    assert Progress.of(told(**seen)) == found[0]
