"""Every block of code in the README and the documentation runs, or is checked."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import postgres, redis_server
from tests.support.docs_blocks import Reader
from tests.support.docs_pages import PAGES, ROOT, Block, blocks, name_of

GROUP = "second_session"  # minutes, as long as all other tests of the warm session take

SERVERS: dict[str, Callable[[], str]] = {
    "SHOP_DATABASE": lambda: database(),
    "PLANT_DATABASE": lambda: database(),
    "FEATURE_STORE": lambda: redis_server.server().url,
}
"""What readers are told to set, to the address of a server that they start."""


def database() -> str:
    """A database of the tests' server, by the driver that readers have."""
    return postgres.server().url().replace("postgresql:", "postgresql+psycopg:", 1)


def needs_spark(page: Path) -> bool:
    return any("session(" in block.text for block in blocks(page) if block.language == "python")


def marks(page: Path) -> list[pytest.MarkDecorator]:
    """Some examples start a Spark of their own, which takes long."""
    files = [page, *page.parent.glob("*.py")] if page.is_relative_to(ROOT / "examples") else []
    texts = [file.read_text(encoding="utf-8") for file in files]
    heavy = any("topwater run" in text or "topwater.spark" in text for text in texts)
    heavy = heavy or any(page.parent.glob("*.ipynb"))
    soak = [pytest.mark.soak] if files and heavy else []
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
    text = page.read_text(encoding="utf-8")
    for name, address in SERVERS.items():
        if name in text:
            monkeypatch.setenv(name, address())
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
