"""Where a database is: URLs, drivers, and passwords that are named and not written."""

from __future__ import annotations

import pytest

from topwater.errors import QueryError
from topwater.remote.database_address import Unset, from_environment, read_url


@pytest.mark.parametrize(
    ("url", "password_env", "password", "variable"),
    [
        ("postgresql://ann:$DB_PASSWORD@db.example/shop", None, None, "DB_PASSWORD"),
        ("postgresql://ann:${DB_PASSWORD}@db.example/shop", None, None, "DB_PASSWORD"),
        ("postgresql://ann@db.example/shop", "PGPASSWORD", None, "PGPASSWORD"),
        ("postgresql://ann:pa$$word@db.example/shop", None, "pa$$word", None),
        ("postgresql://ann:x$DB_PASSWORD@db.example/shop", None, "x$DB_PASSWORD", None),
        ("sqlite:///users.db", None, None, None),
    ],
)
def test_the_password_or_where_it_is(
    url: str, password_env: str | None, password: str | None, variable: str | None
) -> None:
    read, named = read_url(url, password_env)
    assert (read.password, named) == (password, variable)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_postgresql_by_any_name_has_one_driver(scheme: str) -> None:
    url, _ = read_url(f"{scheme}://ann@db.example:5433/shop", None)
    assert url.render_as_string() == "postgresql+psycopg://ann@db.example:5433/shop"


@pytest.mark.parametrize(
    ("url", "password_env"),
    [
        ("postgresql://ann:$ONE@db.example/shop", "ANOTHER"),
        ("postgresql://ann:hidden@db.example/shop", "PGPASSWORD"),
        ("postgresql://ann@db.example/shop", "hidden word"),
        ("postgresql://ann@db.example/shop", ""),
    ],
)
def test_a_password_has_one_place_and_is_never_told(url: str, password_env: str) -> None:
    with pytest.raises(QueryError) as caught:
        read_url(url, password_env)
    assert caught.value.field == "password_env"
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mongodb://h/d", "no database is known as 'mongodb'"),
        ("users.db", "not the URL"),
        ("", "not the URL"),
        ("sqlite+aiosqlite:///a.db", "aiosqlite"),
        ("mysql+pymysql://u:hidden@h/d", "driver pymysql is not installed"),
        ("postgresql://u:hidden@h:port/d", "not the URL"),
    ],
)
def test_urls_that_are_none(url: str, says: str) -> None:
    with pytest.raises(QueryError, match=says) as caught:
        read_url(url, None)
    assert caught.value.field == "url"
    assert "hidden" not in str(caught.value)
    assert caught.value.__context__ is None


def test_an_asynchronous_driver_is_of_no_use(monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite

    monkeypatch.setattr(SQLiteDialect_aiosqlite, "import_dbapi", classmethod(lambda _: None))
    with pytest.raises(QueryError, match=r"sqlite\+aiosqlite is asynchronous") as caught:
        read_url("sqlite+aiosqlite:///a.db", None)
    assert caught.value.fix == "use another driver"


def test_a_variable_that_is_not_there_is_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPWATER_TEST_PASSWORD", "hidden")
    assert from_environment("TOPWATER_TEST_PASSWORD") == "hidden"
    monkeypatch.delenv("TOPWATER_TEST_PASSWORD")
    with pytest.raises(Unset, match=r"^TOPWATER_TEST_PASSWORD$"):
        from_environment("TOPWATER_TEST_PASSWORD")
