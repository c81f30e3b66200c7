"""The pages that people read, and what stands in them: blocks, links, code font, tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
_MARKDOWN = MarkdownIt("commonmark").enable("table")
_LINE_OF_FILE = re.compile(r"^#\s+([\w./-]+\.\w+)\s*$")


def name_of(page: Path) -> str:
    """How tests and messages call a page."""
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code: in which page and line, in which language, and its text."""

    page: str
    line: int
    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The file that the block is, if its first line is a comment with a file's name."""
        first = self.text.split("\n", 1)[0]
        found = _LINE_OF_FILE.match(first)
        return found[1] if found else None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """All blocks of a page in order; those that are only indented have no language."""
    return [
        Block(name_of(page), _line(token), token.info.strip(), token.content)
        for token in tokens(page)
        if token.type in ("fence", "code_block")
    ]


def links(page: Path) -> list[tuple[int, str]]:
    """Where each link and picture leads, with its line."""
    found = []
    for token in _inline(page):
        for child in token.children or ():
            to = child.attrGet("href" if child.type == "link_open" else "src")
            if child.type in ("link_open", "image") and isinstance(to, str):
                found.append((_line(token), to))
    return found


def in_code_font(page: Path) -> list[tuple[int, str]]:
    """Every piece of text in code font, with the line of its paragraph."""
    return [
        (_line(token), child.content)
        for token in _inline(page)
        for child in token.children or ()
        if child.type == "code_inline"
    ]


def headings(page: Path) -> list[str]:
    """The headings as plain text."""
    found = tokens(page)
    return [
        "".join(child.content for child in found[number + 1].children or ())
        for number, token in enumerate(found)
        if token.type == "heading_open"
    ]


def anchors(page: Path) -> set[str]:
    """What can stand after ``#`` in a link to the page."""
    return {slug(heading) for heading in headings(page)}


def slug(heading: str) -> str:
    """A heading as the anchor that Sphinx and common forges give it.

    >>> slug("On Spark, against its own means")
    'on-spark-against-its-own-means'
    """
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def first_column(page: Path, section: str) -> list[str]:
    """What stands in code font in the first column of the tables of a section."""
    found, here, column = [], "", 0
    for before, token in _pairs(tokens(page)):
        if before.type == "heading_open":
            here = token.content
        elif token.type == "tr_open":
            column = 0
        elif token.type == "inline" and before.type == "td_open":
            column += 1
            if here == section and column == 1:
                found += [c.content for c in token.children or () if c.type == "code_inline"]
    return found


def tokens(page: Path) -> list[Token]:
    """The page as Markdown tokens."""
    return _MARKDOWN.parse(page.read_text(encoding="utf-8"))


def _pairs(found: list[Token]) -> Iterator[tuple[Token, Token]]:
    yield from pairwise(found)


def _inline(page: Path) -> list[Token]:
    return [token for token in tokens(page) if token.type == "inline"]


def _line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 0
