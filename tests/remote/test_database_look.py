"""What a check tells of a database's rows, and which names it suggests."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from topwater.errors import SourceError
from topwater.remote.look import Look, NoValue
from topwater.remote.sql_source import SqlSource

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def url(tmp_path: Path) -> str:
    with sqlite3.connect(tmp_path / "shop.db") as made:
        made.execute("create table users (id integer, followers integer, name text, seen real)")
        rows = [(1, 10, "ann", 0.5), (2, None, "bob", 1.5), (3, 30, "cy", 1.0), (3, 31, "cy", 1.0)]
        made.executemany("insert into users values (?, ?, ?, ?)", rows)
    made.close()
    return f"sqlite:///{tmp_path / 'shop.db'}"


def check(url: str, asked: Any, **settings: Any) -> Look | None:
    given = {"table": "users", "key": "id", "value": "followers"} | settings
    source = SqlSource(url, **{name: value for name, value in given.items() if value})
    try:
        return source.check(asked)
    finally:
        source.close()


def test_what_was_read_is_told(url: str) -> None:
    assert check(url, None) is None
    assert check(url, "1") == Look("1", 10.0, "(1, 10)", "followers")
    own = "select id, followers from users where id in :keys"
    source = SqlSource(url, query=own)
    assert source.check(1) == Look(1, 10.0, "(1, 10)", "the second column")
    source.close()


@pytest.mark.parametrize(
    ("key", "settings", "problem", "fix"),
    [
        (1, {"value": "folowers"}, "value: .*no such column", "did you mean followers?"),
        (1, {"key": "idd"}, "key: .*no such column", "did you mean id?"),
        (1, {"table": "user"}, "table: .*no such table", "did you mean users?"),
        (9, {}, "key: no usable value for the key 9: key not found", "is id the column"),
        (
            2,
            {},
            r"value: .* the key 2: no value \(null\) in \(2, None\)",
            "a column of numbers: seen",
        ),
        (1, {"value": "name"}, r"value: .*: not a number in \(1, 'ann'\)", "followers, seen"),
        (3, {}, r"two values for one key in \(3, 30\), \(3, 31\)", "max(followers)"),
        # SQLite takes a quoted name that is no column for a text.
        (1, {"value": "Folow ers"}, "not a number|no such column", "follow"),
    ],
)
def test_what_is_wrong_is_told(
    url: str, key: Any, settings: dict[str, str], problem: str, fix: str
) -> None:
    with pytest.raises(SourceError, match=problem) as caught:
        check(url, key, **settings)
    assert fix in caught.value.fix


def test_a_key_without_a_value_may_be_the_only_one(url: str) -> None:
    with pytest.raises(NoValue):
        check(url, 9)
