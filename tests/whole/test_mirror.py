"""The tests mirror the source: the test of a module is found by its path."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"


def modules() -> list[Path]:
    """All modules, but for those that only collect or start others."""
    found = sorted((ROOT / "src").rglob("*.py"))
    return [path for path in found if path.stem not in ("__init__", "__main__")]


def mirror(module: Path) -> Path:
    """Where the test of a module is."""
    package, *inside = module.relative_to(ROOT / "src").parent.parts
    room = TESTS.joinpath(*(["lab"] if package == "topwater_lab" else []), *inside)
    return room / f"test_{module.stem}.py"


def name_of(module: Path) -> str:
    return ".".join(module.relative_to(ROOT / "src").with_suffix("").parts)


def has_a_test(path: Path) -> bool:
    """Whether a file has at least one test."""
    if not path.is_file():
        return False
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign)
        and any(name.lower().startswith("test") for name in _names(node))
        for node in ast.parse(path.read_text()).body
    )


def _names(node: ast.AST) -> list[str]:
    """What a definition defines; state machines of hypothesis are assigned."""
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [str(getattr(node, "name", ""))]


def imports(path: Path) -> list[str]:
    """The modules that a file imports, at its head or inside a function."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found


@pytest.mark.parametrize("module", modules(), ids=name_of)
def test_each_module_has_a_test_of_its_own_path(module: Path) -> None:
    path = mirror(module)
    assert has_a_test(path), f"write {path.relative_to(ROOT)}"


def test_no_test_imports_another_test() -> None:
    """What tests share is in tests/support."""
    found = {
        str(path.relative_to(ROOT)): name
        for path in TESTS.rglob("*.py")
        for name in imports(path)
        if name.startswith("tests.") and any(p.startswith("test_") for p in name.split("."))
    }
    assert not found
