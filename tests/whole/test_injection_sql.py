"""Keys are data: found or not found, never run, and no key costs another one its value."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.postgres import Postgres, server
from topwater import remote
from topwater.remote.sql_source import SqlSource

EVIL = [
    "'; DROP TABLE users; --",
    '"; DROP TABLE users; --',
    "' OR '1'='1",
    "1) OR (1=1",
    "') UNION SELECT name, 1 FROM users --",
    "Robert'); DELETE FROM users;--",
    "\\'; DROP TABLE users; --",
    "$$; DROP TABLE users; $$",
    "{ann}",
    "{0.__class__}",
    "{ann,bob}",
    '{"ann"}',
    "%(keys)s",
    "%s %d %",
    ":keys",
    "?",
    "$1",
    "a\nb",
    "a\r\n;\tb",
    "--",
    "/*",
    "*/",
    "",
    " ",
    "null",
    "NULL",
    "true",
    "\u202edorD",
    "\u200b",
    "\ufeff",
    "\u0085",
    "\x01\x7f",
    "𝒜\U0010ffff",
    "\u00e9",
    "e\u0301",
    str(2**64),
    str(-(2**200)),
    "1e999",
    "NaN",
    "0x10",
    "%_",
]
NOWHERE = ["ann\0", "\0", "\ud800", "\udfffann", "a\ud83d"]
"""What PostgreSQL has in no text; and a half of a character, which no database has."""

LONG = "x'" * 500_000

Make = Callable[..., SqlSource]


def array(keys: list[Any]) -> Any:
    found = np.empty(len(keys), object)
    found[:] = keys
    return found


@pytest.fixture(scope="module")
def postgres() -> Postgres:
    return server()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """(its URL, what tells how many rows it has), filled with half of the evil names."""
    rows = [("ann", 1), ("bob", 2), *((key, 100 + at) for at, key in enumerate(EVIL[::2]))]
    made = "create table {} (name text, id integer, n integer)"
    if request.param == "sqlite":
        file = tmp_path_factory.mktemp("injection") / "users.db"
        with closing(sqlite3.connect(file)) as other:
            for table in ("users", "others"):
                other.execute(made.format(table))
            other.executemany("insert into users values (?, ?2, ?2)", rows)
            other.commit()

        def counted() -> Any:
            with closing(sqlite3.connect(file)) as other:
                return other.execute("select count(*), sum(n) from users").fetchone()

        return f"sqlite:///{file}", counted
    found = server()
    found.run("drop table if exists users cascade", made.format("users"))
    with closing(found.connect()) as connection, connection.cursor() as cursor:
        cursor.executemany(
            "insert into users values (%s, %s, %s)", [(*row, row[1]) for row in rows]
        )
    return found.url(), lambda: found.run("select count(*), sum(n) from users")[0]


@pytest.fixture(params=["table", "query"])
def source(request: pytest.FixtureRequest, database: Any) -> Iterator[SqlSource]:
    if request.param == "table":
        made = SqlSource(database[0], table="users", key="name", value="n")
    else:
        made = SqlSource(database[0], query="select name, n from users where name in :keys")
    yield made
    made.close()


def expected(key: str) -> float:
    if key in ("ann", "bob"):
        return 1.0 if key == "ann" else 2.0
    at = EVIL.index(key)
    return 100.0 + at // 2 if at % 2 == 0 else np.nan


def test_evil_names_are_found_or_not(source: SqlSource, database: Any) -> None:
    before = database[1]()
    got = source.fetch(array(["ann", *EVIL, "bob"]), 20.0)
    assert got.ok.all()
    np.testing.assert_array_equal(got.values, [expected(key) for key in ("ann", *EVIL, "bob")])
    for key in EVIL:
        (value,) = source.fetch(array([key]), 20.0).values
        np.testing.assert_equal(value, expected(key))
    assert database[1]() == before


def test_what_no_text_holds_is_not_found_and_costs_no_other_key(source: SqlSource) -> None:
    got = source.fetch(array([*NOWHERE, "ann", LONG, "bob"]), 20.0)
    assert got.ok.all()
    assert np.isnan(got.values[: len(NOWHERE)]).all()
    assert got.values[len(NOWHERE)] == 1.0
    assert np.isnan(got.values[-2])
    assert got.values[-1] == 2.0
    alone = source.fetch(array(NOWHERE[:1]), 20.0)
    assert alone.ok.all()
    assert np.isnan(alone.values).all()


def test_evil_names_among_whole_numbers(database: Any) -> None:
    before = database[1]()
    for how in (
        {"table": "users", "key": "id", "value": "n"},
        {"query": "select id, n from users where id in :keys"},
    ):
        source = SqlSource(database[0], **how)  # type: ignore[arg-type]
        keys = ["1", *EVIL, *NOWHERE, LONG, str(2**63), str(-(2**63) - 1), "1 ", "01", "+1", "2"]
        got = source.fetch(array(keys), 20.0)
        assert got.ok.all()
        assert (got.values[0], got.values[-1]) == (1.0, 2.0)
        assert np.isnan(got.values[1:-1]).all()
        source.close()
    assert database[1]() == before


def test_a_key_of_a_megabyte_is_found(database: Any, postgres: Postgres, tmp_path: Path) -> None:
    file = tmp_path / "long.db"
    with closing(sqlite3.connect(file)) as other:
        other.execute("create table long (name text, n)")
        other.execute("insert into long values (?, 7)", (LONG,))
        other.commit()
    postgres.run("drop table if exists long", "create table long (name text, n int)")
    with closing(postgres.connect()) as connection:
        connection.execute("insert into long values (%s, 7)", (LONG,))
    for url in (f"sqlite:///{file}", postgres.url()):
        source = SqlSource(url, table="long", key="name", value="n")
        got = source.fetch(array([LONG, LONG + "x"]), 20.0)
        assert got.values[0] == 7.0
        assert np.isnan(got.values[1])
        source.close()


def test_evil_names_through_the_whole_stack(database: Any) -> None:
    """In batches that run at the same time."""
    before = database[1]()
    source = remote.sql(database[0], table="users", key="name", value="n", per_request=3)
    keys = [*EVIL, *NOWHERE, "ann"]
    got = source.fetch(array(keys), 20.0)
    assert got.ok.all()
    np.testing.assert_array_equal(
        got.values, [*(expected(key) for key in EVIL), *(np.nan for _ in NOWHERE), 1.0]
    )
    assert database[1]() == before
    source.close()


NAMES = st.text(st.characters(exclude_categories=[]), max_size=12)


@pytest.fixture(scope="module")
def hypothetical(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, SqlSource]]:
    file = tmp_path_factory.mktemp("names") / "names.db"
    with closing(sqlite3.connect(file)) as other:
        other.execute("create table names (name text, n)")
        other.commit()
    source = SqlSource(f"sqlite:///{file}", table="names", key="name", value="n")
    yield file, source
    source.close()


@settings(max_examples=100, deadline=None)
@given(stored=st.sets(NAMES, max_size=8), asked=st.sets(NAMES, min_size=1, max_size=8))
def test_any_text_is_found_just_where_it_is(
    hypothetical: tuple[Path, SqlSource], stored: set[str], asked: set[str]
) -> None:
    file, source = hypothetical
    held = [name for name in sorted(stored) if _is_whole(name)]
    with closing(sqlite3.connect(file)) as other:
        other.execute("delete from names")
        other.executemany(
            "insert into names values (?, ?)", [(name, at) for at, name in enumerate(held)]
        )
        other.commit()
    keys = sorted(asked | set(held[:4]))
    got = source.fetch(array(keys), 20.0)
    assert got.ok.all()
    right = [held.index(key) if key in held else np.nan for key in keys]
    np.testing.assert_array_equal(got.values, right)


def _is_whole(text: str) -> bool:
    """Whether it can be stored at all."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
