"""Regular expressions: the time that each takes grows with the text, and no faster.

Python holds its lock while it matches: an expression that takes the square of the text's length
stops the whole process, past every deadline.
"""

from __future__ import annotations

import re
import zlib

import pytest

from tests.support.pattern_growth import Use, growth, texts, uses

_HANGS = {
    "what numbers were read by": (r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", "fullmatch"),
    "headers": (r"\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?", "fullmatch"),
    "windows": (r"\s*(?:the last\s+)?(.+?)(?:\s*,?\s*every\s+(.+?))?\s*", "fullmatch"),
    "aggregates": (r"\s*([a-z]+)\s*(?:\(\s*(?:`([^`]+)`|([^\s()`]+))?\s*\))?\s*", "fullmatch"),
    "columns": (r"\s*(?:`((?:[^`]|``)+)`|([\w-]+))\s*:?\s+([A-Za-z_]+)(.*)", "fullmatch"),
    "strings": (r'"(?:[^"\\]|\\.)*"', "sub"),
    "comments": (r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/""", "sub"),
    "parts": (r"""\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))\s*(?:\.|$)""", "findall"),
    "packages": (r":: (\S+)#(\S+);(\S+): not found", "findall"),
    "nested repetition": (r"(?:a+)+b", "match"),
}
"""Expressions that did hang, or would."""


def slow(use: Use, most: int) -> str:
    """A text on which an expression takes too long."""
    made = texts(use.pattern, zlib.crc32(use.pattern.pattern.encode()), most)
    found = ((text(40), growth(use.run, text)) for text in made)
    return next((f"{text!r}: {wrong}" for text, wrong in found if wrong), "")


@pytest.mark.parametrize(("pattern", "how"), _HANGS.values(), ids=_HANGS)
def test_an_expression_that_hangs_is_found(pattern: str, how: str) -> None:
    assert slow(Use("here", re.compile(pattern, re.DOTALL), how), most=150)


def test_expressions_are_found_wherever_they_are() -> None:
    found = {(use.where.partition(":")[0], use.how) for use in uses()}
    assert len(uses()) > 60
    assert ("topwater.remote.key_values", "fullmatch") in found  # one with a name
    assert ("topwater.streams.spark_formats", "sub") in found  # the name is another module's
    assert ("topwater.live.folder", "fullmatch") in found  # given away as a method
    assert ("topwater.remote.databases", "search") in found  # one of a tuple
    assert ("topwater.scoring.formula_parser", "scan") in found  # again from where it ended


def test_no_expression_hangs() -> None:
    assert not {use.where: found for use in uses() if (found := slow(use, most=60))}


@pytest.mark.soak
def test_no_expression_hangs_on_any_of_many_texts() -> None:
    assert not {use.where: found for use in uses() if (found := slow(use, most=5_000))}
