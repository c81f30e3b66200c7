"""What a database is asked: statements from names, and queries of one's own."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from topwater.errors import QueryError
from topwater.remote.database_rows import KeyKind
from topwater.remote.statements import MOST_ROWS, Lookup, checked

OWN = "select a, b from t where a in :keys"


def written(statement: sa.Executable, dialect: sa.Dialect) -> str:
    compiled: Any = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
    return " ".join(str(compiled).split())


def test_keys_are_a_parameter() -> None:
    lookup = Lookup(table="users", key="id", value="n")
    plain = written(lookup.statement("given"), sqlite.dialect())
    assert plain.startswith("SELECT users.id, users.n FROM users WHERE users.id IN (")
    assert "LIMIT" in plain


@pytest.mark.parametrize(
    ("kind", "column", "array"),
    [
        ("whole", "users.id", "BIGINT[]"),
        ("text", "users.id", "TEXT[]"),
        ("decimal", "users.id", "NUMERIC[]"),
        ("uuid", "users.id", "UUID[]"),
        ("other", "CAST(users.id AS TEXT)", "TEXT[]"),
    ],
)
def test_postgresql_gets_one_array_of_the_type_of_its_column(
    kind: KeyKind, column: str, array: str
) -> None:
    lookup = Lookup(table="users", key="id", value="n")
    text = written(lookup.statement(kind, postgres=True), postgresql.dialect())  # type: ignore[no-untyped-call]
    assert f"WHERE {column} = any(%(keys)s::{array})" in text


def test_a_query_of_ones_own_is_bounded_where_all_rows_come_at_once() -> None:
    lookup = Lookup(query=f"{OWN};")
    assert str(lookup.statement("given")).startswith("select a, b from t where a in (")
    inside = str(lookup.statement("given", postgres=True))
    assert inside.startswith("SELECT * FROM (\nselect a, b")
    assert inside.endswith(f"LIMIT {MOST_ROWS}")
    assert str(lookup.probe(postgres=True)).endswith("LIMIT 0")


@pytest.mark.parametrize(
    ("table", "quoted"),
    [
        ("users", "users"),
        ("shop.users", "shop.users"),
        ('"a.b"."c""d"', '"a.b"."c""d"'),
        ("users; drop table users", '"users; drop table users"'),
    ],
)
def test_names_are_quoted(table: str, quoted: str) -> None:
    probe = Lookup(table=table, key="id", value="n").probe()
    assert f"FROM {quoted} WHERE" in written(probe, sqlite.dialect())


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({}, "table"),
        ({"table": "t", "query": OWN}, "table"),
        ({"table": "t"}, "key"),
        ({"table": "t", "key": "k"}, "value"),
        ({"table": "t", "key": "k", "value": " "}, "value"),
        ({"table": "t", "key": "k\0", "value": "v"}, "key"),
        ({"table": 7, "key": "k", "value": "v"}, "table"),
        ({"table": "a.b.c", "key": "k", "value": "v"}, "table"),
        ({"table": "a.", "key": "k", "value": "v"}, "table"),
        ({"table": 'a"b', "key": "k", "value": "v"}, "table"),
        ({"query": OWN, "key": "a"}, "key"),
        ({"query": OWN, "value": "b"}, "value"),
        ({"query": ""}, "query"),
    ],
)
def test_what_can_not_be_looked_up(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(QueryError) as caught:
        Lookup(**settings)
    assert caught.value.field == field
    assert caught.value.fix


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("select a, b from t", ":keys"),
        ("select a, b from t where a = :key", ":key"),
        ("select a, b from t where a in :keys and c = :other", ":other"),
        ("select a, b from t where ':keys' = ''", ":keys"),
        ("select a, b -- in :keys", ":keys"),
        ("select a, b from t where c = ' :x' and a in :keys", "colon"),
        ("select a from t where a in :keys", "1 columns"),
        ("select a, b, c from t where a in :keys", "3 columns"),
        ("select a, b from t where a in :keys; drop table t", "more than one"),
        ("update t set a = 1 where b in :keys", "begin with select"),
    ],
)
def test_queries_that_can_not_be_asked(query: str, says: str) -> None:
    with pytest.raises(QueryError) as caught:
        checked(query)
    assert caught.value.field == "query"
    assert says in caught.value.problem


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, max(b, c) FROM t WHERE a IN :keys;",
        "select distinct a, (select count(*), 1 from u where u.x = t.a) from t where a in :keys",
        "with q as (select a, b, c from t) select a, b from q where a in :keys",
        "select * from t where a in :keys",
        "select a, '1,2;3' as \"x, y\" from t /* a, b */ where a in :keys",
        "select a::text, b from t where a in :keys and c = '\\:x'",
        "values (1, 2) union select a, b from t where a in :keys",
    ],
)
def test_queries_that_may_be_asked(query: str) -> None:
    assert checked(f" {query}\n") == query.removesuffix(";")
