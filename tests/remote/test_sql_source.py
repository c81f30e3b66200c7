"""SqlSource against SQLite: values, types, threads, deadlines, and what is refused when built."""

from __future__ import annotations

import multiprocessing
import pickle
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.fetched import keys_of, values_or_problems
from tests.support.timing import within
from topwater.errors import QueryError, SourceError
from topwater.remote.sql_source import SqlSource
from topwater.testing import check_source

SLOW = """
with recursive c(x) as (select 1 union all select x + 1 from c where x < 500000000)
select id, (select count(*) from c) from users where id in :keys
"""
"""A statement that takes minutes."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "us ers#%.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("create table users (id integer primary key, name text, followers)")
        made.executemany(
            "insert into users values (?, ?, ?)",
            [(each, f"user{each}", 10 * each) for each in range(1, 101)],
        )
        made.commit()
    return path


Make = Callable[..., SqlSource]


@pytest.fixture
def make(file: Path) -> Iterator[Make]:
    made = []

    def make(**changes: Any) -> SqlSource:
        plain: dict[str, Any] = {"table": "users", "key": "id", "value": "followers"}
        if "query" in changes:
            plain = {}
        made.append(SqlSource(f"sqlite:///{file}", **{**plain, **changes}))
        return made[-1]

    yield make
    for source in made:
        source.close()


def change(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as made:
        for statement in statements:
            made.execute(statement)
        made.commit()


def test_it_keeps_the_contract_of_a_source(make: Make) -> None:
    check_source(make, keys_of(3, 1, 2), keys_of(1000, -1))
    check_source(lambda: make(key="name"), keys_of("user3", "user1"), keys_of("nobody", ""))
    query = "select id, followers from users where id in :keys"
    check_source(lambda: make(query=query), keys_of(3, 1, 2), keys_of(1000, -1))


def test_one_statement_asks_for_all_keys(make: Make) -> None:
    got = make(per_request=100).fetch(np.arange(100, 0, -1))
    assert got.values.tolist() == [10.0 * each for each in range(100, 0, -1)]
    assert got.seconds > 0
    with pytest.raises(ValueError, match="101 keys"):
        make(per_request=100).fetch(np.arange(101))


@pytest.mark.parametrize("key", ["id", "name"])
def test_keys_take_the_type_of_the_column(make: Make, file: Path, key: str) -> None:
    """7 and "7" are one key, in a column of integers and in one of text; "07" is another."""
    change(file, "update users set name = cast(id as text)")
    source = make(key=key)
    assert values_or_problems(source.fetch(keys_of(7, 8))) == [70.0, 80.0]
    assert values_or_problems(source.fetch(keys_of("7", "8"))) == [70.0, 80.0]
    got = values_or_problems(source.fetch(keys_of("07", "7 ", "7.0", "8")))
    assert np.isnan(got[:3]).all()
    assert got[3] == 80.0


def test_a_loose_comparison_gives_no_value_to_another_key(make: Make, file: Path) -> None:
    change(
        file,
        "create table people (name text collate nocase, n)",
        "insert into people values ('Bob', 1)",
    )
    got = make(table="people", key="name", value="n").fetch(keys_of("bob", "Bob"))
    assert np.isnan(got.values[0])
    assert got.values[1] == 1.0


def test_what_values_may_be(make: Make, file: Path) -> None:
    values = {1: 2.5, 2: None, 3: "12", 4: " -1e3 ", 5: "many", 6: b"\x01", 7: True, 8: 2**62}
    with closing(sqlite3.connect(file)) as made:
        made.executemany(
            "update users set followers = ? where id = ?", [(v, k) for k, v in values.items()]
        )
        made.execute("update users set followers = 9e999 where id = 9")
        made.execute("update users set followers = '1_000' where id = 10")
        made.commit()
    got = values_or_problems(make().fetch(np.arange(1, 11)))
    none = np.nan
    expected = [2.5, none, 12.0, -1000.0, none, none, 1.0, 2.0**62, none, none]
    assert np.array_equal(got, expected, equal_nan=True)


def test_two_different_values_are_told_and_two_equal_ones_are_one(make: Make, file: Path) -> None:
    change(file, "create table twice (k, v)")
    change(file, "insert into twice values (1, 1), (1, 1), (2, 1), (2, 2), (3, 1), (3, null)")
    change(file, "insert into twice values (4, null), (4, null), (5, 1), (5, 2), (5, 2)")
    got = values_or_problems(make(table="twice", key="k", value="v").fetch(np.arange(1, 6)))
    assert np.isnan(got.pop(3))
    assert got == [1.0, "doubled", "doubled", "doubled"]


def test_a_key_asked_for_twice_is_answered_twice(make: Make) -> None:
    assert values_or_problems(make().fetch(keys_of(1, 2, 1))) == [10.0, 20.0, 10.0]
    assert values_or_problems(make().fetch(np.array([1, "1", np.int64(2)], object))) == [
        10.0,
        10.0,
        20.0,
    ]


def test_rows_that_nobody_asked_for_are_left_out(make: Make) -> None:
    query = "select id, followers from users where 0 not in :keys"
    assert values_or_problems(make(query=query).fetch(keys_of(5, 7))) == [50.0, 70.0]


def test_more_rows_than_a_look_up_has_are_not_read(make: Make) -> None:
    query = """
    with recursive c(x) as (select 1 union all select x + 1 from c)
    select x, 1 from c where 0 not in :keys
    """
    assert values_or_problems(make(query=query).fetch(keys_of(5), 10.0)) == ["large"]


def test_names_are_quoted(make: Make, file: Path) -> None:
    table, key, value = 'Odd "na.me', "select; drop table users", "va lue'"
    quoted = [each.replace('"', '""') for each in (table, key, value)]
    change(file, 'create table "{}" ("{}", "{}")'.format(*quoted))
    change(file, f'insert into "{quoted[0]}" values (1, 5)')  # noqa: S608
    source = make(table=f'"{quoted[0]}"', key=key, value=value)
    source.check()
    assert values_or_problems(source.fetch(keys_of(1))) == [5.0]
    main = make(table="main.users")
    assert values_or_problems(main.fetch(keys_of(1))) == [10.0]
    evil = make(table="users; drop table users")
    assert values_or_problems(evil.fetch(keys_of(1))) == ["client"]
    assert values_or_problems(main.fetch(keys_of(1))) == [10.0]


def test_nothing_is_written(make: Make, file: Path) -> None:
    """Not by a query that would, and no file is made where there is none."""
    with pytest.raises(QueryError, match="select"):
        make(query="delete from users where id in :keys returning id, followers")
    source = make()
    source.check()
    with source._engine().connect() as connection:
        for statement in ("delete from users", "create table more (a)"):
            with pytest.raises(Exception, match="readonly"):
                connection.exec_driver_sql(statement)
    absent = SqlSource(f"sqlite:///{file}.absent", table="a", key="b", value="c")
    assert values_or_problems(absent.fetch(keys_of(1))) == ["refused"]
    absent.close()
    assert not Path(f"{file}.absent").exists()


def test_a_database_in_memory(make: Make) -> None:
    """One with a name is shared by all threads of a process, and read only by us."""
    url = "file:shared_by_test?mode=memory&cache=shared"
    with closing(sqlite3.connect(url, uri=True)) as made:
        made.execute("create table t (k text, v)")
        made.execute("insert into t values ('a', 1)")
        made.commit()
        source = SqlSource(f"sqlite:///{url}&uri=true", table="t", key="k", value="v")
        assert values_or_problems(source.fetch(keys_of("a"))) == [1.0]
        with source._engine().connect() as connection, pytest.raises(Exception, match="readonly"):
            connection.exec_driver_sql("delete from t")
        source.close()
    alone = SqlSource("sqlite://", table="t", key="k", value="v")
    assert values_or_problems(alone.fetch(keys_of("a"))) == ["client"]
    alone.close()


def test_a_slow_statement_is_stopped_at_the_deadline(make: Make) -> None:
    source = make(query=SLOW)
    with within(0.2):
        assert values_or_problems(source.fetch(keys_of(1, 2), 0.2)) == ["late", "late"]
    assert values_or_problems(make(query=SLOW, timeout=0.2).fetch(keys_of(1), 60.0)) == ["timeout"]
    # It was stopped, not only left: its thread is free again.
    until = time.monotonic() + 5
    while source._crew.stuck and time.monotonic() < until:
        time.sleep(0.01)
    assert source._crew.stuck == 0


def test_no_time_is_no_request(make: Make) -> None:
    for deadline in (0.0, -1.0):
        assert values_or_problems(make().fetch(keys_of(1), deadline)) == ["late"]


def test_a_lock_is_waited_for_no_longer_than_there_is_time(make: Make, file: Path) -> None:
    source = make()
    assert values_or_problems(source.fetch(keys_of(1))) == [10.0]
    with closing(sqlite3.connect(file)) as other:
        other.execute("begin exclusive")
        with within(0.2):
            (why,) = values_or_problems(source.fetch(keys_of(1), 0.2))
        assert why in ("late", "timeout")
        other.rollback()
    assert values_or_problems(source.fetch(keys_of(1), 5.0)) == [10.0]


def test_many_threads_at_once(make: Make) -> None:
    source = make()
    wrong: list[Any] = []

    def ask(first: int) -> None:
        for each in range(first, first + 20):
            got = values_or_problems(source.fetch(keys_of(each, each + 1), 20.0))
            if got != [10.0 * each, 10.0 * (each + 1)]:
                wrong.append((each, got))

    threads = [
        threading.Thread(target=ask, args=(first,)) for first in (1, 11, 21, 31, 41, 51, 61, 71)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_pickle_has_no_connection_and_a_closed_one_connects_again(make: Make) -> None:
    source = make()
    assert values_or_problems(source.fetch(keys_of(1))) == [10.0]
    copied = pickle.loads(pickle.dumps(source))  # noqa: S301
    assert not copied._engines
    assert values_or_problems(copied.fetch(keys_of(2))) == [20.0]
    assert repr(copied) == repr(source)
    copied.close()
    copied.close()
    assert not copied._engines
    assert values_or_problems(copied.fetch(keys_of(2))) == [20.0]
    copied.close()


def _in_child(source: SqlSource, pipe: Any) -> None:
    pipe.send(values_or_problems(source.fetch(np.array([2]), 20.0)))
    pipe.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_connects_anew(make: Make) -> None:
    source = make()
    assert values_or_problems(source.fetch(keys_of(1))) == [10.0]
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe()
    child = fork.Process(target=_in_child, args=(source, there))
    child.start()
    there.close()
    assert here.poll(20)
    assert here.recv() == [20.0]
    child.join(20)
    assert child.exitcode == 0
    assert values_or_problems(source.fetch(keys_of(3))) == [30.0]


@pytest.mark.parametrize(
    ("settings", "field", "says"),
    [
        ({"table": "t"}, "key", "not a name"),
        ({"table": "t", "key": "k"}, "value", "not a name"),
        ({"table": "", "key": "k", "value": "v"}, "table", "not a name"),
        ({"table": "a.b.c", "key": "k", "value": "v"}, "table", "not the name of a table"),
        ({}, "table", "either a table or a query"),
        ({"table": "t", "query": "select 1, 2"}, "table", "either a table or a query"),
        ({"query": "select a, b from t"}, "query", "no parameter :keys"),
        ({"query": "select a, b, c from t where a in :keys"}, "query", "3 columns"),
        ({"query": "select a, b from t where a in :keys", "key": "a"}, "key", "itself"),
        ({"query": "select a, b from t where a in :keys", "per_request": 0}, "per_request", "0"),
        (
            {"query": "select a, b from t where a in :keys", "per_request": 40_000},
            "per_request",
            "3",
        ),
        ({"query": "select a, b from t where a in :keys", "timeout": 0}, "timeout", "above 0"),
        ({"query": "select a, b from t where a in :keys", "timeout": True}, "timeout", "above 0"),
    ],
)
def test_what_can_not_work_is_said_when_it_is_built(
    settings: dict[str, Any], field: str, says: str
) -> None:
    with pytest.raises(QueryError, match=says) as caught:
        SqlSource("sqlite://", **settings)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("settings", "field", "says"),
    [
        ({"table": "absent"}, "table", "no such table"),
        ({"key": "absent"}, "key", "no such column"),
        ({"value": "absent"}, "value", "no such column"),
        ({"query": "select * from users where id in :keys"}, "query", "3 columns"),
        ({"query": "select id, fellows from users where id in :keys"}, "query", "fellows"),
    ],
)
def test_check_names_the_setting(
    make: Make, settings: dict[str, Any], field: str, says: str
) -> None:
    with pytest.raises(SourceError, match=says) as caught:
        make(**settings).check()
    assert caught.value.field == field
    assert caught.value.__context__ is None
    assert values_or_problems(make(**settings).fetch(keys_of(1))) == ["client"]


def test_check_finds_a_file_that_is_none(tmp_path: Path) -> None:
    for content, says in ((None, "no connection"), (b"no database at all" * 99, "not a database")):
        path = tmp_path / "a.db"
        if content is not None:
            path.write_bytes(content)
        source = SqlSource(f"sqlite:///{path}", table="t", key="k", value="v")
        with pytest.raises(SourceError, match=says) as caught:
            source.check()
        assert caught.value.field in ("url", "table")
        source.close()
