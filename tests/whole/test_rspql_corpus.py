"""Every query of the corpus is read as it says next to it, or refused as it says there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import corpus_files
from topwater.query import TopKQuery
from topwater.rspql import explain, parse

READ = [path for path in corpus_files.QUERIES if not path.stem.startswith("error_")]
REFUSED = [path for path in corpus_files.QUERIES if path.stem.startswith("error_")]


def test_it_is_large_enough() -> None:
    assert len(READ) >= 45
    assert len(REFUSED) >= 45
    families = {path.stem.partition("_")[0] for path in READ}
    assert families >= {"acqua", "acquatop", "citybench", "lsbench", "csparql", "cqels", "rspql"}


@pytest.mark.parametrize("path", corpus_files.QUERIES, ids=lambda path: path.stem)
def test_it_is_read_as_expected(path: Path) -> None:
    found = corpus_files.read(path.read_text(encoding="utf-8"))
    assert found == path.with_suffix(".txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", READ, ids=lambda path: path.stem)
def test_what_is_read_can_be_run_and_explained(path: Path) -> None:
    plan = parse(path.read_text(encoding="utf-8"))
    query = plan.query()
    assert TopKQuery.from_json(query.to_json()) == query
    assert explain(plan).startswith((":", "<", "the ", "e", "m"))


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.stem)
def test_what_is_refused_has_a_place_and_a_remedy(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    first, shown, caret, *rest = corpus_files.read(text).splitlines()
    place = re.match(r"refused: line (\d+), column (\d+): .", first)
    assert place is not None
    line = text.splitlines()[int(place[1]) - 1]
    column = int(place[2])
    assert shown.strip() in line or line.strip() in shown
    assert line[column - 1 : column] == shown[caret.index("^") : caret.index("^") + 1]
    assert rest[0].startswith("  fix: ")
    assert len(rest[0]) > 12


def test_each_bad_input_has_a_message_of_its_own() -> None:
    messages = [path.with_suffix(".txt").read_text().splitlines()[0] for path in REFUSED]
    bare = [re.sub(r"line \d+, column \d+", "", message) for message in messages]
    assert len(set(bare)) == len(bare)
