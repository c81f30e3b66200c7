"""Keys and values in JSON documents, by the paths of a reader."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from topwater.errors import QueryError
from topwater.remote.json_values import Reader

USERS = ("users[*].n", "users[*].id")


def body_of(document: Any) -> bytes:
    return document if isinstance(document, bytes) else json.dumps(document).encode()


@pytest.mark.parametrize(
    ("document", "value", "key", "found"),
    [
        ({"users": [{"id": 1, "n": 5}, {"id": "2", "n": "6.5"}]}, *USERS, {"1": 5, "2": 6.5}),
        ([{"id": 1, "n": 5}], "[*].n", "[*].id", {"1": 5}),
        ([[1, 5], [2, 6]], "[*][1]", "[*][0]", {"1": 5, "2": 6}),
        ({"a": {"b": [{"x": {"id": 1.0}, "n": 5}]}}, "a.b[*].n", "a.b[*].x.id", {"1": 5}),
        ({"1": 5, "3": 7}, "{key}", None, {"1": 5}),
        ({"n": {"1": {"f": 5}, "2": {"g": 6}}}, "n.{key}.f", None, {"1": 5, "2": None}),
        ({"n": {"1": [5, 6]}}, "n.{key}[1]", None, {"1": 6}),
        ({"users": []}, *USERS, {}),
        ({"users": [7, None, {"id": True, "n": 5}, {"n": 5}, {"id": 9, "n": 5}]}, *USERS, {}),
        ({"users": [{"id": 1, "n": {}}, {"id": 2, "n": True}]}, *USERS, {"1": None, "2": 1}),
        ({"users": [{"id": 1}]}, *USERS, {"1": None}),
        ({"users": [{"id": 1, "n": 5}, {"id": 1, "n": "5.0"}]}, *USERS, {"1": 5}),
        ({"a.b": [{"id": 1, "n": 5}]}, '["a.b"][*].n', '["a.b"][*].id', {"1": 5}),
    ],
)  # fmt: skip
def test_values_are_found_by_paths(
    document: Any, value: str, key: str | None, found: dict[str, float | None]
) -> None:
    got = Reader.of(value, key, many=True).read(body_of(document), {"1", "2"}).matches()
    assert {k: None if math.isnan(v) else v for k, v in got.values.items()} == found
    assert not got.doubled


@pytest.mark.parametrize(
    ("document", "value", "found"),
    [
        ({"n": 5}, "n", {"7": 5}),
        ({"data": {"7": {"n": 5}}}, "data.{key}.n", {"7": 5}),
        (5, ".", {"7": 5}),
        ({"n": [{"v": 5}, {"v": 5.0}]}, "n[*].v", {"7": 5}),
    ],
)
def test_the_value_of_one_key(document: Any, value: str, found: dict[str, float]) -> None:
    assert (
        Reader.of(value, None, many=False).read(body_of(document), {"7"}).matches().values == found
    )


@pytest.mark.parametrize(
    ("document", "value", "reason"),
    [
        ({}, "n", "no_value"),
        ({"data": None}, "data.n", "no_value"),
        ({"rating": 4.5}, "ratign", "no_value"),
        ({"n": None}, "n", "null"),
        ({"n": "many"}, "n", "not_a_number"),
        ({"n": {"v": 5}}, "n", "not_a_number"),
        ({"data": {"8": 5}}, "data.{key}", "not_found"),
        ({"data": {"7": {}}}, "data.{key}.n", "no_value"),
    ],
)
def test_why_one_key_has_no_value(document: Any, value: str, reason: str) -> None:
    """A path that leads nowhere, a key that is not there and no number are told apart."""
    found = Reader.of(value, None, many=False).read(body_of(document), {"7"})
    got = found.fetched(["7"], 0.0)
    assert (got.ok.tolist(), got.lacks(), got.problems()) == ([True], {reason: 1}, {})


@pytest.mark.parametrize(
    ("document", "value", "key"),
    [
        (b"", "n", None),
        (b"{", "n", None),
        (b"\xff\xfe\x00", "n", None),
        (7, "n", None),
        ({}, "[0]", None),
        ([], "n", None),
        ({"counts": []}, "counts.{key}", None),
        ({"users": 7}, *USERS),
        ({"users": {}}, *USERS),
        ({}, *USERS),
    ],
)
def test_a_document_that_can_not_be_read(document: Any, value: str, key: str | None) -> None:
    reader = Reader.of(value, key, many=key is not None)
    with pytest.raises(ValueError, match=r".+"):
        reader.read(body_of(document), {"7"})


@pytest.mark.parametrize(
    ("body", "value", "key"),
    [
        (b'{"users": [{"id": 1, "n": 5}, {"id": "1", "n": 6}, {"id": 2, "n": 7}]}', *USERS),
        (b'{"1": 5, "2": 7, "1": 6}', "{key}", None),
        (b'{"1": {"n": 5}, "2": {"n": 7}, "1": {"n": 6}}', "{key}.n", None),
    ],
)  # fmt: skip
def test_two_values_for_one_key_are_none(body: bytes, value: str, key: str | None) -> None:
    got = Reader.of(value, key, many=True).read(body, {"1", "2"}).matches()
    assert got.doubled == {"1"}
    assert math.isnan(got.values["1"])
    assert got.values["2"] == 7


def test_a_name_that_stands_twice_with_one_value_is_one() -> None:
    got = Reader.of("{key}", None, many=True).read(b'{"1": 5, "1": 5, "1": 5.0}', {"1"}).matches()
    assert got.values == {"1": 5}
    assert not got.doubled


@pytest.mark.parametrize(
    ("value", "key", "field"),
    [
        ("users[*].n", None, "value"),
        ("n", None, "value"),
        ("users[*].n", "users.id", "key"),
        ("users.n", "users[*].id", "key"),
        ("users[*].n", "people[*].id", "key"),
        ("users[*].n", "all.users[*].id", "key"),
        ("a..b", None, "value"),
        ("users[*].n", "a..b", "key"),
    ],
)
def test_paths_that_do_not_fit_together(value: str, key: str | None, field: str) -> None:
    with pytest.raises(QueryError) as caught:
        Reader.of(value, key, many=True)
    assert caught.value.field == field
    assert caught.value.fix


def columns(body: Any, value: Any, key: Any = None, **more: Any) -> Any:
    reader = Reader.of(value, key, many=True, **more)
    got = reader.read(body_of(body), {"1", "2"}).fetched(["1", "2", "3"], 0.0)
    return {name: column.tolist() for name, column in got.columns.items()} or got.values.tolist()


OFFERS = {
    "offers": [
        {"of": 1, "price": 3, "by": "ann", "stock": 7},
        {"of": 1, "price": "5", "by": "bob", "stock": 7},
        {"of": 2, "price": None, "by": "cy", "stock": 0},
        {"of": 9, "price": 100},
    ]
}


@pytest.mark.parametrize(
    ("merge", "found"),
    [
        ("max", [5.0, None, None]),
        ("min", [3.0, None, None]),
        ("mean", [4.0, None, None]),
        ("sum", [8.0, None, None]),
        ("sample", [3.0, None, None]),
        ("count", [2.0, 0.0, 0.0]),
        ("MAX", [5.0, None, None]),
    ],
)
def test_what_becomes_of_several_values_of_a_key(merge: str, found: list[float | None]) -> None:
    got = columns(OFFERS, f"{merge}(offers[*].price)", "offers[*].of")
    assert [None if math.isnan(each) else each for each in got] == found
    nested = {"of": {"1": [{"price": 3}, {"price": 5}], "2": [{"price": None}]}}
    got = columns(nested, f"{merge}(of.{{key}}[*].price)")
    assert [None if math.isnan(each) else each for each in got] == found


def test_several_values_and_texts_of_a_key() -> None:
    got = columns(
        OFFERS,
        {"price": "max(offers[*].price)", "offers": "count()", "stock": "offers[*].stock"},
        "offers[*].of",
        text={"by": "min(offers[*].by)"},
    )
    assert got["offers"] == [2.0, 1.0, 0.0]
    assert got["stock"][:2] == [7.0, 0.0]
    assert got["by"] == ["ann", "cy", None]


def test_a_key_whose_rows_differ_in_one_value_has_none_of_them() -> None:
    reader = Reader.of(["stock", "price"], None, many=False)
    found = reader.read(b'{"stock": 1, "price": 2, "price": 3}', {"1"}).fetched(["1"], 0.0)
    assert found.problems() == {"doubled": 1}
    assert math.isnan(found.numbers("stock")[0])


def test_why_a_value_among_several_is_missing() -> None:
    reader = Reader.of({"a": "a", "b": "b.c"}, None, many=False, text={"t": "t"})
    got = reader.read(b'{"a": "many", "t": null}', {"1"}).fetched(["1"], 0.0)
    assert {name: why.tolist() for name, why in got.whys.items()} == {
        "a": ["not_a_number"],
        "b": ["no_value"],
        "t": ["no_value"],
    } | {"t": ["null"]}
    assert got.lacks() == {"not_a_number": 1}


@pytest.mark.parametrize(
    ("value", "text", "field"),
    [
        ({}, None, "value"),
        ({"a": 7}, None, "value.a"),
        (["a", "a"], None, "value"),
        ({"a": "a"}, {"a": "b"}, "text"),
        ("a", {"b": "b"}, "value"),
        ({"a": "a"}, "b", "text"),
        ({"a": "best(a)"}, None, "value.a"),
        ({"a": "a"}, {"b": "sum(b)"}, "text.b"),
        ("max()", None, "value"),
        ("count()", None, "value"),
        ({"a": "a..b"}, None, "value.a"),
    ],
)
def test_what_can_not_be_wanted(value: Any, text: Any, field: str) -> None:
    with pytest.raises(QueryError) as caught:
        Reader.of(value, None, many=False, text=text)
    assert caught.value.field == field
    assert caught.value.fix
