"""SqlSource against a real PostgreSQL: types of keys, deadlines, restarts, what it leaves alone."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from tests.support.fetched import keys_of, values_or_problems
from tests.support.line_server import line
from tests.support.postgres import PASSWORD, Postgres, server
from tests.support.timing import HANGS, within
from topwater.errors import SourceError
from topwater.remote.sql_source import SqlSource
from topwater.testing import check_source

Make = Callable[..., SqlSource]

COLUMNS = {
    "whole": "id",
    "small": "id::int2",
    "text": "id::text",
    "varchar": "id::varchar(9)",
    "char": "id::char(9)",
    "decimal": "id::numeric(9, 2)",
    "double": "id::float8",
    "identifier": "('00000000-0000-0000-0000-' || lpad(id::text, 12, '0'))::uuid",
    "place": "('10.0.0.' || id)::inet",
    "letters": "array[id]",
}


@pytest.fixture(scope="module")
def postgres() -> Postgres:
    found = server()
    columns = ", ".join(f"{text} as {name}" for name, text in COLUMNS.items())
    found.run(
        "drop table if exists users cascade",
        f"create table users as select {columns}, 10 * id as followers "  # noqa: S608
        "from generate_series(1, 100) as id",
        "create index on users (whole)",
    )
    return found


@pytest.fixture
def make(postgres: Postgres) -> Iterator[Make]:
    made = []

    def make(url: str | None = None, **changes: Any) -> SqlSource:
        plain: dict[str, Any] = {"table": "users", "key": "whole", "value": "followers"}
        if "query" in changes:
            plain = {}
        made.append(SqlSource(url or postgres.url(), **{**plain, **changes}))
        return made[-1]

    yield make
    for source in made:
        source.close()


def query_by(column: str) -> str:
    return f"select {column}, followers from users where {column} in :keys"  # noqa: S608


def test_it_keeps_the_contract_of_a_source(make: Make) -> None:
    check_source(make, keys_of(3, 1, 2), keys_of(1000, -1))
    check_source(lambda: make(key="text"), keys_of("3", "1", "2"), keys_of("x", "\0", ""))
    query = query_by("whole")
    check_source(lambda: make(query=query), keys_of(3, 1, 2), keys_of(1000, -1))


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("column", ["whole", "small", "text", "varchar", "char", "decimal"])
def test_keys_take_the_type_of_the_column(make: Make, column: str, own: bool) -> None:
    source = make(query=query_by(column)) if own else make(key=column)
    assert values_or_problems(source.fetch(keys_of(7, 8))) == [70.0, 80.0]
    assert values_or_problems(source.fetch(keys_of("7", "8"))) == [70.0, 80.0]
    strange = ("07", "7 ", "abc", str(2**70), "40000", "3000000000", "1e2", "\0", "\ud800", "")
    got = values_or_problems(source.fetch(keys_of(*strange, "8")))
    assert np.isnan(got[:-1]).all()
    assert got[-1] == 80.0


def test_keys_that_are_no_numbers(make: Make) -> None:
    seven = "00000000-0000-0000-0000-000000000007"
    got = values_or_problems(
        make(key="identifier").fetch(keys_of(seven, "7", seven.replace("7", "x"), 7))
    )
    assert got[0] == 70.0
    assert np.isnan(got[1:]).all()
    assert values_or_problems(make(query=query_by("identifier")).fetch(keys_of(seven))) == [70.0]
    assert values_or_problems(make(key="double").fetch(keys_of("7", 8))) == [70.0, 80.0]
    got = values_or_problems(make(key="place").fetch(keys_of("10.0.0.7", "10.0.0.8/32", "x")))
    assert np.isnan(got[0])  # as text it is 10.0.0.7/32
    assert got[1] == 80.0


def test_what_values_may_be(make: Make, postgres: Postgres) -> None:
    values = ["2.5::numeric", "true", "null", "'12'::text", "'many'::text", "'NaN'::float8"]
    values += ["'infinity'::float8", "now()", "1e400::numeric", "2::int2", "'{1}'::int[]"]
    for value in values:
        query = f"select id, {value} from generate_series(1, 3) as id where id in :keys"  # noqa: S608
        (got,) = values_or_problems(make(query=query).fetch(keys_of(2)))
        expected = {0: 2.5, 1: 1.0, 3: 12.0, 9: 2.0}.get(values.index(value), np.nan)
        assert got == expected or (np.isnan(got) and np.isnan(expected)), value


def test_a_large_request_uses_the_index(make: Make, postgres: Postgres) -> None:
    got = make(per_request=20_000).fetch(np.arange(20_000))
    assert got.ok.all()
    assert np.count_nonzero(np.isfinite(got.values)) == 100
    assert values_or_problems(
        make(query=query_by("whole"), per_request=20_000).fetch(np.arange(99, 101))
    ) == [
        990.0,
        1000.0,
    ]


def test_doubled_and_large(make: Make, postgres: Postgres) -> None:
    query = "select whole % 2, followers from users where 0 not in :keys"
    assert values_or_problems(make(query=query).fetch(keys_of(1))) == ["doubled"]
    query = "select a.whole, 1 from users a, users b, users c, users d where 0 not in :keys"
    assert values_or_problems(make(query=query).fetch(keys_of(1), 20.0)) == ["large"]


def test_schemas_and_odd_names(make: Make, postgres: Postgres) -> None:
    postgres.run(
        'create schema if not exists "Sales.1"',
        'drop table if exists "Sales.1"."Us%ers"',
        'create table "Sales.1"."Us%ers" ("the Key" int, "%(value)s" int)',
        'insert into "Sales.1"."Us%ers" values (1, 5)',
    )
    source = make(table='"Sales.1".Us%ers', key="the Key", value="%(value)s")
    source.check()
    assert values_or_problems(source.fetch(keys_of(1))) == [5.0]


def test_nothing_is_written(make: Make, postgres: Postgres) -> None:
    postgres.run(
        "create or replace function spoil() returns int language plpgsql as "
        "$$ begin delete from users; return 1; end $$"
    )
    source = make(query="select whole, spoil() from users where whole in :keys")
    assert values_or_problems(source.fetch(keys_of(1))) == ["client"]
    assert postgres.run("select count(*) from users") == [(100,)]


def sessions(postgres: Postgres) -> list[Any]:
    """What our connections do."""
    rows = postgres.run(
        "select state, query from pg_stat_activity where application_name = 'topwater'"
    )
    return [row[0] for row in rows]


def eventually(fact: Callable[[], bool], seconds: float = 5.0) -> None:
    until = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < until, "it did not come to that"
        time.sleep(0.01)


def test_a_slow_statement_is_stopped_at_the_deadline(make: Make, postgres: Postgres) -> None:
    """By the server too, and the connection is used again."""
    postgres.run("create or replace view sleepy as select whole, pg_sleep(60)::text from users")
    source = make(query="select whole, pg_sleep(60)::text from users where whole in :keys")
    with within(0.4):
        (why,) = values_or_problems(source.fetch(keys_of(1), 0.4))
    assert why in ("late", "timeout")
    eventually(lambda: "active" not in sessions(postgres))
    assert values_or_problems(
        make(timeout=0.3, table="sleepy", value="pg_sleep").fetch(keys_of(1), 60)
    ) == ["timeout"]
    eventually(lambda: source._crew.stuck == 0)


def test_a_lock_is_waited_for_no_longer_than_there_is_time(make: Make, postgres: Postgres) -> None:
    source = make()
    assert values_or_problems(source.fetch(keys_of(1))) == [10.0]
    with closing(postgres.connect()) as other, other.transaction():
        other.execute("lock table users in access exclusive mode")
        with within(0.3):
            (why,) = values_or_problems(source.fetch(keys_of(1), 0.3))
        assert why in ("late", "timeout")
    assert values_or_problems(source.fetch(keys_of(1), 5.0)) == [10.0]


def test_a_restart_of_the_server_is_survived(make: Make, postgres: Postgres) -> None:
    source = make()
    assert values_or_problems(source.fetch(keys_of(1))) == [10.0]
    postgres.stop()
    assert values_or_problems(source.fetch(keys_of(1), 2.0)) == ["refused"]
    postgres.start()
    assert values_or_problems(source.fetch(keys_of(1), 5.0)) == [10.0]
    postgres.stop()
    postgres.start()
    assert values_or_problems(source.fetch(keys_of(1), 5.0)) == [10.0]


def test_requests_at_once_have_a_connection_each_and_give_it_back(
    make: Make, postgres: Postgres
) -> None:
    source = make(query="select whole, pg_sleep(2)::text || '1' from users where whole in :keys")
    gone: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda: gone.append(values_or_problems(source.fetch(keys_of(1), HANGS)))
        )
        for _ in range(6)
    ]
    with within(2):  # and not twelve
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert gone == [[1.0]] * 6
    source.close()
    eventually(lambda: not sessions(postgres))


def test_one_request_after_the_other_needs_one_connection(make: Make, postgres: Postgres) -> None:
    eventually(lambda: not sessions(postgres))
    source = make()
    for each in range(1, 20):
        assert values_or_problems(source.fetch(keys_of(each))) == [10.0 * each]
    assert sessions(postgres) == ["idle"]


def test_a_copy_connects_for_itself(make: Make) -> None:
    source = make()
    assert values_or_problems(source.fetch(keys_of(1))) == [10.0]
    copied = pickle.loads(pickle.dumps(source))  # noqa: S301
    assert not copied._engines
    assert values_or_problems(copied.fetch(keys_of(2))) == [20.0]
    copied.close()


def _in_child(source: SqlSource, pipe: Any) -> None:
    pipe.send([values_or_problems(source.fetch(np.array([2]), 20.0)) for _ in range(2)])
    source.close()
    pipe.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_leaves_the_connection_of_its_parent_alone(make: Make, postgres: Postgres) -> None:
    eventually(lambda: not sessions(postgres))
    source = make()
    assert values_or_problems(source.fetch(keys_of(1))) == [10.0]
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe()
    child = fork.Process(target=_in_child, args=(source, there))
    child.start()
    there.close()
    assert here.poll(20)
    assert here.recv() == [[20.0], [20.0]]
    child.join(20)
    assert child.exitcode == 0
    assert values_or_problems(source.fetch(keys_of(3), 5.0)) == [30.0]
    assert sessions(postgres) == ["idle"]


def test_a_connection_that_comes_late_serves_the_next_request(
    make: Make, postgres: Postgres
) -> None:
    """Connecting takes longer than the deadline. It goes on, or no request would ever be done."""
    with line(postgres.port, pause=0.1) as way:
        way.how = "slow"
        source = make(postgres.url(port=way.port))
        assert values_or_problems(source.fetch(keys_of(1), 0.15)) == ["late"]
        eventually(lambda: source._crew.stuck == 0)
        way.how = "through"
        assert values_or_problems(source.fetch(keys_of(1), 5.0)) == [10.0]
        assert way.connections == 1


@pytest.mark.parametrize("how", ["silent", "drips"])
def test_a_thread_that_hangs_comes_back(make: Make, postgres: Postgres, how: Any) -> None:
    """Whether it hangs while it connects, or later."""
    with line(postgres.port) as way:
        connected = make(postgres.url(port=way.port), timeout=0.3)
        assert values_or_problems(connected.fetch(keys_of(1), 5.0)) == [10.0]
        way.how = how
        assert values_or_problems(connected.fetch(keys_of(1))) == ["timeout"]
        assert values_or_problems(
            make(postgres.url(port=way.port), timeout=0.3).fetch(keys_of(1))
        ) == ["timeout"]
        other = make(postgres.url(port=way.port), timeout=0.3)
        assert values_or_problems(other.fetch(keys_of(1), 0.2)) == ["late"]
        for source in (connected, other):
            eventually(lambda each=source: each._crew.stuck == 0)  # type: ignore[misc]


def test_a_type_that_is_changed_is_learnt_again(make: Make, postgres: Postgres) -> None:
    postgres.run("drop table if exists moved", "create table moved (k int, v int)")
    postgres.run("insert into moved values (7, 70)")
    source = make(table="moved", key="k", value="v")
    for _ in range(8):  # a driver may prepare what is asked often
        assert values_or_problems(source.fetch(keys_of(7))) == [70.0]
    postgres.run("alter table moved alter v type bigint")
    assert values_or_problems(source.fetch(keys_of(7))) == [70.0]
    postgres.run("alter table moved alter k type text")
    assert values_or_problems(source.fetch(keys_of(7))) == ["client"]
    assert values_or_problems(source.fetch(keys_of(7))) == [70.0]


@pytest.mark.parametrize(
    ("settings", "field", "says"),
    [
        ({"table": "absent"}, "table", "does not exist"),
        ({"key": "absent"}, "key", "does not exist"),
        ({"value": "absent"}, "value", "does not exist"),
        ({"query": "select * from users where whole in :keys"}, "query", "11 columns"),
        ({"url": {"password": "wrong" + PASSWORD}}, "url", "password"),
        ({"url": {"user": "nobody_here"}}, "url", "password authentication failed"),
        ({"url": {"database": "absent"}}, "url", "does not exist"),
        ({"url": {"host": "no.such.host.invalid"}}, "url", "no connection"),
        ({"url": {"port": 1}}, "url", "no connection"),
        ({"url": {"query": {"sslmode": "require"}}}, "url", "no safe connection"),
        (
            {"password_env": "TOPWATER_TEST_UNSET", "url": {"password": None}},
            "password_env",
            "UNSET",
        ),
        ({"url": {"password": "$TOPWATER_TEST_UNSET"}}, "url", "TOPWATER_TEST_UNSET is not set"),
    ],
)
def test_check_names_the_setting(
    make: Make, postgres: Postgres, settings: dict[str, Any], field: str, says: str
) -> None:
    url = postgres.url(**settings.pop("url")) if "url" in settings else None
    source = make(url, **settings)
    with pytest.raises(SourceError, match=says) as caught:
        source.check()
    assert caught.value.field == field, caught.value
    assert caught.value.__context__ is None
    assert PASSWORD not in str(caught.value)


def test_check_of_one_that_is_well_or_silent(make: Make, postgres: Postgres) -> None:
    make().check()
    make(query=query_by("place")).check()
    with line() as way:
        with within(0.3), pytest.raises(SourceError, match="no answer") as caught:
            make(postgres.url(port=way.port), timeout=0.3).check()
        assert caught.value.field == "url"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_the_ways_to_name_postgresql(make: Make, postgres: Postgres, scheme: str) -> None:
    url = postgres.url(password=PASSWORD)
    source = make(f"{scheme}://{url.partition('://')[2]}")
    assert values_or_problems(source.fetch(keys_of(1))) == [10.0]
    assert "postgresql+psycopg://" in repr(source)


def test_the_password_comes_from_the_environment(
    make: Make, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOPWATER_TEST_PASSWORD", PASSWORD)
    for password, settings in (
        ("$TOPWATER_TEST_PASSWORD", {}),
        ("${TOPWATER_TEST_PASSWORD}", {}),
        (None, {"password_env": "TOPWATER_TEST_PASSWORD"}),
    ):
        source = make(postgres.url(password=password), **settings)  # type: ignore[arg-type]
        assert values_or_problems(source.fetch(keys_of(1))) == [10.0]


def test_keys_of_several_columns_are_bound_in_the_types_of_theirs(postgres: Postgres) -> None:
    with postgres.connect() as connection:
        connection.execute("drop table if exists sold")
        connection.execute(
            "create table sold (n int, name text, day date, size numeric, open boolean, v float8)"
        )
        connection.execute(
            "insert into sold values (7, 'O''Hara', '2026-11-18', 1.50, true, 3), "
            "(8, 'x', '2026-11-18', 2, false, 4)"
        )
    names = ["n", "name", "day", "size", "open"]
    source = SqlSource(postgres.url(), table="sold", key=names, value="v")
    day = date(2026, 11, 18)
    keys = np.empty(4, object)
    keys[:] = [
        (7, "O'Hara", day, Decimal("1.5"), True),
        ("8", "x", day, Decimal(2), False),
        ("many", "x", day, Decimal(2), False),
        (7, "x", day, Decimal("1.5"), True),
    ]
    got = source.fetch(keys)
    source.close()
    assert got.values.tolist()[:2] == [3.0, 4.0]
    assert got.lacks() == {"not_found": 2}
