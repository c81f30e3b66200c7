"""Values from a table, or a query, of any database that SQLAlchemy knows.

Each request runs in a thread of its own, so that it can be left behind: a driver may hang while
it connects, and a server may send its answer byte by byte.

On PostgreSQL the keys of a table's look-up are bound as one array, ``key = ANY(:keys)``. With a
million rows and 500 keys this took 5.1 ms, a join with the unnested array 5.6 to 7.1 ms, and an
``IN`` with a parameter for each key 8.7 to 10.6 ms. Other databases get the ``IN``.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

import sqlalchemy as sa
from sqlalchemy import event, exc

from topwater.errors import QueryError, SourceError
from topwater.model import Fetched, Key, KeyArray
from topwater.problems import Problem
from topwater.redaction import shown_address
from topwater.remote.database_address import Unset, from_environment, read_url
from topwater.remote.database_call import Call, connector, here
from topwater.remote.database_look import look_at, number_columns, similar
from topwater.remote.database_rows import Asked, KeyKind
from topwater.remote.databases import database
from topwater.remote.look import Look, keys_of
from topwater.remote.statements import MOST_ROWS, Lookup, OtherColumns
from topwater.remote.threads import Crew
from topwater.remote.wanted_values import Places, names_of, text_names_of
from topwater.validation import checked_call, columns_of, mapping_of, number_of, whole_of

_MOST_KEYS = 30_000
"""SQLite takes 32,766 parameters a statement, PostgreSQL 65,535."""

_KEPT = (
    "_lookup",
    "names",
    "text_names",
    "_url",
    "_password_env",
    "_secret",
    "_connect_args",
    "most",
    "timeout",
)
"""What a pickle holds: settings, and no connection."""

_AT_ONCE = 32
_ATTEMPTS = 3

T = TypeVar("T")


@checked_call()
class SqlSource:
    """A source that asks a database, with all keys of a request in one statement.

    Keys are always bound as parameters. They are turned into the type of the key column, so text
    keys find rows in a column of integers and the other way round; a key that the column can't
    hold, like ``"abc"`` or 2⁷⁰ among integers, is not found, and costs no other key its value. A
    row answers the key whose text is the same: ``"007"`` is not 7, and ``"Bob"`` is not
    ``"bob"``, even where the database takes them for equal.

    A key with two different values fails as ``"doubled"``. Text that reads as a number is one;
    true and false are 1 and 0; NULL and whatever is not a number have no value. For a date, write a
    query with ``extract(epoch from …)``.

    Nothing is written: transactions are read-only on PostgreSQL and SQLite, and rolled back on
    any database. A statement that is not done by the deadline is stopped, there by the server.

    Parameters
    ----------
    url
        As SQLAlchemy takes it: ``postgresql://ann:$DB_PASSWORD@db.example/shop``,
        ``sqlite:///users.db``. A password that is ``$NAME`` or ``${NAME}`` is read from the
        environment at each connecting, and nowhere kept. One that stands in the URL is part of
        the source, and of its pickle.

        ``sqlite://`` is a database in memory of which each connection has its own, empty one. For
        one that a process shares, write ``sqlite:///file:users?mode=memory&cache=shared&uri=true``.
    table, key, value
        Where values stand: a table (``users`` or ``sales.users``; a name that has a dot stands in
        double quotes), the column with its keys, and the one with their values. For keys of several
        columns, ``key`` is a list: the columns of the table in the order of the query's. Names are
        quoted where needed. On PostgreSQL a single key column that is not a number, text or UUID is
        compared as text, which uses no index on it. Where a key has several rows, ``max(price)``,
        ``min(price)``, ``mean(price)``, ``sum(price)``, ``count()`` or ``sample(price)`` says
        what becomes of them; the database does it. For several values of a key, a list of
        columns, or a mapping of names to them.
    text
        The same for texts, which are shown.
    query
        Or: a SELECT of keys and values, with the parameter ``:keys``. For several values,
        ``value`` and ``text`` name its columns.
    per_request
        The most keys that one statement has.
    timeout
        Seconds that a request may take, even where the deadline is later.
    connect_args
        Further settings for the driver.
    password_env
        The name of the environment variable that holds the password.

    Examples
    --------
    >>> import numpy as np
    >>> source = SqlSource(
    ...     "sqlite://",
    ...     query="with users (id, n) as (values (7, 70), (8, 80)) "
    ...     "select id, n from users where id in :keys",
    ... )
    >>> got = source.fetch(np.array([8, 7, 6]))
    >>> got.values.tolist(), got.ok.tolist()
    ([80.0, 70.0, nan], [True, True, True])
    >>> source.close()
    """

    punctual = True

    def __init__(
        self,
        url: str,
        *,
        table: str | None = None,
        key: str | Sequence[str] | None = None,
        value: Places | None = None,
        text: Places | None = None,
        query: str | None = None,
        per_request: int = 500,
        timeout: float = 10.0,
        connect_args: Mapping[str, Any] | None = None,
        password_env: str | None = None,
    ) -> None:
        named = columns_of(key, "key") if isinstance(key, list | tuple) else key
        self._lookup = Lookup(table, named, value, query, text)  # type: ignore[arg-type]
        self.names = names_of(self._lookup.wanted)
        self.text_names = text_names_of(self._lookup.wanted)
        self._url, self._password_env = read_url(url, password_env)
        self._secret = "url" if password_env is None else "password_env"
        given = {} if connect_args is None else connect_args
        self._connect_args = dict(mapping_of(given, "connect_args"))
        fix = "how many keys may one statement have?"
        self.most = whole_of(per_request, "per_request", 1, _MOST_KEYS, fix)
        fix = "how many seconds may a request take?"
        self.timeout = number_of(timeout, "timeout", above=0, fix=fix)
        self._start()

    def _start(self) -> None:
        self._database = database(self._url)
        self._engines: dict[int, sa.Engine] = {}
        self._kind: tuple[KeyKind, ...] | None = None
        self._crew = Crew(_AT_ONCE, _AT_ONCE)
        self._finalizer = weakref.finalize(self, _dispose, self._engines)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _KEPT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def __repr__(self) -> str:
        lookup = self._lookup
        asked = f"query={lookup.query!r}"
        if lookup.query is None:
            asked = f"table={lookup.table!r}, key={lookup.key!r}, value={lookup.value!r}"
        return f"SqlSource({self._where!r}, {asked})"

    @property
    def _where(self) -> str:
        """The URL without user, password and settings."""
        return shown_address(self._url.render_as_string(hide_password=True))

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``, within ``deadline`` seconds."""
        begun = time.monotonic()
        asked = Asked.of(keys)
        if asked.size > self.most:
            raise ValueError(f"{asked.size} keys in a request of at most {self.most}")
        seconds = self.timeout if deadline is None else min(deadline, self.timeout)
        if not asked.size or not seconds > 0:
            return asked.failed("late")
        got = self._within(seconds, lambda call: self._answer(call, asked))
        if got is None:
            late = deadline is not None and deadline <= self.timeout
            got = asked.failed("late" if late else "timeout")
        return replace(got, seconds=time.monotonic() - begun)

    def check(self, key: Key | None = None) -> Look | None:
        """Try to connect and to ask for nothing; or with a key, for its value, and tell it.

        Raises
        ------
        SourceError
            If that fails, with the setting that is to blame; with a key also if it has no usable
            value.
        """
        work = self._tried if key is None else partial(self._looked_at, key)
        found = self._within(self.timeout, work)
        if found is None:
            found = self._error("timeout", "url", "")
        if isinstance(found, SourceError):
            raise found
        return found if isinstance(found, Look) else None

    def close(self) -> None:
        """Close all connections of this process. A later fetch connects again."""
        _dispose(self._engines)
        self._crew.close()

    def _within(self, seconds: float, work: Callable[[Call], T]) -> T | None:
        """What the work gives if it is done in time; or else it is stopped, and left behind."""
        call = Call(self._database, seconds)
        (done,) = self._crew.run([lambda: call.run(work)], seconds)
        if done is None:
            call.give_up(self.timeout)
        return done

    def _answer(self, call: Call, asked: Asked) -> Fetched:
        try:
            return self._looked_up(call, asked)
        except (Unset, OtherColumns):
            return asked.failed("client")
        except Exception as error:  # the contract is to raise nothing
            problem = self._database.problem(error, call.connecting)
            if problem == "client":
                self._kind = None  # the column's type may have been changed
            return asked.failed(problem)

    def _looked_up(self, call: Call, asked: Asked) -> Fetched:
        with self._begun(call) as connection:
            rows = self._rows(connection, asked)
            self._database.end(connection)
        if len(rows) == MOST_ROWS:
            return asked.failed("large")
        return asked.answer(rows, self._lookup.arriving)

    def _rows(self, connection: sa.Connection, asked: Asked) -> Sequence[tuple[Any, ...]]:
        """What the database says of the keys: each row has one, and what is wanted of it."""
        kind = self._kind or self._learn(connection)
        keys = asked.bound(*kind)
        if not keys:
            return []
        database = self._database
        statement = self._lookup.statement(kind[0], database.is_postgres, database.is_sqlite)
        result = connection.execute(statement, {"keys": keys})
        try:
            return [*self._lookup.rows([*result.keys()], result.fetchmany(MOST_ROWS))]
        finally:
            result.close()

    def _learn(self, connection: sa.Connection) -> tuple[KeyKind, ...]:
        """How keys are bound, which the types of their columns decide."""
        number = len(self._lookup.keys)
        told = self._probe(connection)[:number] if self._database.is_postgres else [None] * number
        self._kind = tuple(map(self._database.kind, told))
        return self._kind

    def take_keys(self, columns: Sequence[str]) -> None:
        """Raise unless it can be asked by keys of this many columns."""
        own = self._lookup.keys
        if len(own) != len(columns):
            where = f"by {', '.join(own)}" if self._lookup.query is None else "by one column"
            raise QueryError(
                f"looks up {where}, and keys of the query have {', '.join(columns)}",
                field="source.key",
                fix="name a column of the table for each, in the same order, as key=[…]",
            )

    def _probe(self, connection: sa.Connection) -> Any:
        """What the driver says of the columns."""
        probe = self._lookup.probe(self._database.is_postgres)
        keys = {"keys": [None]} if self._lookup.query is not None else {}
        result = connection.execute(probe, keys)
        columns = result.cursor.description
        result.close()
        return columns

    def _begun(self, call: Call) -> sa.Connection:
        """A connection that lives: those in the pool may have been cut by the server."""
        for attempt in range(_ATTEMPTS):
            here.call = call
            call.again()
            connection = self._engine().connect()
            try:
                call.begin(connection.connection.dbapi_connection)
                self._database.begin(connection, call.left)
            except BaseException as error:
                connection.close()
                cut = isinstance(error, exc.DBAPIError) and error.connection_invalidated
                if not cut or call.fresh or attempt == _ATTEMPTS - 1:
                    raise
            else:
                return connection
        raise AssertionError("unreachable")

    def _engine(self) -> sa.Engine:
        """One for each process: connections do not survive a fork."""
        engine = self._engines.get(os.getpid())
        if engine is None:
            # Two threads may come here; an engine that has not connected can be thrown away.
            engine = self._engines.setdefault(os.getpid(), self._make_engine())
        return engine

    def _make_engine(self) -> sa.Engine:
        settings = dict(self._database.engine)
        args = {**settings.pop("connect_args", {}), **self._connect_args}
        engine = sa.create_engine(
            self._url,
            connect_args=args,
            hide_parameters=True,
            **settings,
        )
        event.listen(engine, "do_connect", connector(self._database, self.timeout, self._password))
        return engine

    @property
    def _password(self) -> Callable[[], str | None]:
        name = self._password_env
        return lambda: None if name is None else from_environment(name)

    def _looked_at(self, key: Key, call: Call) -> SourceError | Look:
        """What the database says of a key, or what to raise."""
        tried = self._tried(call)
        if isinstance(tried, SourceError):
            return tried
        asked = Asked.of(keys_of(key))
        with self._begun(call) as connection:
            rows = self._rows(connection, asked)
            columns = number_columns(connection, self._lookup)
        return look_at(rows, asked, key, self._lookup, columns)

    def _tried(self, call: Call) -> SourceError | bool:
        """True if all is well, or what to raise."""
        try:
            with self._begun(call) as connection:
                names = [str(each[0]) for each in self._probe(connection)]
            [*self._lookup.rows(names, [])]
        except OtherColumns as error:
            return self._error("client", "query", str(error))
        except Unset as error:
            return self._error("client", self._secret, f"{error} is not set in the environment")
        except Exception as error:  # whatever the driver raises
            problem = self._database.problem(error, call.connecting)
            said = _words(error)
            blamed = self._to_blame(said, call.connecting)
            return self._error(problem, blamed, said, self._advice(blamed, call))
        return True

    def _to_blame(self, said: str, connecting: bool) -> str:
        """The setting that an error speaks of."""
        if connecting:
            return self._secret if re.search("password|authentication", said) else "url"
        if self._lookup.query is not None:
            return "query"
        if re.search(r"column", said):
            return "key" if any(each in said for each in self._lookup.keys) else "value"
        return "table"

    def _advice(self, blamed: str, call: Call) -> str:
        """The name that was probably meant; nothing if the database does not say."""
        if blamed not in ("table", "key", "value"):
            return ""
        with contextlib.suppress(Exception), self._begun(call) as connection:
            return similar(connection, self._lookup, blamed)
        return ""

    def _error(self, problem: Problem, field: str, said: str, advice: str = "") -> SourceError:
        """What to raise, without a password that the driver may have shown."""
        secrets = [self._url.password or "", *_private_settings(self._url, self._connect_args)]
        if self._password_env is not None:
            secrets.append(os.environ.get(self._password_env, ""))
        for secret in {
            each for plain in secrets for each in (plain, quote(plain), quote_plus(plain))
        }:
            said = said.replace(secret, "***") if secret else said
        lead, fix = _ADVICE.get(problem, ("{where} failed", "see the database's own log"))
        lead = lead.format(where=self._where, timeout=self.timeout)
        return SourceError(f"{lead}: {said}" if said else lead, field=field, fix=advice or fix)


