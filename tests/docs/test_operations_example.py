"""The dashboard and the alerts: each of their queries names what a run on Spark really gave."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.support.docs_pages import ROOT, first_column
from tests.support.observed import eventually
from tests.support.promql import asked
from topwater import TopKQuery, remote, tumbling
from topwater.spark import start, topk, watch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.observed import Ran
    from topwater.spark.metrics import Watch

FOLDER = ROOT / "examples" / "operations"
BOARD = json.loads((FOLDER / "grafana-dashboard.json").read_text())
PANELS = [each for each in BOARD["panels"] if each["type"] != "row"]
RULES = [
    rule
    for group in yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
OF_PROMETHEUS = {"up": {"job", "instance"}}
"""What Prometheus itself adds."""

VARIABLES = {"$__rate_interval": "5m", "$query": ".*"}


def expressions() -> Iterator[tuple[str, str]]:
    """Every query with where it stands."""
    for panel in PANELS:
        for target in panel["targets"]:
            text = target["expr"]
            for name, value in VARIABLES.items():
                text = text.replace(name, value)
            yield panel["title"], text
    yield from ((rule["alert"], rule["expr"]) for rule in RULES)


QUERIES = [*expressions()]


@pytest.fixture(scope="session")
def given(ran: Ran, warm_spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The labels of each metric, as runs gave them: of one source, of several, with an audit."""
    folder = tmp_path_factory.mktemp("operated")
    told = ran.prom_file.read_text() + "\n" + operated(warm_spark, folder)
    labels: dict[str, set[str]] = {}
    for part in told.split("\n\n"):
        for family in text_string_to_metric_families(part):
            for sample in family.samples:
                labels.setdefault(sample.name, set()).update(sample.labels)
    return labels


def operated(spark: SparkSession, folder: Path) -> str:
    """What two more queries tell: of several sources with a quota, and of one with an audit."""
    rng = np.random.default_rng(3)
    rows = [(f"p{rng.integers(50)}", int(at), int(rng.integers(4))) for at in range(1, 4_000, 3)]
    events = spark.createDataFrame(rows, "product string, at bigint, vendor bigint")
    events.write.parquet(str(folder / "in"))
    prices = {f"p{number}": float(number) for number in range(50)}
    shop, vendors = remote.memory(prices), remote.memory(dict.fromkeys(range(4), 1.0))
    shared: dict[str, Any] = {"key": "product", "time": "at", "window": tumbling(1_000, start=0)}
    several = TopKQuery(
        **shared,
        k=2,
        take={"sold": "count", "vendor": "last(vendor)"},
        score="sold * price * trust",
        refresh=[
            {"remote": "price", "from": "shop", "per": {"1 min": 600}},
            {"remote": "trust", "from": "vendors", "key": "vendor"},
        ],
        budget=20,
    )
    audited = TopKQuery(
        **shared,
        k=2,
        take={"sold": "count"},
        score="sold * price",
        refresh={"remote": "price", "budget": 40, "audit": 0.5},
    )
    stream = spark.readStream.schema(events.schema).parquet(str(folder / "in"))
    sources = {"shop": shop, "vendors": vendors}
    frames = {
        "several": topk(stream, several, sources=sources),
        "audited": topk(stream, audited, shop),
    }
    with watch(spark, folder / "told.prom") as watching:
        for name, answers in frames.items():
            once, place = {"availableNow": True}, folder / name
            start(answers, to="noop", checkpoint=place, trigger=once, name=name).awaitTermination()
        eventually(lambda: answered(watching) == 2)
    return (folder / "told.prom").read_text()


def answered(watching: Watch) -> int:
    return len(watching.latest)


@pytest.mark.spark
@pytest.mark.parametrize(("where", "query"), QUERIES, ids=[where for where, _ in QUERIES])
def test_a_query_asks_for_what_there_is(given: Any, where: str, query: str) -> None:
    named = asked(query)
    assert named, where
    for metric, labels in named:
        known = OF_PROMETHEUS.get(metric) or given[metric]
        assert labels <= known, f"{where}: {metric} has {sorted(known)}"


def test_a_query_that_can_not_be_parsed_is_seen() -> None:
    with pytest.raises(ValueError, match=r"\w"):
        asked("sum by (query) (rate(topwater_rows_total[5m])")


def test_what_a_query_asks_for() -> None:
    told = asked('sum by (le) (rate(a_bucket{job=~"x"}[5m])) / on (job) b > 1 and time() - c > 5')
    assert {name: set(labels) for name, labels in told} == {
        "a_bucket": {"le", "job"},
        "b": {"job"},
        "c": set(),
    }


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_says_what_and_how_bad(rule: Any) -> None:
    assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"].keys() == {"summary", "description"}
    labels = {label for _, used in asked(rule["expr"]) for label in used}
    named = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
    # Without `by`, a metric keeps the labels of its own; those of the target come with it.
    assert named <= labels | {"query", "id", "quota", "instance"}
    assert re.fullmatch(r"\d+[mh]", rule.get("for", "1m"))


def test_every_alert_is_explained() -> None:
    told = first_column(ROOT / "docs" / "production.md", "Alerts")
    assert sorted(told) == sorted(rule["alert"] for rule in RULES)


def test_prometheus_is_told_of_both_files() -> None:
    settings = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    assert all((FOLDER / name).is_file() for name in settings["rule_files"])
    [job] = settings["scrape_configs"]
    assert job["job_name"] == "topwater"  # by which an alert knows the drivers
    [target] = [each for part in job["static_configs"] for each in part["targets"]]
    assert f"http://{target}" in (FOLDER / "README.md").read_text()


def test_the_dashboard_has_the_form_that_grafana_reads() -> None:
    assert BOARD["schemaVersion"] >= 39
    assert {"uid", "title", "time", "refresh", "templating", "panels"} <= BOARD.keys()
    assert "id" not in BOARD  # of an installation
    numbers = [each["id"] for each in BOARD["panels"]]
    assert len(set(numbers)) == len(numbers)
    variables = {each["name"]: each for each in BOARD["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    assert variables["query"]["query"]["query"] == "label_values(topwater_running, query)"
    for panel in PANELS:
        assert panel["type"] in ("stat", "timeseries")
        assert panel["description"]
        letters = [target["refId"] for target in panel["targets"]]
        assert len(set(letters)) == len(letters)
        for part in (panel, *panel["targets"]):
            assert part["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        for target in panel["targets"]:
            assert target["range"] is not target["instant"]
            assert '{query=~"$query"}' in target["expr"]


def test_no_panel_lies_on_another() -> None:
    cells: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        mine = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not mine & cells, panel["title"]
        cells |= mine


def test_legends_use_labels_that_are_left() -> None:
    """A legend names what the query's `by` keeps."""
    for panel in PANELS:
        for target in panel["targets"]:
            kept = {
                word
                for part in re.findall(r"by \(([^)]*)\)", target["expr"])
                for word in re.split(r"[, ]+", part)
            }
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= kept, panel["title"]
