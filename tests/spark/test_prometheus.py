"""What Prometheus is told, read back as Prometheus reads it."""

from __future__ import annotations

import re
import threading
from dataclasses import asdict, fields, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from topwater.spark import Progress
from topwater.spark.prometheus import BOUNDS, COUNTERS, GAUGES, HISTOGRAMS, Exposition

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = Progress(query="bids", id="7f", run="1", batch=3, at="2026-01-01T00:00:00.000Z")
WHOLE = replace(
    PLAIN,
    precision=0.5,
    ndcg=0.5,
    audited=0.5,
    problems={"late": 1},
    windows=1,
    window_end=60_000,
    delay_ms=1_500,
    value_age_ms=7,
    cost=1.0,
    left={"1 d": 5.0},
)
HOSTILE = 'a\nb\\ "c" {d="e"} #'


def told(text: str) -> dict[tuple[str, str, str], float]:
    """Each sample of a query by its name, its query and what its label more says."""
    return {
        (sample.name, sample.labels["query"], _more(sample.labels)): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if "query" in sample.labels
    }


def _more(labels: dict[str, str]) -> str:
    return ", ".join(value for name, value in labels.items() if name not in ("query", "id"))


LIVES = {"topwater_running", "topwater_failures_total", "topwater_last_seen_timestamp_seconds"}


def exposed(*figures: dict[str, Any], query: str = "bids") -> dict[tuple[str, str, str], float]:
    exposition = Exposition()
    for each in figures:
        exposition.add(query, "7f", each)
    return {key: value for key, value in told(exposition.text()).items() if key[0] not in LIVES}


def test_every_figure_has_a_name_in_prometheus() -> None:
    words = {"query", "id", "run", "at", "ranking", "refused"}
    elsewhere = {"asked", "unanswered", "rows_per_second"}  # by source; a rate of a counter
    named = {*COUNTERS, *GAUGES, *HISTOGRAMS}
    assert {field.name for field in fields(Progress)} - words - elsewhere == named


def test_names_follow_the_conventions() -> None:
    """Base units, and no word that is added anyway."""
    exposition = Exposition()
    exposition.add("bids", "7f", asdict(WHOLE))
    exposition.see("bids", "7f", 1.0)
    for family in text_string_to_metric_families(exposition.text()):
        assert re.fullmatch(r"topwater(_[a-z]+)+", family.name), family.name
        assert not re.search(r"_(ms|millis|mb|percent|count|sum|total)(_|$)", family.name)
        assert family.documentation


def test_counters_are_summed_and_gauges_are_the_last() -> None:
    found = exposed({"events": 3, "precision": 0.5}, {"events": 4, "precision": 0.75})
    assert found["topwater_events_total", "bids", ""] == 7
    assert found["topwater_precision", "bids", ""] == 0.75


def test_a_gauge_that_is_not_told_keeps_its_last_value() -> None:
    assert exposed({"ndcg": 0.5}, {"ndcg": None})["topwater_ndcg", "bids", ""] == 0.5
    assert exposed({"ndcg": None}) == {}


def test_rankings_of_one_query_are_told_apart() -> None:
    exposition = Exposition()
    for name, count in (("regions", 3), ("best", 5)):
        exposition.add("bids", "7f", {"events": count, "batch_ms": 200}, name)
    found = told(exposition.text())
    assert found["topwater_events_total", "bids", "regions"] == 3
    assert found["topwater_events_total", "bids", "best"] == 5
    assert found["topwater_batch_duration_seconds_count", "bids", "best"] == 1
    assert found["topwater_running", "bids", ""] == 1


def test_problems_are_told_apart() -> None:
    found = exposed({"problems": {"timeout": 2, "": 1}}, {"problems": {"timeout": 3}})
    assert found == {
        ("topwater_look_up_problems_total", "bids", "timeout"): 5,
        ("topwater_look_up_problems_total", "bids", ""): 1,
    }


def test_look_ups_are_told_by_source_where_there_are_several() -> None:
    assert exposed({"fetched": 3, "failed": 1, "asked": None, "unanswered": None}) == {
        ("topwater_look_ups_total", "bids", ""): 3,
        ("topwater_failed_look_ups_total", "bids", ""): 1,
    }
    several = {"fetched": 3, "failed": 1, "asked": {"a": 1, "b": 2}, "unanswered": {"a": 1, "b": 0}}
    assert exposed(several, {"fetched": 0, "failed": 0, "asked": {}, "unanswered": {}}) == {
        ("topwater_look_ups_total", "bids", "a"): 1,
        ("topwater_look_ups_total", "bids", "b"): 2,
        ("topwater_failed_look_ups_total", "bids", "a"): 1,
        ("topwater_failed_look_ups_total", "bids", "b"): 0,
    }


def test_what_is_left_of_quotas_is_told_by_quota() -> None:
    assert exposed({"left": {"1 d": 50.0}, "cost": 1.5}, {"left": {"1 d": 49.0}, "cost": 1.0}) == {
        ("topwater_quota_left", "bids", "1 d"): 49.0,
        ("topwater_look_up_cost_total", "bids", ""): 2.5,
    }


def test_figures_have_base_units_and_their_names() -> None:
    found = exposed({"value_age_ms": 2_500, "state_memory": 4_096, "window_end": 60_000})
    assert found == {
        ("topwater_value_age_seconds", "bids", ""): 2.5,
        ("topwater_state_memory_bytes", "bids", ""): 4_096,
        ("topwater_window_end_timestamp_seconds", "bids", ""): 60.0,
    }


