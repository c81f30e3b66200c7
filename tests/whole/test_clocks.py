"""The core reads no clock: time is passed in by the hosts, or moved by a test."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import topwater

ROOT = Path(topwater.__file__).parent
CORE = ("monitor", "replica", "scoring", "candidates")
MODULES = sorted(path for name in CORE for path in (ROOT / name).rglob("*.py"))
READERS = {"now", "utcnow", "today"}
"""What types of ``datetime`` read the clock with; all else they do is arithmetic."""


def clocks_in(text: str) -> list[str]:
    """Where a module may read the time: by ``time``, by an import in a call, by a moment's type."""
    found: list[str] = []
    nodes = list(ast.walk(ast.parse(text)))
    moments = {"datetime", "date", "Timestamp"} | {
        each.asname
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module in ("datetime", "pandas")
        for each in node.names
        if each.asname
    }
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [each.name for each in node.names if each.name.split(".")[0] == "time"]
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            found += [f"time.{each.name}" for each in node.names]
        elif _reads(node, moments):
            found.append(ast.unparse(node))
    return found


def _reads(node: ast.AST, moments: set[str]) -> bool:
    if isinstance(node, ast.Attribute) and node.attr in READERS:
        return ast.unparse(node.value).split(".")[-1] in moments
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "__import__"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_of_the_core_reads_a_clock(path: Path) -> None:
    assert clocks_in(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "import time",
        "from time import monotonic as now",
        "def f():\n    import time as t\n",
        "from datetime import datetime\nstart = datetime.now()",
        "import datetime\nread = datetime.date.today",
        "from datetime import datetime as dt\ndt.now()",
        "pd.Timestamp.utcnow()",
    ],
)
def test_a_clock_would_be_found(text: str) -> None:
    assert clocks_in(text)


def test_all_of_the_core_is_looked_at() -> None:
    assert len(MODULES) > 50
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(CORE)
