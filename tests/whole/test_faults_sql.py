"""What can go wrong with a database, one cell after the other, through a whole monitor.

In every cell the same must hold: the answer is out by the deadline and has all its rows, what
failed is told with its reason, no more is asked than allowed, and the next window recovers.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.line_server import Line, line
from tests.support.postgres import Postgres, server
from tests.support.timing import within
from topwater import TopKMonitor, TopKQuery, remote, tumbling
from topwater.model import Answer
from topwater.remote import Stack
from topwater.replica import Refresher

DEADLINE = 0.6
RETRIES = 1
KEYS = range(1, 6)

Fault = Callable[["Cell"], AbstractContextManager[None]]


@dataclass
class Cell:
    """A monitor over a database, and how to reach that from outside."""

    source: Stack
    change: Callable[..., Any]
    """Runs statements."""
    way: Line | None = None
    file: Path = field(default_factory=Path)
    postgres: Postgres | None = None

    def __post_init__(self) -> None:
        query = TopKQuery(
            key="who",
            time="at",
            window=tumbling("60 s"),
            take={"n": "count"},
            score="n + remote",
            k=3,
            refresh={"remote": "remote", "budget": {"deadline": round(1_000 * DEADLINE)}},
        )
        self.monitor = TopKMonitor.build(query, source=self.source)
        self.windows = 0

    def window(self) -> Answer:
        """The next window's answer, which must be out in time and complete."""
        at = 60_000 * self.windows + 30_000
        self.windows += 1
        self.monitor.ingest({"who": np.array(KEYS), "at": np.full(len(KEYS), at)})
        with within(DEADLINE):
            (answer,) = self.monitor.close_until(60_000 * self.windows + 1)
        assert len(answer.rows) == 3
        assert answer.freshness is not None
        assert 1 <= answer.freshness.fetched <= len(KEYS)
        return answer

    def problems(self) -> dict[str, int]:
        return dict(self.source.asked.problems)

    def close_lines(self) -> None:
        """What is asked next must connect first."""
        self.source.close()

    def check_recovered(self, answer: Answer) -> None:
        assert answer.freshness is not None
        assert answer.freshness.failed == answer.freshness.bad == 0
        fresh = [row for row in answer.rows if row.age == 0]
        assert fresh
        assert [row.remote for row in fresh] == [10.0 * row.key + 1 for row in fresh]  # type: ignore[operator]

    def check_spending(self, asked: int) -> None:
        assert self.source.asked.keys == asked
        assert self.source.sent.calls <= (1 + RETRIES) * self.windows


def run_cell(cell: Cell, fault: Fault, why: set[str]) -> None:
    """A good window, a bad one, and a good one again.

    Without a reason nothing fails: the keys are answered, with values that are not numbers.
    """
    first = cell.window()
    assert first.freshness is not None
    assert (first.freshness.fetched, first.freshness.failed) == (5, 0)
    assert [(row.key, row.remote) for row in first.rows] == [(5, 50.0), (4, 40.0), (3, 30.0)]
    with fault(cell):
        bad = cell.window()
    assert bad.freshness is not None
    assert (bad.freshness.failed if why else bad.freshness.bad) == bad.freshness.fetched
    assert [(row.key, row.remote) for row in bad.rows] == [(5, 50.0), (4, 40.0), (3, 30.0)]
    assert not bad.exact
    told = dict(bad.problems)
    assert bad.freshness.nothing_usable
    assert sum(told.values()) == bad.freshness.failed + bad.freshness.bad
    assert told == (cell.problems() if why else {"not_a_number": bad.freshness.bad})
    assert set(told) <= (why or {"not_a_number"}), told
    cell.change("update users set followers = 10 * id + 1")
    last = cell.window()
    cell.check_recovered(last)
    assert last.freshness is not None
    cell.check_spending(5 + bad.freshness.fetched + last.freshness.fetched)


@pytest.fixture(scope="module")
def postgres() -> Postgres:
    return server()


ROLE, WORD = "reader", "reads only"
OURS = "from pg_stat_activity where application_name = 'topwater'"
END_SESSIONS = f"select pg_terminate_backend(pid) {OURS}"


