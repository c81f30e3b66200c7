"""Which path was probably meant."""

from __future__ import annotations

from typing import Any

import pytest

from topwater.remote.json_advice import advice
from topwater.remote.json_path import Path

REPLY = {
    "id": "x",
    "rating": 4.5,
    "data": {"score": {"stars": "12"}, "name": "ann"},
    "history": [1, {"mean rating": 3}],
}


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("ratign", "rating"),
        ("Rating", "rating"),
        ("/rating", "rating"),
        ("rating[0]", "rating"),
        ("data.rating", "rating"),
        ("stars", "data.score.stars"),
        ("score.stars", "data.score.stars"),
        ("data.score.star", "data.score.stars"),
        ("/data/score/stars", "data.score.stars"),
        ("data.score", "data.score.stars"),
        ("history", "history[0]"),
    ],
)
def test_the_nearest_path_to_a_number(wanted: str, meant: str) -> None:
    told = advice(REPLY, Path.parse(wanted), "x")
    assert f"{meant}" in told.partition("?")[0], told
    assert told.startswith("did you mean value = ")


def test_where_none_is_near_all_are_listed() -> None:
    told = advice(REPLY, Path.parse("followers"), "x")
    assert told.startswith("use a path to a number: rating (4.5), history[0] (1)")


@pytest.mark.parametrize(
    ("document", "wanted", "meant"),
    [
        ({"users": [{"id": 1, "followers": 9}]}, "users[*].folowers", "users[*].followers"),
        ({"people": [{"id": 1, "followers": 9}]}, "users[*].followers", "people[*].followers"),
        ({"counts": {"ann": {"n": 9}}}, "count.{key}.n", "counts.{key}.n"),
        ([{"n": 9}], "n", "[0].n"),
        (7, "n", "."),
    ],
)
def test_lists_and_keys_are_named_as_the_path_names_them(
    document: Any, wanted: str, meant: str
) -> None:
    assert f'value = "{meant}"?' in advice(document, Path.parse(wanted), "ann")


@pytest.mark.parametrize("document", [{}, [], None, {"a": "b"}, {"a": [None, "x"]}])
def test_a_reply_without_a_number(document: Any) -> None:
    assert advice(document, Path.parse("a"), "x").startswith("there is no number anywhere")


def test_a_huge_or_deep_reply_takes_no_time() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = {"a": deep}
    assert "no number" in advice(deep, Path.parse("b"), "x")
    wide = {f"n{number}": number for number in range(100_000)}
    assert "n7" in advice(wide, Path.parse("n7x"), "x")


@pytest.mark.parametrize("value", [None, "n/a", "4.5 stars"])
def test_a_path_that_leads_to_something_may_be_right(value: Any) -> None:
    told = advice({"id": 7, "rating": value}, Path.parse("rating"), "x", there=True)
    assert told == "name a key that has a number there, or use a path to a number: id (7)"
    told = advice({"rating": value}, Path.parse("rating"), "x", there=True)
    assert told.endswith("name a key that has a number there")


@pytest.mark.parametrize("name", ["\x1b[2Jrating", "\x1brating", "rating\u202e", "\u200brating"])
def test_a_name_steers_no_terminal_and_its_path_can_be_written(name: str) -> None:
    told = advice({name: 4.5}, Path.parse("rating"), "x")
    assert told.isprintable()
    path = told.partition("value = ")[2].partition("? There")[0].strip("'")
    assert list(Path.parse(path).values({name: 4.5})) == [4.5]
