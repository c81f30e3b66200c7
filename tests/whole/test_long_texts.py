"""Long texts from outside: whatever reads one takes a time that grows with its length.

What regular expressions do by themselves is in ``test_regular_expressions.py``; here are those who
use them, in loops or one after the other, and those who read without.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.pattern_growth import growth
from topwater.cli.terminal import cause
from topwater.errors import TopwaterError
from topwater.jobs.job_file import Written, overridden
from topwater.jobs.job_text import toml_tables, yaml_tables
from topwater.remote.graph_pattern import checked_pattern
from topwater.remote.json_path import Path as JsonPath
from topwater.remote.json_values import Reader
from topwater.remote.key_values import number
from topwater.remote.rdf_terms import iri, literal
from topwater.remote.replies import retry_after
from topwater.remote.service import Service
from topwater.remote.statements import Lookup
from topwater.rspql.parser.spans import duration
from topwater.rspql.parser.tokens import Document
from topwater.rspql.rdf.event_format import _depth
from topwater.scoring.aggregates import Aggregate
from topwater.scoring.formula_parser import Parser
from topwater.show.console import plain
from topwater.streams.network_settings import topic_filters
from topwater.streams.schema import columns
from topwater.validation import address_of, choice_of, millis, shown

FILE = Path("job")
READERS: dict[str, Callable[[str], Any]] = {
    "a number of a service": number,
    "a reply": lambda text: Reader.of("a", None, many=False).read(text.encode(), {"k"}),
    "a path": JsonPath.parse,
    "an IRI": iri,
    "a literal": literal,
    "an address": lambda text: Service.of(f"http://{text}"),
    "the address of a server": lambda text: address_of(text, {"tcp": 0}),
    "a graph pattern": lambda text: checked_pattern(text, "a", "b"),
    "a statement": lambda text: Lookup(query=f"select a, {text} where id in :keys"),
    "a table": lambda text: Lookup(table=text, key="a", value="b"),
    "a duration": millis,
    "a duration in RSP-QL": duration,
    "the words of a query": Document,
    "a document": _depth,
    "an aggregate": lambda text: Aggregate.parse(text, field="take"),
    "a formula": Parser,
    "a schema": columns,
    "topics": lambda text: topic_filters([text]),
    "a choice": lambda text: choice_of(text, ("a" * 2_000, "b"), "f"),
    "an error of Spark": lambda text: cause(RuntimeError(f"[A_B] {text}")),
    "words for a terminal": plain,
    "a value": shown,
    "a header": lambda text: retry_after(text, datetime.now(UTC)),
    "TOML": lambda text: toml_tables(FILE, text),
    "a value in TOML": lambda text: toml_tables(FILE, f"a = {text}"),
    "YAML": lambda text: yaml_tables(FILE, text),
    "a value in YAML": lambda text: yaml_tables(FILE, f"a: {text}"),
    "a setting": lambda text: overridden(Written(FILE, {}), [f"{text}=1"]),
    "the value of a setting": lambda text: overridden(Written(FILE, {}), [f"a={text}"]),
}
WORDS = [
    *(" ", "a", "1", ".", "[", "{", "(", '"', "'", "`", "\\", "<", "/*", '\\"', "a.", "a ", "1."),
    *("\n", "a=1\n", "a: ", "- ", ", ", "a int,", "&a ", "%", "#", "é", "\0", "a\n", "[a]\n", "?"),
]


@pytest.mark.parametrize("name", READERS)
def test_a_long_text_takes_a_time_that_grows_with_its_length(name: str) -> None:
    assert not _slow(READERS[name], [("", word, "") for word in WORDS])


@pytest.mark.soak
@pytest.mark.parametrize("name", READERS)
def test_many_long_texts_take_a_time_that_grows_with_their_length(name: str) -> None:
    pairs = ["".join(pair) for pair in itertools.product(WORDS, WORDS)]
    assert not _slow(READERS[name], itertools.product(("", "a", '"'), pairs, ("", "!")))


def _slow(read: Callable[[str], Any], made: Any) -> list[str]:
    def run(text: str) -> None:
        with contextlib.suppress(TopwaterError, ValueError, RecursionError):
            read(text)

    found = []
    for start, word, end in made:
        wrong = growth(run, lambda size: start + word * (size // len(word)) + end)  # noqa: B023
        if wrong:
            found.append(f"{word!r}: {wrong}")
    return found
