"""Requests with places for keys: what is filled in, and which keys they can't hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from topwater.errors import QueryError
from topwater.remote.request_template import LONGEST, Template


def template(url: str, separator: Any = ",", body: Any = None) -> Template:
    return Template.of(f"https://api.example{url}", separator, body)


def texts(*keys: str) -> dict[str, Any]:
    return {key: key for key in keys}


@pytest.mark.parametrize(
    ("url", "separator", "keys", "filled"),
    [
        ("/v?ids={keys}", ",", ["1", "a b"], "/v?ids=1,a%20b"),
        ("/v?id={keys}", "&id=", ["1", "a&b"], "/v?id=1&id=a%26b"),
        ("/v/{keys}/n", ";", ["1", "é"], "/v/1;%C3%A9/n"),
        ("/{key}/of/{key}", ",", ["{now}"], "/%7Bnow%7D/of/%7Bnow%7D"),
        ("/{key}?at={now}", ",", ["7"], "/7?at=-5"),
    ],
)
def test_keys_in_an_address(url: str, separator: str, keys: list[str], filled: str) -> None:
    made = template(url, separator)
    assert made.filled(texts(*keys), -5) == (f"https://api.example{filled}", None)
    assert made.timed == ("{now}" in url)


@pytest.mark.parametrize(
    ("body", "keys", "filled"),
    [
        ({"ids": "{keys}"}, {"1": 1, "a": "a"}, {"ids": [1, "a"]}),
        ('{"ids": "{keys}"}', {"1": 1}, {"ids": [1]}),
        ({"id": "{key}", "of": ("u:{key}",)}, {"7": 7}, {"id": 7, "of": ["u:7"]}),
        ({"q": "in ({keys})", "{keys}": 1}, {"1": 1, "2": 2}, {"q": "in (1,2)", "{keys}": 1}),
        ({"a": ["{keys}"], "at": "{now}"}, {"{now}": "{now}"}, {"a": [["{now}"]], "at": -5}),
        ({"a": "{keys} at {now}"}, {"{now}": "{now}"}, {"a": "{now} at -5"}),
    ],
)
def test_keys_in_a_body(body: Any, keys: dict[str, Any], filled: Any) -> None:
    url, made = template("/v", body=body).filled(keys, -5)
    assert url == "https://api.example/v"
    assert made is not None
    assert json.loads(made) == filled


def test_a_secret_is_filled_in_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPWATER_TEST_TOKEN", "a&b={key}")
    made = template("/{key}?token=${TOPWATER_TEST_TOKEN}")
    assert made.filled(texts("7"))[0].endswith("/7?token=a%26b%3D%7Bkey%7D")
    assert "token" not in repr(made)


@pytest.mark.parametrize(
    ("url", "separator", "body", "key", "held"),
    [
        ("/{key}", ",", None, "a,b", True),
        ("/{key}", ",", None, "a/b", True),
        ("/{key}", ",", None, "..", False),
        ("/{key}", ",", None, "a/../b", False),
        ("/{key}", ",", None, "a\\..", False),
        ("/{key}", ",", None, "a..b", True),
        ("/{key}", ",", None, "", False),
        ("/{key}", ",", None, "\ud800", False),
        ("/{key}", ",", None, "x" * LONGEST, True),
        ("/{key}", ",", None, "x" * (LONGEST + 1), False),
        ("/{key}", ",", None, " " * (LONGEST // 3 + 1), False),
        ("/v?id={key}", ",", None, "..", True),
        ("/v?ids={keys}", ",", None, "a,b", False),
        ("/v?id={keys}", "&id=", None, "a&id=b", True),
        ("/v", ",", {"ids": "{keys}"}, "a,b", True),
        ("/v", ",", {"ids": "all of {keys}"}, "a,b", False),
        ("/v?ids={keys}", ",", {"ids": "{keys}"}, "a,b", False),
    ],
)
def test_a_key_that_would_be_taken_for_something_else_is_not_asked_for(
    url: str, separator: str, body: Any, key: str, held: bool
) -> None:
    assert template(url, separator, body).can_hold(key) is held


@pytest.mark.parametrize(
    ("url", "separator", "body", "field"),
    [
        ("/users", ",", None, "url"),
        ("/users?at={now}", ",", None, "url"),
        ("/{key}/{keys}", ",", None, "url"),
        ("/{key}", ",", {"ids": "{keys}"}, "url"),
        ("/{id}", ",", None, "url"),
        ("/{}", ",", None, "url"),
        ("/{key", ",", None, "url"),
        ("/{key}#top", ",", None, "url"),
        ("/{keys}", "", None, "separator"),
        ("/{keys}", "/", None, "separator"),
        ("/{keys}", "#", None, "separator"),
        ("/{keys}", " ", None, "separator"),
        ("/{keys}", None, None, "separator"),
        ("/v", ",", "{ids", "body"),
    ],
)
def test_what_can_not_work(url: str, separator: Any, body: Any, field: str) -> None:
    with pytest.raises(QueryError) as caught:
        template(url, separator, body)
    assert caught.value.field == field
    assert caught.value.fix


def test_a_body_that_is_nested_without_end_is_not_json() -> None:
    with pytest.raises(QueryError, match="is not JSON"):
        Template.of("http://x/{key}", ",", "[" * 100_000)
