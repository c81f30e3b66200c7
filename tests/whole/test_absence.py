"""What importing the core does not load: Spark, a network client, the compiler."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

NEVER = {"pyspark", "py4j", "requests", "urllib3", "httpx", "aiohttp", "rdflib", "redis"}
CLI = {"typer", "click", "rich"}
QUERY = """
from topwater import TopKMonitor, TopKQuery, tumbling
plain = dict(key="a", time="t", window=tumbling(5), score="s", k=1)
batch = {"a": [1], "t": [1], "s": [1.0]}
"""


def loaded(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has after ``code``."""
    told = "import json, sys; print(json.dumps(sorted({n.split('.')[0] for n in sys.modules})))"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", f"{code}\n{told}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "module",
    ["topwater", "topwater.local", "topwater.testing"],
)
def test_importing_the_core(module: str) -> None:
    modules = loaded(f"import {module}")
    assert "topwater" in modules
    assert not modules & (NEVER | CLI | {"numba", "llvmlite", "sortedcontainers", "ssl"})


def test_describing_a_query_loads_no_compiler() -> None:
    assert "numba" not in loaded(QUERY + "TopKQuery.from_json(TopKQuery(**plain).to_json())")


@pytest.mark.parametrize("name", ["mintopk", "panes"])
def test_answering_loads_neither_spark_nor_a_client(name: str) -> None:
    code = f"""
monitor = TopKMonitor.build(TopKQuery(**plain, list={name!r}))
monitor.ingest(batch)
assert monitor.flush()[0].keys == [1]
"""
    assert not loaded(QUERY + code) & (NEVER | CLI)


def test_aggregates_need_a_compiler_from_the_first_event_on() -> None:
    build = """
monitor = TopKMonitor.build(TopKQuery(**{**plain, "take": {"n": "count"}, "score": "n"}))
assert monitor.flush() == []
"""
    assert not loaded(QUERY + build) & (NEVER | CLI | {"numba"})
    answer = """
monitor.ingest(batch)
assert monitor.flush()[0].scores == [1.0]
"""
    assert not loaded(QUERY + build + answer) & (NEVER | CLI)
