"""Queries as benchmarks and dialects have them: which are planned, and why others are not."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from topwater.errors import QueryError
from topwater.rspql import explain, parse

FOLDER = Path(__file__).parents[1] / "support" / "shapes"
HEAD = "PREFIX : <http://example.org/>\nPREFIX f: <http://example.org/functions#>\n"
_BEGIN = re.compile(r"^# (\w+): (.*)\n", re.MULTILINE)


def shapes() -> list[tuple[str, str, str]]:
    """The name of each query, what becomes of it, and its text."""
    found = []
    for path in sorted(FOLDER.glob("*.rq")):
        _, *parts = _BEGIN.split(path.read_text(encoding="utf-8"))
        triples = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
        found += [(f"{path.stem}_{name}", told, text) for name, told, text in triples]
    return found


SHAPES = shapes()


@pytest.mark.parametrize(
    ("told", "text"), [each[1:] for each in SHAPES], ids=[n for n, *_ in SHAPES]
)
def test_each_shape_is_planned_or_refused_for_its_reason(told: str, text: str) -> None:
    assert outcome(HEAD + text) == told


def outcome(text: str) -> str:
    """Whether a query is planned, or for what reason it is refused, at some place."""
    try:
        explain(parse(text))
    except QueryError as error:
        place, _, reason = error.problem.splitlines()[0].partition(": ")
        placed = place.startswith("line ") and error.fix
        return f"refused: {reason}" if placed else f"no place: {error}"
    return "planned"


def test_how_many_of_them_are_planned() -> None:
    counts = Counter(told.partition(":")[0] for _, told, _ in SHAPES)
    assert counts == {"planned": 54, "refused": 17}
