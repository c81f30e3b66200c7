"""Which tests go to one worker: those that share the warm Spark session, and those of one file."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[2]
WARM = "spark"
_CHOSEN = re.compile(r'^GROUP = "(\w+)"', re.MULTILINE)
_TAKES_SESSION = re.compile(
    r"\b(?:warm_)?spark: SparkSession\b|(?:usefixtures|getfixturevalue)\(\"spark\"|\bran: Ran\b"
)


@functools.cache
def group(file: str) -> str:
    """A name that all files of a group have: chosen in the file, the warm session's, or its own."""
    path = ROOT / file
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if chosen := _CHOSEN.search(text):
        return chosen[1]
    return WARM if file.startswith("tests/") and _TAKES_SESSION.search(text) else file


def longest_first(item: pytest.Item) -> int:
    """What takes minutes begins at once, so that nobody waits for it in the end."""
    chosen = group(item.nodeid.split("::")[0])
    if chosen == WARM:
        return 1
    if not chosen.endswith(".py"):
        return 0
    return 2 if item.get_closest_marker("spark") else 3


class ByGroup(LoadScopeScheduling):  # type: ignore[misc]
    """A worker gets a whole group, in the order of the collection."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid.split("::")[0])
