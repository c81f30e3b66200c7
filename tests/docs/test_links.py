"""No dead ends: every link and anchor of every page leads somewhere, without the internet."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.docs_pages import PAGES, anchors, links, name_of

EXTERNAL = frozenset(
    {"https://spark.apache.org/docs/latest/api/python/tutorial/sql/python_data_source.html"}
)
"""Addresses that pages link to. No test asks for them, so they are few, and looked at by hand."""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    dead = [f"{name_of(page)}:{line}: {to}" for line, to in links(page) if not _leads(page, to)]
    assert not dead


def _leads(page: Path, to: str) -> bool:
    if re.match(r"[a-z]+:", to):
        return to in EXTERNAL
    path, _, anchor = to.partition("#")
    target = page.parent / path if path else page
    if not target.is_file():  # a folder is no page in the built documentation
        return False
    return not anchor or anchor in anchors(target)


def test_a_dead_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n[x](page.md#a-page) [y](page.md#b) [z](gone.md) [w](http://a.b)\n")
    assert [_leads(page, to) for _, to in links(page)] == [True, False, False, False]
