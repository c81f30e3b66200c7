"""The core reads no clock: time is passed in by the hosts, or moved by a test."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import topwater

ROOT = Path(topwater.__file__).parent
CORE = ("monitor", "replica", "scoring", "candidates")
MODULES = sorted(path for name in CORE for path in (ROOT / name).rglob("*.py"))
CLOCKS = {"time", "datetime"}


def clocks_in(text: str) -> list[str]:
    """What a module imports of the modules that know the time."""
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [each.name for each in node.names if each.name.split(".")[0] in CLOCKS]
        elif isinstance(node, ast.ImportFrom) and node.module in CLOCKS:
            found += [f"{node.module}.{each.name}" for each in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "__import__":
            found.append(ast.unparse(node))
    return [name for name in found if name != "datetime.timedelta"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_of_the_core_reads_a_clock(path: Path) -> None:
    assert clocks_in(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "text",
    ["import time", "from time import monotonic as now", "def f():\n    import time as t\n"],
)
def test_a_clock_would_be_found(text: str) -> None:
    assert clocks_in(text)


def test_all_of_the_core_is_looked_at() -> None:
    assert len(MODULES) > 50
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(CORE)
