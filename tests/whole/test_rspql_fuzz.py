"""Mutated queries: each is read or refused by a QueryError with a place, soon, and nothing else."""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import pytest

from tests.support import corpus_files
from tests.support.timing import effort
from topwater.errors import QueryError
from topwater.rspql import explain, parse
from topwater.rspql.parser.tokens import Document

TEXTS: list[str] = [path.read_text(encoding="utf-8") for path in corpus_files.QUERIES]
ODD: list[str] = [
    *"{}()[]<>\"'#?$:;,.+-*/|!&=^@\\_\t\n\0\x7f",
    "é",
    "\u2028",
    "\U0001f600",
    "\\u007B",
]
WORDS = [
    *("SELECT", "CONSTRUCT", "WHERE", "FROM", "NAMED", "WINDOW", "ON", "STREAM", "RANGE", "STEP"),
    *("SERVICE", "OPTIONAL", "UNION", "GRAPH", "FILTER", "BIND", "GROUP", "BY", "HAVING", "ORDER"),
    *("LIMIT", "OFFSET", "WITH", "BUDGET", "FETCHES", "DEADLINE", "POLICY", "REGISTER", "AS", "a"),
    *("VALUES", "MINUS", "EXISTS", "NOT", "IN", "COUNT", "SUM", "DISTINCT", "*", "DESC", "true"),
    *("(", ")", "{", "}", "[", "]", "||", "&&", "1", "-1", "0", "1e400", "99999999999999999999"),
    *('"x"', '"1"^^xsd:integer', '"x"@en', "?user", "?score", "?nobody", "$v", "_:b", "[]", "()"),
    *("<urn:topwater:norm>", "xsd:double", "COALESCE", "IF", "BOUND", "ABS", "UNDEF", "UNLIMITED"),
    *("SAMPLE", "SERVICE :a { ?user :x ?x }", "SERVICE :b { ?x :y ?y ; :z ?z }", "?z"),
    *(
        "LANG(?x)",
        "DATATYPE(?x)",
        "LANGMATCHES(LANG(?x), 'en')",
        "IF(?x > 3, ?x, 0)",
        "xsd:integer",
    ),
    *("ROUND(?x)", "CEIL(?score)", "FLOOR(1)", "IF(COUNT(*) > 1 || ?x IN (1, 2), ?x, 1 / 0)"),
    *("FROM :rooms", "FROM NAMED :rooms", "GRAPH :rooms { ?x :near ?user }", "?user :near ?x ."),
    *("RAND()", "NOW", "STREAM", "[NOW - 5 S]", "[RANGE 5s]", "?stream"),
    *("PT9M", "P1M", "PT", "10s", "ELEMENTS", "TRIPLES", "RSTREAM", "ISTREAM", "SILENT", "BASE"),
]
PREFIXED = "http://example.org/"
SECOND = 1.0


def mutated(chance: random.Random) -> str:
    """A query of the corpus after one to four mutations of any kind."""
    text = chance.choice(TEXTS)
    for _ in range(chance.choice([1, 1, 1, 2, 3, 4])):
        mutate: Callable[[str, random.Random], str]
        mutate = chance.choice([_bytes, _tokens, _tokens, _splice])
        text = mutate(text, chance)
    return text


def _bytes(text: str, chance: random.Random) -> str:
    at = chance.randint(0, len(text))
    width = chance.choice([0, 1, 1, 2, 8])
    odd = str(chance.choice(ODD))
    put = chance.choice(["", odd, odd * 20, text[at : at + width] * 2])
    return text[:at] + put + text[at + width :]


def _tokens(text: str, chance: random.Random) -> str:
    try:
        tokens = Document(text).tokens[:-1]
    except QueryError:
        return _bytes(text, chance)
    if not tokens:
        return chance.choice(WORDS)
    one, other = chance.choice(tokens), chance.choice(tokens)
    put = chance.choice(["", chance.choice(WORDS), other.text, f"{one.text} {other.text}"])
    return f"{text[: one.start]} {put} {text[one.end :]}"


def _splice(text: str, chance: random.Random) -> str:
    """The head of one query and the tail of another, each cut between lines or anywhere."""
    other = chance.choice(TEXTS)
    if chance.random() < 0.5:
        head, tail = text.splitlines(), other.splitlines()
        cut = chance.randint(0, min(len(head), len(tail)))
        return "\n".join(head[:cut] + tail[cut:])
    return text[: chance.randint(0, len(text))] + other[chance.randint(0, len(other)) :]


