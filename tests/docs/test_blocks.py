"""Every block of code in the README and the documentation runs, or is checked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.docs_blocks import Reader
from tests.support.docs_pages import PAGES, ROOT, Block, blocks, name_of

GROUP = "second_session"  # minutes, as long as all other tests of the warm session take


def needs_spark(page: Path) -> bool:
    return any("session(" in block.text for block in blocks(page) if block.language == "python")


def marks(page: Path) -> list[pytest.MarkDecorator]:
    """Examples start a Spark of their own, which takes long."""
    soak = [pytest.mark.soak] if page.is_relative_to(ROOT / "examples") else []
    return soak + ([pytest.mark.spark] if needs_spark(page) else [])


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=marks(page), id=name_of(page)) for page in PAGES if blocks(page)],
)
def test_the_blocks_run(
    page: Path, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if needs_spark(page):
        request.getfixturevalue("spark")  # session() then gives the one that the tests share
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    reader = Reader(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", reader.main)  # so that its classes can be pickled
    try:
        for block in blocks(page):
            reader.read(block)
    finally:
        reader.close()


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("", "looks like code"),
        ("ruby", "puts 1"),
        ("python", ">>> 1 + 1\n3\n"),
        ("python", "no_such_name\n"),
        ("sparql", "SELECT ?x"),
        ("toml", "= 1"),
        ("sh", "topwater bench core --no-such-option"),
        ("sh", "make coffee"),
        ("sh", "curl somewhere"),
        ("console", "$ topwater --version\nwrong\n"),
    ],
)
def test_a_wrong_block_is_seen(tmp_path: Path, language: str, text: str) -> None:
    with pytest.raises(BaseException):  # noqa: B017, PT011
        Reader(tmp_path).read(Block("page.md", 1, language, text))
