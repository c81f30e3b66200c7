"""What pages name in code font is there: commands, options, settings, columns, problems."""

from __future__ import annotations

import dataclasses
import inspect
import re
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import topwater
from tests.support.docs_commands import problem_of_names
from tests.support.docs_pages import PAGES, ROOT, first_column, in_code_font, name_of
from topwater.problems import REASONS
from topwater.remote import stack

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCS = ROOT / "docs"
SETTINGS = {*inspect.signature(stack).parameters} - {"source", "per_request"}
"""What every source has round it."""

OTHERS = {"map", "telling", "seeds"}
"""Parameters that pages name and that are not ours: of Spark's builder, and of a test."""

MODULES = ("live", "local", "remote", "replica", "rspql", "spark", "standing", "streams", "testing")
"""Where public names are, beside ``topwater`` itself."""

every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


@every_page
def test_commands_exist(page: Path) -> None:
    wrong = [
        f"{name_of(page)}:{line}: {text}: {problem}"
        for line, text in in_code_font(page)
        if re.match(r"(topwater|make) [\w-]", text)
        if (problem := problem_of_names(re.sub(r"[\[\]]", " ", text).split()))
    ]
    assert not wrong


@every_page
def test_settings_exist(page: Path) -> None:
    """Whatever is written as ``name=value`` in code font is a parameter of something public."""
    if page.name == "CHANGELOG.md":  # it also names what is no more
        return
    named = re.compile(r"(?:^|[(, ])([a-z_]+)=(?!=)(?=[^ ]|$)")
    wrong = [
        f"{name_of(page)}:{line}: {text}"
        for line, text in in_code_font(page)
        if not text.startswith(("-", "spark.", "topwater ", "make ", "pip "))
        for name in named.findall(text)
        if name not in parameters() | OTHERS
    ]
    assert not wrong


@cache
def parameters() -> set[str]:
    """The names of all parameters that the public API has."""
    modules = [topwater, *(import_module(f"topwater.{name}") for name in MODULES)]
    found = set(SETTINGS)
    for module in modules:
        for name in getattr(module, "__all__", dir(module)):
            found |= _parameters_of(getattr(module, name))
    for kind in _sources():
        found |= _parameters_of(kind)
    return found


def _parameters_of(thing: Any) -> set[str]:
    if inspect.isfunction(thing):
        return set(inspect.signature(thing).parameters)
    if not inspect.isclass(thing):
        return set()
    methods = inspect.getmembers(thing, inspect.isfunction)
    return {each for _, method in methods for each in inspect.signature(method).parameters}


def _sources() -> list[type]:
    from topwater.remote.http_source import HttpSource
    from topwater.remote.sparql_source import SparqlSource
    from topwater.remote.sql_source import SqlSource

    return [HttpSource, SparqlSource, SqlSource]


def test_the_failures_of_sources_are_complete() -> None:
    assert first_column(DOCS / "sources.md", "Failures") == [*REASONS]


def test_the_settings_of_sources_are_those_that_all_have() -> None:
    named = set(first_column(DOCS / "sources.md", "Settings that all of them have"))
    for kind in _sources():
        assert named <= set(SETTINGS) | _parameters_of(kind), kind.__name__
    assert set(SETTINGS) <= named


def test_the_tables_of_jobs_are_complete() -> None:
    from topwater.jobs import rspql_query, table_query
    from topwater.jobs.run_settings import SparkSettings
    from topwater.jobs.sinks import KINDS

    page = DOCS / "jobs.md"
    assert set(first_column(page, "Tables")) == {*table_query.TABLES, *rspql_query.TABLES}
    assert first_column(page, "Sinks") == list(KINDS)
    assert first_column(page, "How it runs") == [e.name for e in dataclasses.fields(SparkSettings)]
    text = page.read_text(encoding="utf-8")
    assert all(f"`{each.name}`" in text for each in dataclasses.fields(topwater.TopKQuery))


def test_the_exit_codes_are_those_that_commands_have() -> None:
    from topwater.cli import terminal

    codes = (terminal.FAILED, terminal.MISUSED, terminal.LACKING)
    stopped = (terminal.STOPPED, terminal.TERMINATED)
    told = first_column(DOCS / "commands.md", "Commands")
    assert [code for code in told if code.isdigit()] == [str(c) for c in (0, *codes, *stopped)]


@pytest.mark.spark
def test_the_columns_on_spark_are_complete(spark: SparkSession) -> None:
    from topwater.spark import topk

    query = topwater.TopKQuery(
        key="lot",
        time="at",
        window=topwater.tumbling(10),
        take={"bids": "count"},
        score="bids * price",
        k=1,
        refresh={"remote": "price", "budget": 1},
        group_by="town",
    )
    events = spark.createDataFrame([], "lot string, at timestamp, town string")
    page, source = DOCS / "spark.md", topwater.remote.memory({})
    items = topk(events, query, source, late_rows=True)
    assert first_column(page, "What comes out") == items.columns
    windows = topk(events, query, source, give="windows")
    assert first_column(page, "What is said of a window") == windows.columns
    deltas = topk(events, query, source, give="deltas")
    assert {*first_column(page, "What changed")} == {*deltas.columns} - {*items.columns}


def test_the_metrics_on_spark_exist() -> None:
    from topwater.spark import Progress

    known = {field.name for field in dataclasses.fields(Progress)}
    named = set(first_column(DOCS / "spark.md", "Metrics"))
    assert named <= known


def test_extras_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.compile(r"topwater\[([\w,]+)\]")
    for page in PAGES:
        for extras in named.findall(page.read_text(encoding="utf-8")):
            assert set(extras.split(",")) <= set(project["optional-dependencies"]), name_of(page)