_ADVICE: Mapping[Problem, tuple[str, str]] = {
    "refused": ("no connection to {where}", "start the database, or correct the URL"),
    "timeout": ("no answer from {where} in {timeout} s", "see if it is up, or raise timeout="),
    "dropped": ("{where} ended the connection", "see the database's own log"),
    "tls": ("no safe connection to {where}", "correct sslmode, or set up TLS on the server"),
    "garbled": ("{where} can't be read", "see if that is the right file"),
    "client": ("{where} does not accept what it is asked", "correct this setting"),
}


def _dispose(engines: dict[int, sa.Engine]) -> None:
    """Close this process's connections; those of a parent are its own."""
    engine = engines.pop(os.getpid(), None)
    if engine is not None:
        engine.dispose()


def _private_settings(url: sa.URL, args: Mapping[str, Any]) -> list[str]:
    """The values of settings whose names say that they are secret."""
    private = re.compile("pass|pwd|secret|token|key|cred", re.IGNORECASE)
    given = [*url.query.items(), *args.items()]
    return [str(value) for name, value in given if private.search(str(name))]


def _words(error: BaseException) -> str:
    """What the database said, without the statement and its parameters."""
    raw = getattr(error, "orig", None) or error
    said = getattr(getattr(raw, "diag", None), "message_primary", None) or str(raw)
    return " ".join(str(said).split())[:300]
