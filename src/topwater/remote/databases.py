"""What differs from one database to another: connecting, reading only, giving up, failing.

An unknown database is served as best we can: its transactions are always rolled back, and a
statement that does not end is left behind in its thread. SQLite and PostgreSQL are stopped.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sqlite3
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import exc

from topwater.problems import Problem
from topwater.remote.database_rows import KeyKind

_WHOLE_TYPES, _TEXT_TYPES, _NUMERIC, _UUID = {20, 21, 23, 26}, {19, 25, 1043}, 1700, 2950
"""Numbers of PostgreSQL's own types, as in its catalogue."""

_STATES: Mapping[str, Problem] = {
    "08": "dropped",
    "22": "client",
    "25": "client",  # a query that writes
    "28": "client",  # a wrong password
    "3D": "client",
    "3F": "client",
    "42": "client",
    "53300": "refused",  # too many connections
    "55P03": "timeout",  # a lock
    "57014": "timeout",
    "57P01": "dropped",
    "57P02": "dropped",
    "57P03": "refused",  # it is starting or stopping
    "57P05": "dropped",
}
"""What SQLSTATEs mean for a key: the whole of one, or its class. All others are ``server``."""

_SIGNS: Mapping[str, Problem] = {
    r"time-?out|timed out": "timeout",
    r"too many (clients|connections)|connection slots|starting up|shutting down": "refused",
    r"refused|resolve|translate host|name or service|no such file|unreachable": "refused",
    r"password|authentication|pg_hba|no encryption": "client",
    r"(database|role|user)\s+does not exist|not permitted|invalid": "client",
    r"\bssl|certificate|tls": "tls",
    r"closed|reset|broken pipe|lost|terminating": "dropped",
}
_TEXTS = tuple((re.compile(sign), problem) for sign, problem in _SIGNS.items())
"""What failures to connect look like: without a SQLSTATE, only their text tells them apart."""

_BARE = {"no_parameters": True}
"""Only without parameters may two commands go in one."""

_SQLITE: Mapping[str, Problem] = {
    "SQLITE_BUSY": "timeout",
    "SQLITE_LOCKED": "timeout",
    "SQLITE_INTERRUPT": "timeout",
    "SQLITE_CANTOPEN": "refused",
    "SQLITE_CORRUPT": "garbled",
    "SQLITE_NOTADB": "garbled",
    "SQLITE_ERROR": "client",
    "SQLITE_PERM": "client",
    "SQLITE_AUTH": "client",
    "SQLITE_READONLY": "client",
    "SQLITE_RANGE": "client",
    "SQLITE_TOOBIG": "client",
    "SQLITE_MISMATCH": "client",
}

_POOL: Mapping[str, Any] = {"pool_size": 16, "max_overflow": -1}
"""No call waits for another one's connection, and none is closed that the next window will need."""


class Database:
    """A database of which nothing else is known."""

    is_postgres = False
    is_sqlite = False
    engine: Mapping[str, Any] = {"pool_pre_ping": True, **_POOL}
    """What SQLAlchemy's engine is made with."""

    def connecting(self, args: list[Any], named: dict[str, Any], seconds: float) -> None:
        """Change what the driver is called with to connect within some seconds."""

    def connected(self, raw: Any) -> None:
        """Prepare a new connection of the driver's."""

    def begin(self, connection: sa.Connection, seconds: float) -> None:
        """Begin to read, for so long at most."""

    def end(self, connection: sa.Connection) -> None:
        """End what was begun; nothing is ever written."""
        connection.rollback()

    def stop(self, raw: Any) -> None:
        """Make the thread that waits for ``raw`` go on; called from another one."""

    def kind(self, description: Any) -> KeyKind:  # noqa: ARG002
        """How keys must be bound, from what the driver says of the key's column."""
        return "given"

    def problem(self, error: BaseException, connecting: bool) -> Problem:
        """What an error means for the keys that were asked for."""
        raw = getattr(error, "orig", None) or error
        if isinstance(error, exc.TimeoutError):
            return "timeout"
        if isinstance(raw, TimeoutError):
            return "timeout"
        if isinstance(raw, OSError):
            return "refused" if connecting else "dropped"
        if isinstance(error, exc.OperationalError | exc.InterfaceError | exc.InternalError):
            if connecting:
                return _problem_in(str(raw)) or "refused"
            return "dropped" if error.connection_invalidated else "server"
        if isinstance(error, exc.DBAPIError):
            return "dropped" if error.connection_invalidated else "client"
        return "client" if isinstance(error, exc.SQLAlchemyError) else "broken"