@pytest.fixture
def cell(postgres: Postgres) -> Iterator[Cell]:
    """Over PostgreSQL, as a user who may read one table, through a line."""
    postgres.run(
        END_SESSIONS,
        "drop table if exists users cascade",
        "drop table if exists users_away",
        "create table users (id int, followers int)",
        "insert into users select i, 10 * i from generate_series(1, 9) as i",
        f"do $$ begin create role {ROLE} login; exception when duplicate_object then null; end $$",
        f"alter role {ROLE} password '{WORD}' connection limit -1",
        f"grant select on users to {ROLE}",
    )
    with line(postgres.port, pause=0.3) as way:
        url = postgres.url(ROLE, WORD, port=way.port)
        source = remote.sql(url, table="users", key="id", value="followers", retries=RETRIES)
        yield Cell(source, postgres.run, way, postgres=postgres)
        source.close()


def bad_line(how: Any) -> Fault:
    @contextlib.contextmanager
    def fault(cell: Cell) -> Iterator[None]:
        assert cell.way is not None
        cell.way.how = how
        yield
        cell.way.how = "through"

    return fault


def bad_new_line(how: Any) -> Fault:
    """The same, when there is no connection yet."""

    @contextlib.contextmanager
    def fault(cell: Cell) -> Iterator[None]:
        cell.close_lines()
        with bad_line(how)(cell):
            yield

    return fault


def changed(bad: str, good: str, *, anew: bool = False) -> Fault:
    """One statement breaks it, another one mends it."""

    @contextlib.contextmanager
    def fault(cell: Cell) -> Iterator[None]:
        if anew:
            cell.close_lines()
        cell.change(bad)
        yield
        cell.change(good)

    return fault


@contextlib.contextmanager
def stopped(cell: Cell) -> Iterator[None]:
    assert cell.postgres is not None
    cell.postgres.stop()
    yield
    cell.postgres.start()


@contextlib.contextmanager
def locked(cell: Cell) -> Iterator[None]:
    assert cell.postgres is not None
    with closing(cell.postgres.connect()) as other, other.transaction():
        other.execute("lock table users in access exclusive mode")
        yield


@contextlib.contextmanager
def full(cell: Cell) -> Iterator[None]:
    """All connections that the user may have are taken."""
    assert cell.postgres is not None
    cell.close_lines()
    time.sleep(0.1)  # the server notices a little later
    cell.change(f"alter role {ROLE} connection limit 1")
    import psycopg

    url = cell.postgres.url(ROLE, WORD).replace(" ", "%20")
    with closing(psycopg.connect(url)):
        yield


@contextlib.contextmanager
def killed(cell: Cell) -> Iterator[None]:
    """Sessions are ended while they wait for a lock."""
    ended = threading.Event()

    def kill() -> None:
        while not ended.wait(0.02):
            cell.change(f"{END_SESSIONS} and wait_event_type = 'Lock'")

    killer = threading.Thread(target=kill)
    killer.start()
    with locked(cell):
        yield
        ended.set()
        killer.join()


LATE = {"late", "timeout"}
OF_POSTGRES: dict[str, tuple[Fault, set[str]]] = {
    "hangs": (bad_line("silent"), LATE),
    "hangs while connecting": (bad_new_line("silent"), LATE),
    "answers slowly": (bad_line("slow"), LATE),
    "answers slowly while connecting": (bad_new_line("slow"), LATE),
    "drips": (bad_line("drips"), LATE),
    "drips while connecting": (bad_new_line("drips"), LATE),
    "dropped mid-way": (bad_line("cut"), {"dropped"}),
    "dropped mid-way while connecting": (bad_new_line("cut"), {"dropped"}),
    "ended by the administrator": (killed, {"dropped", *LATE}),
    "a lock": (locked, LATE),
    "wrong type": (
        changed(
            "alter table users alter followers type text using 'many'",
            "alter table users alter followers type int using 10 * id",
        ),
        set(),
    ),
    "two values": (
        changed(
            "insert into users select id, -1 from users",
            "delete from users where followers = -1",
        ),
        {"doubled"},
    ),
    "table missing": (
        changed("alter table users rename to users_away", "alter table users_away rename to users"),
        {"client"},
    ),
    "permission denied": (
        changed(f"revoke all on users from {ROLE}", f"grant select on users to {ROLE}"),
        {"client"},
    ),
    "wrong password": (
        changed(
            f"alter role {ROLE} password 'another'",
            f"alter role {ROLE} password '{WORD}'",
            anew=True,
        ),
        {"client"},
    ),
    "too many connections": (full, {"refused"}),
    "more rows than a look-up has": (
        changed(
            "insert into users select 1 + i % 5, 0 from generate_series(1, 60000) as i",
            "delete from users where ctid not in (select min(ctid) from users group by id)",
        ),
        {"large", *LATE},
    ),
}


