"""What Prometheus is told, read back as Prometheus reads it."""

from __future__ import annotations

import threading
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from topwater.spark import Progress
from topwater.spark.prometheus import COUNTERS, GAUGES, Exposition

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = Progress(query="bids", id="7f", run="1", batch=3, at="2026-01-01T00:00:00.000Z")
HOSTILE = 'a\nb\\ "c" {d="e"} #'


def told(text: str) -> dict[tuple[str, str, str], float]:
    """Each sample by its name, its query and its problem."""
    return {
        (sample.name, sample.labels["query"], sample.labels.get("problem", "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def exposed(*figures: dict[str, Any], query: str = "bids") -> dict[tuple[str, str, str], float]:
    exposition = Exposition()
    for each in figures:
        exposition.add(query, "7f", each)
    return told(exposition.text())


def test_every_figure_has_a_name_in_prometheus() -> None:
    words = {"query", "id", "run", "at", "ranking", "refused"}
    assert {field.name for field in fields(Progress)} - words == {*COUNTERS, *GAUGES}


def test_counters_are_summed_and_gauges_are_the_last() -> None:
    found = exposed({"events": 3, "precision": 0.5}, {"events": 4, "precision": 0.75})
    assert found["topwater_events_total", "bids", ""] == 7
    assert found["topwater_precision", "bids", ""] == 0.75


def test_a_gauge_that_is_not_told_keeps_its_last_value() -> None:
    assert exposed({"ndcg": 0.5}, {"ndcg": None})["topwater_ndcg", "bids", ""] == 0.5
    assert exposed({"ndcg": None}) == {}


def test_problems_are_told_apart() -> None:
    found = exposed({"problems": {"timeout": 2, "": 1}}, {"problems": {"timeout": 3}})
    assert found == {
        ("topwater_problems_total", "bids", "timeout"): 5,
        ("topwater_problems_total", "bids", ""): 1,
    }


def test_figures_have_base_units_and_their_names() -> None:
    found = exposed({"batch_ms": 2_500, "state_memory": 4_096, "state_bytes": 17})
    assert found == {
        ("topwater_batch_seconds", "bids", ""): 2.5,
        ("topwater_state_memory_bytes", "bids", ""): 4_096,
        ("topwater_state_bytes", "bids", ""): 17,
    }


@pytest.mark.parametrize("query", [HOSTILE, "", "käse 日本", "\r\n"])
def test_whatever_a_query_is_called_it_is_one_label(query: str) -> None:
    assert exposed({"events": 1}, query=query) == {("topwater_events_total", query, ""): 1}


def test_a_whole_micro_batch_can_be_read() -> None:
    found = exposed(
        asdict(replace(PLAIN, precision=0.5, ndcg=0.5, audited=0.5, problems={"late": 1}))
    )
    assert len(found) == len(COUNTERS) + len(GAUGES)


def test_names_and_types_are_stated() -> None:
    exposition = Exposition()
    exposition.add("bids", "7f", {"events": 5, "batch": 3})
    assert exposition.text() == (
        "# HELP topwater_events_total events seen\n"
        "# TYPE topwater_events_total counter\n"
        'topwater_events_total{id="7f",query="bids"} 5.0\n'
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
