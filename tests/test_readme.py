"""The examples of the README and of the documentation, run as they stand."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if ">>> " in page.read_text(encoding="utf-8")
]


def needs_spark(page: Path) -> bool:
    return ">>> spark = session()" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.spark] if needs_spark(page) else [], id=page.name)
        for page in PAGES
    ],
)
def test_the_examples_run(
    page: Path, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if needs_spark(page):
        request.getfixturevalue("spark")  # session() then gives the one that the tests share
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.attempted > 0
    assert result.failed == 0