@pytest.mark.parametrize("name", OF_POSTGRES)
def test_postgres(cell: Cell, name: str) -> None:
    run_cell(cell, *OF_POSTGRES[name])


def test_a_name_that_is_not_resolved(
    cell: Cell, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first resolver really fails; the second one, as after a repair, knows the name."""
    host = "database.topwater.invalid"
    url = postgres.url(ROLE, WORD, host=host)
    source = remote.sql(url, table="users", key="id", value="followers", retries=RETRIES)
    other = Cell(source, postgres.run)
    bad = other.window()
    assert bad.freshness is not None
    assert bad.freshness.failed == bad.freshness.fetched == 5
    assert set(other.problems()) <= {"refused", *LATE}
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda name, *more, **named: real("127.0.0.1" if name == host else name, *more, **named),
    )
    other.change("update users set followers = 10 * id + 1")
    other.check_recovered(other.window())
    source.close()


def test_a_server_without_tls(cell: Cell, postgres: Postgres) -> None:
    with line(postgres.port, tls=True) as way:
        url = postgres.url(ROLE, WORD, port=way.port, query={"sslmode": "require"})
        source = remote.sql(url, table="users", key="id", value="followers", retries=RETRIES)
        run_cell(Cell(source, postgres.run, way), bad_new_line("plain"), {"tls"})
        source.close()
        distrusting = postgres.url(
            ROLE, WORD, port=way.port, query={"sslmode": "verify-full", "sslrootcert": "system"}
        )
        source = remote.sql(distrusting, table="users", key="id", value="followers")
        got = source.fetch(np.array([1]), 2.0)
        assert got.problems() == {"tls": 1}
        source.close()


def test_a_server_that_is_down(cell: Cell, postgres: Postgres) -> None:
    url = postgres.url(ROLE, WORD)
    source = remote.sql(url, table="users", key="id", value="followers", retries=RETRIES)
    run_cell(Cell(source, postgres.run, postgres=postgres), stopped, {"refused"})
    source.close()


@pytest.mark.parametrize("how", ["restarted", "ended"])
def test_a_connection_that_died_between_windows_costs_nothing(
    cell: Cell, postgres: Postgres, how: str
) -> None:
    cell.window()
    if how == "restarted":
        postgres.stop()
        postgres.start()
    else:
        cell.change(END_SESSIONS)
    cell.change("update users set followers = 10 * id + 1")
    cell.check_recovered(cell.window())
    assert not cell.problems()


def missing_keys(cell: Cell) -> None:
    cell.window()
    cell.change("delete from users where id in (1, 5)")
    answer = cell.window()
    assert answer.freshness is not None
    assert (answer.freshness.failed, answer.freshness.bad) == (0, 2)
    assert not cell.problems()
    cell.change("insert into users values (1, 0), (5, 0)")
    cell.change("update users set followers = 10 * id + 1")
    cell.check_recovered(cell.window())


def test_missing_keys_in_postgres(cell: Cell) -> None:
    missing_keys(cell)


def extra_keys(url: str, change: Callable[..., Any]) -> None:
    """Rows that nobody asked for change nothing, and enter nowhere."""
    source = remote.sql(url, query="select id, followers from users where 0 not in :keys")
    cell = Cell(source, change)
    cell.window()
    change("update users set followers = 10 * id + 1")
    cell.check_recovered(cell.window())
    assert isinstance(cell.monitor.refresher, Refresher)
    assert len(cell.monitor.refresher.replica.used()) == len(KEYS)
    source.close()


def test_extra_keys_in_postgres(cell: Cell, postgres: Postgres) -> None:
    extra_keys(postgres.url(ROLE, WORD), postgres.run)


@pytest.fixture
def file_cell(tmp_path: Path) -> Iterator[Cell]:
    """Over a file."""
    file = tmp_path / "users.db"

    def change(*statements: str) -> None:
        with closing(sqlite3.connect(file, timeout=20)) as other:
            for statement in statements:
                other.execute(statement)
            other.commit()

    change("create table users (id integer, followers)")
    change(
        "with recursive c(x) as (select 1 union all select x + 1 from c where x < 9) "
        "insert into users select x, 10 * x from c"
    )
    source = remote.sql(
        f"sqlite:///{file}", table="users", key="id", value="followers", retries=RETRIES
    )
    yield Cell(source, change, file=file)
    source.close()


@contextlib.contextmanager
def file_away(cell: Cell) -> Iterator[None]:
    away = cell.file.with_suffix(".away")
    cell.file.rename(away)
    yield
    assert not cell.file.exists()
    away.rename(cell.file)


def file_holds(content: Callable[[bytes], bytes]) -> Fault:
    @contextlib.contextmanager
    def fault(cell: Cell) -> Iterator[None]:
        right = cell.file.read_bytes()
        cell.file.write_bytes(content(right))
        yield
        cell.file.write_bytes(right)

    return fault


@contextlib.contextmanager
def file_locked(cell: Cell) -> Iterator[None]:
    with closing(sqlite3.connect(cell.file)) as other:
        other.execute("begin exclusive")
        yield
        other.rollback()


@contextlib.contextmanager
def file_slow(cell: Cell) -> Iterator[None]:
    """A view that takes minutes is in the place of the table."""
    cell.change(
        "alter table users rename to users_away",
        "create view users as with recursive c(x) as "
        "(select 1 union all select x + 1 from c where x < 500000000) "
        "select id, (select count(*) from c) as followers from users_away",
    )
    yield
    cell.change("drop view users", "alter table users_away rename to users")


OF_SQLITE: dict[str, tuple[Fault, set[str]]] = {
    "file missing": (file_away, {"refused"}),
    "file locked": (file_locked, LATE),
    "file of another kind": (file_holds(lambda _: b"none at all" * 999), {"garbled"}),
    "file corrupt": (
        file_holds(lambda right: right[:100] + os.urandom(len(right) - 100)),
        {"garbled", "server", "client"},
    ),
    "file cut off": (file_holds(lambda right: right[:4096]), {"garbled", "server"}),
    "answers slowly": (file_slow, LATE),
    "wrong type": (
        changed("update users set followers = 'many'", "update users set followers = 0"),
        set(),
    ),
    "two values": (
        changed(
            "insert into users select id, -1 from users", "delete from users where followers < 0"
        ),
        {"doubled"},
    ),
    "table missing": (
        changed("alter table users rename to users_away", "alter table users_away rename to users"),
        {"client"},
    ),
}


@pytest.mark.parametrize("name", OF_SQLITE)
def test_sqlite(file_cell: Cell, name: str) -> None:
    run_cell(file_cell, *OF_SQLITE[name])


def test_missing_keys_in_sqlite(file_cell: Cell) -> None:
    missing_keys(file_cell)


def test_extra_keys_in_sqlite(file_cell: Cell) -> None:
    extra_keys(f"sqlite:///{file_cell.file}", file_cell.change)


def test_a_file_put_in_the_place_of_another_is_seen(file_cell: Cell) -> None:
    file_cell.window()
    right = file_cell.file.read_bytes()
    other = file_cell.file.with_suffix(".new")
    other.write_bytes(right)
    with closing(sqlite3.connect(other)) as made:
        made.execute("update users set followers = 10 * id + 1")
        made.commit()
    other.replace(file_cell.file)
    file_cell.check_recovered(file_cell.window())


def test_a_budget_of_fetches_is_kept_while_all_fails(cell: Cell) -> None:
    """Three keys a window, however often requests are sent again; and no thread is left behind."""
    query = TopKQuery.from_dict(
        {**cell.monitor.query.to_dict(), "refresh": {"remote": "remote", "budget": 3}}
    )
    assert cell.way is not None
    cell.way.how = "cut"
    monitor = TopKMonitor.build(query, source=cell.source)
    threads = threading.active_count()
    for window in range(8):
        monitor.ingest({"who": np.array(KEYS), "at": np.full(5, 60_000 * window + 1)})
        (answer,) = monitor.close_until(60_000 * (window + 1) + 1)
        assert answer.freshness is not None
        assert (answer.freshness.fetched, answer.freshness.failed) == (3, 3)
    assert cell.source.asked.keys == 24
    assert cell.source.sent.calls <= 8 * (1 + RETRIES)
    assert threading.active_count() <= threads + 12
