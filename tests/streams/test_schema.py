"""The columns of a stream, as its schema names them in Spark's words."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.errors import QueryError
from topwater.streams.schema import columns


@given(st.text())
def test_no_text_as_schema_is_more_than_an_error(text: str) -> None:
    with contextlib.suppress(QueryError):
        assert columns(text)


def test_names_and_types() -> None:
    found = columns("`a ``b` STRING, c: decimal(3, 2), d map<string, array<int>> COMMENT 'x, y'")
    assert found == {"a `b": "string", "c": "decimal", "d": "map"}


@pytest.mark.parametrize(
    ("schema", "told", "fix"),
    [
        ("a strng", "the unknown type strng", "did you mean string?"),
        ("a Timestmp", "the unknown type Timestmp", "did you mean timestamp?"),
        ("a xyz", "the unknown type xyz", "use string, bigint, "),
        ("a int, A bigint", "the column A is there twice", "name it once"),
        ("a array<int", "not closed", "close it"),
        ("a", "'a' is not a column", "write "),
        ("", "must be text", "write "),
    ],
)
def test_what_is_no_schema(schema: str, told: str, fix: str) -> None:
    with pytest.raises(QueryError, match=told) as caught:
        columns(schema)
    assert caught.value.field == "schema"
    assert caught.value.fix.startswith(fix)
