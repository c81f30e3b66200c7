"""What differs from one database to another: how errors are named, calls bounded and stopped."""

from __future__ import annotations

import socket
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

from topwater.remote.databases import Database, Postgres, Sqlite, database


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("sqlite:///users.db", Sqlite),
        ("postgresql+psycopg://db.example/shop", Postgres),
        ("mysql://db.example/shop", Database),
    ],
)
def test_a_database_is_known_by_its_url(url: str, kind: type[Database]) -> None:
    assert type(database(sa.make_url(url))) is kind


def wrapped(kind: type[exc.DBAPIError], text: str, lost: bool = False) -> exc.DBAPIError:
    """An error as SQLAlchemy wraps the driver's."""
    return kind("select 1", None, Exception(text), connection_invalidated=lost)


@pytest.mark.parametrize(
    ("error", "connecting", "problem"),
    [
        (exc.TimeoutError(), False, "timeout"),
        (TimeoutError(), True, "timeout"),
        (OSError(), True, "refused"),
        (OSError(), False, "dropped"),
        (wrapped(exc.OperationalError, "x"), True, "refused"),
        (wrapped(exc.OperationalError, "x"), False, "server"),
        (wrapped(exc.OperationalError, "x", lost=True), False, "dropped"),
        (wrapped(exc.OperationalError, "connection timed out"), True, "timeout"),
        (wrapped(exc.OperationalError, 'role "ann" does not exist'), True, "client"),
        (wrapped(exc.OperationalError, 'host "timeout.example": refused'), True, "refused"),
        (wrapped(exc.OperationalError, "SSL error: certificate has expired"), True, "tls"),
        (wrapped(exc.OperationalError, "sorry, too many clients already"), True, "refused"),
        (wrapped(exc.OperationalError, "the server closed it unexpectedly"), True, "dropped"),
        (wrapped(exc.ProgrammingError, "no such column"), False, "client"),
        (wrapped(exc.ProgrammingError, "x", lost=True), False, "dropped"),
        (exc.ArgumentError("x"), False, "client"),
        (ZeroDivisionError(), False, "broken"),
    ],
)
def test_an_error_of_any_database_has_a_name(
    error: Exception, connecting: bool, problem: str
) -> None:
    assert Database().problem(error, connecting) == problem


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("SQLITE_BUSY", "timeout"),
        ("SQLITE_BUSY_SNAPSHOT", "timeout"),
        ("SQLITE_INTERRUPT", "timeout"),
        ("SQLITE_CANTOPEN_ISDIR", "refused"),
        ("SQLITE_NOTADB", "garbled"),
        ("SQLITE_READONLY_DBMOVED", "client"),
        ("SQLITE_IOERR_READ", "server"),
    ],
)
def test_errors_of_sqlite_go_by_their_own_name(name: str, problem: str) -> None:
    error = sqlite3.OperationalError("x")
    error.sqlite_errorname = name
    assert Sqlite().problem(error, connecting=False) == problem


def test_an_error_of_sqlite_without_a_name_is_one_of_any_database() -> None:
    assert Sqlite().problem(OSError(), connecting=True) == "refused"


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ("57014", "timeout"),
        ("55P03", "timeout"),
        ("57P01", "dropped"),
        ("57P03", "refused"),
        ("53300", "refused"),
        ("53100", "server"),
        ("08006", "dropped"),
        ("42P01", "client"),
        ("25006", "client"),
        ("XX000", "server"),
    ],
)
def test_errors_of_postgresql_go_by_their_state(state: str, problem: str) -> None:
    for name in ("sqlstate", "pgcode"):
        error = Exception("x")
        setattr(error, name, state)
        assert Postgres().problem(error, connecting=False) == problem


@pytest.mark.parametrize(
    ("number", "kind"),
    [(23, "whole"), (20, "whole"), (25, "text"), (1043, "text"), (1700, "decimal"),
     (2950, "uuid"), (869, "other"), (1042, "other")],
)  # fmt: skip
def test_keys_are_bound_by_the_type_of_their_column(number: int, kind: str) -> None:
    assert Postgres().kind(("id", number)) == kind
    assert Sqlite().kind(("id", number)) == Database().kind(("id", number)) == "given"


def test_a_file_is_opened_for_reading_only(tmp_path: Path) -> None:
    named: dict[str, Any] = {}
    args: list[Any] = [str(tmp_path / "us ers#%.db")]
    Sqlite().connecting(args, named, 2.5)
    assert args == [f"file:{tmp_path}/us%20ers%23%25.db?mode=ro"]
    assert named == {"timeout": 2.5, "uri": True}


@pytest.mark.parametrize(
    ("args", "named"),
    [([":memory:"], {}), ([""], {}), ([], {}), (["file:x?mode=memory"], {"uri": True})],
)
def test_a_database_in_memory_is_opened_as_it_is(args: list[Any], named: dict[str, Any]) -> None:
    given, settings = list(args), dict(named)
    Sqlite().connecting(args, named, 2.5)
    assert (args, named) == (given, {**settings, "timeout": 2.5})


def test_sqlite_writes_nothing_and_waits_for_a_lock_no_longer_than_it_may() -> None:
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        raw = connection.connection.driver_connection
        Sqlite().connected(raw)
        with pytest.raises(exc.OperationalError, match="readonly"):
            connection.exec_driver_sql("create table t (a)")
        Sqlite().begin(connection, 0.25)
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 250
        Sqlite().begin(connection, 0.0)
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 1
    engine.dispose()


def test_a_closed_connection_of_sqlite_can_be_stopped() -> None:
    with closing(sqlite3.connect(":memory:")) as raw:
        Sqlite().stop(raw)
    Sqlite().stop(raw)


class Spoken:
    """A connection that remembers what was said on it."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def exec_driver_sql(self, line: str, execution_options: Any) -> None:
        assert execution_options == {"no_parameters": True}
        self.lines.append(line)


@pytest.mark.parametrize(
    ("driver", "begun"),
    [
        ("psycopg", ["BEGIN TRANSACTION READ ONLY; SET LOCAL statement_timeout = 1900"]),
        ("pg8000", ["BEGIN TRANSACTION READ ONLY", "SET LOCAL statement_timeout = 1900"]),
    ],
)
def test_a_request_to_postgresql_is_a_transaction_that_reads(driver: str, begun: list[str]) -> None:
    connection: Any = Spoken()
    Postgres(driver).begin(connection, 2.0)
    Postgres(driver).end(connection)
    assert connection.lines == [*begun, "ROLLBACK"]


def test_how_postgresql_is_connected_to() -> None:
    named: dict[str, Any] = {}
    Postgres().connecting([], named, 0.2)
    assert named == {
        "connect_timeout": 2, "application_name": "topwater", "prepare_threshold": None,
    }  # fmt: skip
    other: dict[str, Any] = {"application_name": "shop"}
    Postgres("psycopg2").connecting([], other, 7.4)
    assert other == {"connect_timeout": 8, "application_name": "shop"}


def test_the_line_to_postgresql_is_cut() -> None:
    here, there = socket.socketpair()
    with here, there:
        Postgres().stop(SimpleNamespace(fileno=here.fileno))
        assert there.recv(1) == b"", "the other side sees the end"
    Postgres().stop(SimpleNamespace(fileno=here.fileno))
