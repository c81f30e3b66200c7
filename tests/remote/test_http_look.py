"""What a check tells of a reply, and what it advises."""

from __future__ import annotations

import json
from typing import Any

import pytest

from topwater.errors import SourceError
from topwater.remote.http_look import look_at
from topwater.remote.json_values import Reader
from topwater.remote.look import Look, NoValue
from topwater.remote.replies import Reply
from topwater.remote.service import Service


def look(
    document: Any, value: str = "rating", key: str | None = None, status: int = 200, **more: Any
) -> Look:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    service = Service.of("http://api.example/users?ids={keys}", more.get("headers"))
    reader = Reader.of(value, key, many=key is not None)
    problem = more.get("problem")
    return look_at(Reply(problem, status, {}, body), "7", reader, service, (404,))


def test_what_was_read_is_told() -> None:
    assert look({"rating": "4.5"}) == Look("7", 4.5, '{"rating": "4.5"}', "rating")
    many = look({"users": [{"id": 7, "n": 3}]}, "users[*].n", "users[*].id")
    assert (many.value, many.where) == (3.0, "users[*].n")


@pytest.mark.parametrize(
    ("document", "value", "problem", "fix"),
    [
        ({"rating": 4.5}, "ratign", "there is nothing at ratign in ", 'value = "rating"'),
        ({"rating": None, "n": 2}, "rating", "there is null at rating in ", "number: n (2)"),
        ({"rating": "good"}, "rating", "there is no number at rating in ", "no number anywhere"),
        ([{"rating": 4}], "rating", "no rating in it, in ", "rating"),
        (b'{"n": 1, "n": 2}', "n", "two values for one key", "one value"),
        (b"<html>Welcome", "n", "does not answer in JSON, but with <html>Welcome", "address"),
        (b"", "n", "does not answer in JSON, but with nothing", "address"),
    ],
)
def test_what_is_wrong_is_told_with_the_reply(
    document: Any, value: str, problem: str, fix: str
) -> None:
    with pytest.raises(SourceError) as caught:
        look(document, value)
    assert problem in caught.value.problem
    assert fix in caught.value.fix


def test_a_key_that_is_not_in_the_reply() -> None:
    with pytest.raises(NoValue, match="key: no usable value for the key '7': key not found in "):
        look({"users": [{"id": 8, "n": 3}]}, "users[*].n", "users[*].id")


def test_statuses() -> None:
    with pytest.raises(NoValue, match=r"does not know the key '7' \(status 404\)"):
        look(b"", status=404, problem="client")
    with pytest.raises(SourceError, match="refuses us with status 401"):
        look(b"", status=401, problem="client")
    with pytest.raises(SourceError, match=r"status 500 \(server\)") as caught:
        look(b"", status=500, problem="server")
    assert not isinstance(caught.value, NoValue)


def test_secrets_in_a_reply_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "very secret")
    headers = {"Authorization": "Bearer ${TOKEN}", "X-Key": "plain-literal"}
    document = {"rating": 1, "echo": ["Bearer very secret", "plain-literal", "very%20secret"]}
    told = look(document, headers=headers).reply
    assert "secret" not in told
    assert "plain-literal" not in told