def test_durations_are_distributions() -> None:
    found = exposed({"batch_ms": 250}, {"batch_ms": 251}, {"batch_ms": 10_000_000})
    name = "topwater_batch_duration_seconds"
    assert found[f"{name}_count", "bids", ""] == 3
    assert found[f"{name}_sum", "bids", ""] == pytest.approx(10_000.501)
    buckets = {key[2]: value for key, value in found.items() if key[0] == f"{name}_bucket"}
    assert [*buckets][-1] == "+Inf"
    assert len(buckets) == len(BOUNDS) + 1
    chosen = {each: buckets[each] for each in ("0.1", "0.25", "0.5", "3600.0", "+Inf")}
    assert chosen == {"0.1": 0, "0.25": 1, "0.5": 2, "3600.0": 2, "+Inf": 3}


def test_only_micro_batches_that_answer_are_closing() -> None:
    assert exposed({"closing_ms": 0, "windows": 0}) == {("topwater_windows_total", "bids", ""): 0}
    found = exposed({"closing_ms": 3, "windows": 1})
    assert found["topwater_closing_duration_seconds_count", "bids", ""] == 1


def test_whether_a_query_lives_is_told() -> None:
    exposition = Exposition()
    exposition.add("bids", "7f", {})
    exposition.see("bids", "7f", 12.5)
    assert told(exposition.text()) == {
        ("topwater_running", "bids", ""): 1,
        ("topwater_failures_total", "bids", ""): 0,
        ("topwater_last_seen_timestamp_seconds", "bids", ""): 12.5,
    }
    exposition.end("bids", "7f", failed=True)
    found = told(exposition.text())
    assert found["topwater_running", "bids", ""] == 0
    assert found["topwater_failures_total", "bids", ""] == 1
    exposition.add("bids", "7f", {})
    exposition.end("bids", "7f", failed=False)
    assert told(exposition.text())["topwater_failures_total", "bids", ""] == 1


def test_the_version_is_told() -> None:
    [family] = text_string_to_metric_families(Exposition().text())
    [sample] = family.samples
    assert (sample.name, sample.labels, sample.value) == (
        "topwater_info",
        {"version": version("topwater")},
        1.0,
    )


@pytest.mark.parametrize("query", [HOSTILE, "", "käse 日本", "\r\n"])
def test_whatever_a_query_is_called_it_is_one_label(query: str) -> None:
    assert exposed({"events": 1}, query=query) == {("topwater_events_total", query, ""): 1}


def test_a_whole_micro_batch_can_be_read() -> None:
    families = {name for name, _, _ in exposed(asdict(WHOLE))}
    plain = [name for name in families if not name.endswith(("_bucket", "_count", "_sum"))]
    assert len(plain) == len(COUNTERS) + len(GAUGES)
    assert len(families) - len(plain) == 3 * len(HISTOGRAMS)


def test_names_and_types_are_stated() -> None:
    exposition = Exposition()
    exposition.add("bids", "7f", {"late": 5, "batch": 3})
    assert exposition.text().endswith(
        "# HELP topwater_late_events_total events too late for one of their windows\n"
        "# TYPE topwater_late_events_total counter\n"
        'topwater_late_events_total{id="7f",query="bids"} 5.0\n'
        "# HELP topwater_batch number of the last micro-batch\n"
        "# TYPE topwater_batch gauge\n"
        'topwater_batch{id="7f",query="bids"} 3.0\n'
    )


def test_the_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    exposition = Exposition()
    for number in range(3):
        exposition.add(HOSTILE, "1", asdict(replace(PLAIN, events=number)))
        exposition.write(tmp_path / "t.prom")
    assert [path.name for path in tmp_path.iterdir()] == ["t.prom"]
    text = (tmp_path / "t.prom").read_text()
    assert told(text)["topwater_events_total", HOSTILE, ""] == 3


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "t.prom"
    exposition = Exposition()
    exposition.add("bids", "7f", asdict(PLAIN))
    exposition.write(path)
    size, done = len(path.read_bytes()), threading.Event()

    def rewrite() -> None:
        for _ in range(200):
            exposition.write(path)
        done.set()

    writer = threading.Thread(target=rewrite)
    writer.start()
    while not done.is_set():
        assert len(path.read_bytes()) == size
        # The collector reads every file that ends in .prom.
        assert [each.name for each in tmp_path.glob("*.prom")] == ["t.prom"]
    writer.join()


def test_a_failure_leaves_no_file_behind(tmp_path: Path) -> None:
    exposition = Exposition()
    exposition.add("\ud800", "7f", {"events": 1})
    with pytest.raises(UnicodeEncodeError):
        exposition.write(tmp_path / "t.prom")
    assert list(tmp_path.iterdir()) == []


def test_it_may_be_read_while_it_grows() -> None:
    exposition, done = Exposition(), threading.Event()

    def grow() -> None:
        for number in range(300):
            exposition.add(f"q{number}", "1", {"events": 1, "problems": {str(number): 1}})
        done.set()

    writer = threading.Thread(target=grow)
    writer.start()
    while not done.is_set():
        exposition.text()
    writer.join()
    assert len([key for key in told(exposition.text()) if key[0] == "topwater_running"]) == 300