def tried(seed: int, count: int) -> tuple[Counter[str], float, list[str]]:
    """What became of so many mutated queries; the longest time; and what went wrong."""
    chance = random.Random(seed)
    outcome: Counter[str] = Counter()
    longest, wrong = 0.0, []
    for _ in range(count):
        text = mutated(chance)
        began = time.thread_time()
        told, fault = _outcome(text)
        spent = time.thread_time() - began
        if spent > SECOND:
            spent = effort(partial(_outcome, text), SECOND)
        outcome[told] += 1
        longest = max(longest, spent)
        if fault or spent > SECOND:
            wrong.append(f"{text!r}: {fault or f'{spent:.2f} s'}")
    return outcome, longest, wrong


def _outcome(text: str) -> tuple[str, str]:
    """Whether it was read or refused, and what was wrong with that."""
    try:
        explain(parse(text, files=[f"{PREFIXED}rooms"] if len(text) % 2 else ()))
    except QueryError as error:
        placed = str(error).startswith("line ") and error.fix
        return "refused", "" if placed else f"no place: {error}"
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    return "read", ""


def test_mutated_queries_are_read_or_refused() -> None:
    outcome, _, wrong = tried(seed=0, count=2_000)
    assert not wrong, "\n".join(wrong[:3])
    assert outcome["refused"] > 1_000
    assert outcome["read"] > 50


@pytest.mark.soak
@pytest.mark.timeout(7_200)
def test_a_hundred_thousand_mutated_queries_are_read_or_refused() -> None:
    with ProcessPoolExecutor(os.cpu_count()) as workers:
        found = list(workers.map(tried, range(1, 201), [500] * 200))
    outcome = sum((each for each, _, _ in found), Counter[str]())
    wrong = [each for _, _, part in found for each in part]
    print(f"{outcome}, the longest in {max(longest for _, longest, _ in found):.2f} s")
    assert not wrong, "\n".join(wrong[:3])
    assert outcome.total() == 100_000


def _nested() -> Iterator[str]:
    """Texts that make naive parsers slow, or run out of stack."""
    head = "PREFIX : <u:> SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE 6s] WHERE "
    tail = " ORDER BY DESC(?v) LIMIT 3"
    for n in (5, 12, 13, 100, 3_000):
        yield f"{head}{'{' * n} WINDOW :w {{ ?s :v ?v }} {'}' * n}{tail}"
        yield f"{head}{{ WINDOW :w {{ ?s :v ?v FILTER({'(' * n}?v{')' * n} > 1) }} }}{tail}"
        yield f"{head}{{ WINDOW :w {{ ?s :v ?v FILTER({'!' * n}(?v > 1)) }} }}{tail}"
        yield f"{head}{{ WINDOW :w {{ ?s :v {'[ :p ' * n} ?v {']' * n} }} }}{tail}"
        yield f"{head}{{ WINDOW :w {{ ?s {'^' * n}:v ?v }} }}{tail}"
        yield f"{head}{{ WINDOW :w {{ ?s :v{'/:v' * n} ?v }} }}{tail}"
        yield f"{head}{{ WINDOW :w {{ ?s :v ?v }} {'OPTIONAL { ' * n}{'}' * n} }}{tail}"
        union = "{ WINDOW :w { ?s :v ?v } } UNION " * n
        yield f"{head}{{ {union} {{ WINDOW :w {{ ?s :v ?v }} }} }}{tail}"
        yield f"{head}{{ WINDOW :w {{ ?s :v ?v }} }} ORDER BY DESC({'-' * n}?v) LIMIT 3"
        yield f"{head}{{ WINDOW :w {{ ?s :v ?v }} }} ORDER BY DESC({'ABS(' * n}?v{')' * n}) LIMIT 3"
        yield f"{head}{{ WINDOW :w {{ ?s :v ?v }} }} ORDER BY DESC(?v{' * ?v' * n}) LIMIT 3"
        yield f"{'{ SELECT * ' * n}"
        yield '"""' * n
        yield "a." * n
        yield "<" * n


@pytest.mark.parametrize("text", list(_nested()), ids=range(len(list(_nested()))))
def test_nesting_ends_soon(text: str) -> None:
    def read() -> None:
        with contextlib.suppress(QueryError):
            explain(parse(text))

    assert effort(read, SECOND) < SECOND
