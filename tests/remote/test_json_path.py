"""Paths through JSON documents: how they are read, and what is found at their ends."""

from __future__ import annotations

from typing import Any

import pytest

from topwater.errors import QueryError
from topwater.remote.json_path import EACH, KEY, Misfit, Path, Step


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (".", ()),
        ("followers", ("followers",)),
        ("data.user.n", ("data", "user", "n")),
        ("items[0].id", ("items", 0, "id")),
        ("[12][*]", (12, EACH)),
        ("a[*].b", ("a", EACH, "b")),
        ("counts.{key}.n", ("counts", KEY, "n")),
        ("{key}[1]", (KEY, 1)),
        ('["a.b"].c', ("a.b", "c")),
        ('a["x\\"y"]["*"]', ("a", 'x"y', "*")),
        ("naïve-name.0", ("naïve-name", "0")),
    ],
)
def test_a_path_is_a_row_of_steps(text: str, steps: tuple[Step, ...]) -> None:
    path = Path.parse(text)
    assert path.steps == steps
    assert path.text == text


@pytest.mark.parametrize(
    "text",
    ["", "a..b", ".a", "a.", "a[-1]", "a[0].[1]", "a b", "a[", "a[1234567890]", "{keys}", None, 7],
)
def test_what_is_no_path(text: Any) -> None:
    with pytest.raises(QueryError, match="can't be read") as caught:
        Path.parse(text, "key")
    assert caught.value.field == "key"


def test_a_quoted_name_is_quoted_as_in_json() -> None:
    with pytest.raises(QueryError, match="JSON") as caught:
        Path.parse(r'a["\x"]')
    assert caught.value.field == "value"


@pytest.mark.parametrize("text", ["a[*].b[*]", "{key}.{key}", "a[*].{key}"])
def test_a_path_has_one_mark(text: str) -> None:
    with pytest.raises(QueryError, match="more than one"):
        Path.parse(text)


@pytest.mark.parametrize(
    ("text", "document", "found"),
    [
        (".", 7, [7]),
        ("a.b", {"a": {"b": 7}}, [7]),
        ("a.b", {"a": {"b": None}}, [None]),
        ("a.b", {"a": {}}, []),
        ("a.b", {"a": None}, []),
        ("a.b", {"a": [7]}, []),
        ("[1]", [6, 7], [7]),
        ("[2]", [6, 7], []),
        ("[0]", {"0": 7}, []),
        ("0", [7], []),
        ("0", {"0": 7}, [7]),
        ("a[*].n", {"a": [{"n": 1}, {}, 5, {"n": 2}]}, [1, 2]),
        ("[*]", [1, 2], [1, 2]),
        ('["*"]', {"*": 7}, [7]),
    ],
)
def test_what_is_found(text: str, document: Any, found: list[Any]) -> None:
    assert list(Path.parse(text).values(document)) == found


@pytest.mark.parametrize("document", [{"a": {"n": 1}}, {}, [], 7, {"a": None}])
def test_a_document_without_the_list_is_of_no_use(document: Any) -> None:
    with pytest.raises(Misfit, match=r"no list at a\[\*\]\.n"):
        list(Path.parse("a[*].n").values(document))


def test_a_path_is_split_at_its_mark() -> None:
    halves = Path.parse("a.b[*].c").split(EACH)
    assert halves is not None
    assert (halves[0].steps, halves[1].steps) == (("a", "b"), ("c",))
    assert Path.parse("a.b").split(EACH) is None
    assert Path.parse('["*"]').split(EACH) is None, "a name is not a mark"