class Sqlite(Database):
    """A file, or a database in memory. Opened for reading only; a missing file is not made."""

    is_sqlite = True
    engine: Mapping[str, Any] = {
        # To open a file takes 0.2 ms, and shows at once that another one was put in its place.
        "poolclass": sa.NullPool,
        "connect_args": {"check_same_thread": False},
    }

    def connecting(self, args: list[Any], named: dict[str, Any], seconds: float) -> None:
        """A plain file name becomes a URI that says to read only."""
        named.setdefault("timeout", seconds)
        if named.get("uri") or not args or args[0] in ("", ":memory:"):
            return
        args[0] = f"file:{quote(os.path.abspath(args[0]))}?mode=ro"  # noqa: PTH100 - resolves nothing
        named["uri"] = True

    def connected(self, raw: Any) -> None:
        """Let it write nothing, whatever the URL says."""
        raw.execute("PRAGMA query_only = ON")

    def begin(self, connection: sa.Connection, seconds: float) -> None:
        """Wait for a lock no longer than there is time; :meth:`stop` ends a slow statement."""
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {_millis(seconds)}")

    def stop(self, raw: Any) -> None:
        """Interrupt the statement."""
        with contextlib.suppress(sqlite3.Error):
            raw.interrupt()

    def problem(self, error: BaseException, connecting: bool) -> Problem:
        """By SQLite's own name of the error."""
        raw = getattr(error, "orig", None) or error
        name = getattr(raw, "sqlite_errorname", None)
        if name is None:
            return super().problem(error, connecting)
        # Extended names begin with the plain one: SQLITE_BUSY_SNAPSHOT.
        plain = "_".join(str(name).split("_")[:2])
        return _SQLITE.get(plain, "server")


class Postgres(Database):
    """PostgreSQL: a read-only transaction a request, with a time-out of its own.

    Beginning it takes one trip to the server, and shows whether a connection from the pool still
    lives. With the statement and the end that makes three trips a request.
    """

    is_postgres = True
    engine: Mapping[str, Any] = {"isolation_level": "AUTOCOMMIT", **_POOL}

    def __init__(self, driver: str = "psycopg") -> None:
        self.driver = driver

    def connecting(self, args: list[Any], named: dict[str, Any], seconds: float) -> None:  # noqa: ARG002
        """The driver counts whole seconds, two at least."""
        named.setdefault("connect_timeout", max(2, round(seconds + 0.5)))
        named.setdefault("application_name", "topwater")
        if self.driver == "psycopg":
            # A prepared statement fails when a column's type has changed, and behind PgBouncer.
            named.setdefault("prepare_threshold", None)

    def begin(self, connection: sa.Connection, seconds: float) -> None:
        """Begin a transaction that the server itself ends in time, a little before we would."""
        lines = [
            "BEGIN TRANSACTION READ ONLY",
            f"SET LOCAL statement_timeout = {_millis(0.95 * seconds)}",
        ]
        if self.driver in ("psycopg", "psycopg2"):
            lines = ["; ".join(lines)]
        for line in lines:
            connection.exec_driver_sql(line, execution_options=_BARE)

    def end(self, connection: sa.Connection) -> None:
        """Roll back."""
        connection.exec_driver_sql("ROLLBACK", execution_options=_BARE)

    def stop(self, raw: Any) -> None:
        """Cut the line. The server has its own time-out; it may not be there to be asked."""
        with contextlib.suppress(Exception), socket.socket(fileno=os.dup(raw.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    def kind(self, description: Any) -> KeyKind:
        """By the number of the column's type."""
        number = description[1]
        if number in _WHOLE_TYPES:
            return "whole"
        if number in _TEXT_TYPES:
            return "text"
        return {_NUMERIC: "decimal", _UUID: "uuid"}.get(number, "other")  # type: ignore[return-value]

    def problem(self, error: BaseException, connecting: bool) -> Problem:
        """By the SQLSTATE, if the server sent one."""
        raw = getattr(error, "orig", None) or error
        state = getattr(raw, "sqlstate", None) or getattr(raw, "pgcode", None)
        if state is None:
            return super().problem(error, connecting)
        return _STATES.get(state) or _STATES.get(state[:2]) or "server"


def database(url: sa.URL) -> Database:
    """How to deal with the database of a URL."""
    if url.get_backend_name() == "postgresql":
        return Postgres(url.get_driver_name())
    return Sqlite() if url.get_backend_name() == "sqlite" else Database()


def _problem_in(text: str) -> Problem | None:
    # Names of hosts and users stand in quotes, and may be any word.
    lowered = re.sub(r"'[^']*'|\"[^\"]*\"", "", text.lower())
    return next((problem for sign, problem in _TEXTS if sign.search(lowered)), None)


def _millis(seconds: float) -> int:
    return max(1, int(1_000 * seconds))
