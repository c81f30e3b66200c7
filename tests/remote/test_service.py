"""Where a service is, what is sent along, and that secrets are never part of it."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from topwater.errors import QueryError, SourceError
from topwater.model import Problem
from topwater.remote.look import excerpt
from topwater.remote.replies import Reply
from topwater.remote.service import Service, filled, most_of, positive, require_reached

SECRET = "hunter2-s3cret/&"  # noqa: S105


def test_variables_are_filled_in_when_they_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service.of(
        "https://me:${TW_PASSWORD}@api.example/?t=${TW_TOKEN}", {"X-Id": "no ${TW_TOKEN}"}
    )
    assert service.variables == ["TW_PASSWORD", "TW_TOKEN"]
    with pytest.raises(KeyError):
        service.sent_headers()
    monkeypatch.setenv("TW_PASSWORD", "a%3Ab")
    monkeypatch.setenv("TW_TOKEN", SECRET)
    assert service.sent_headers() == {"X-Id": f"no {SECRET}", "Authorization": "Basic bWU6YTpi"}
    assert filled(service.url, encoded=True) == "https://api.example/?t=hunter2-s3cret%2F%26"
    assert SECRET.encode() not in pickle.dumps(service)
    assert SECRET not in repr(service) + service.shown


def test_a_variable_that_is_not_set_is_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service.of("https://api.example/", {"X-Id": "${TW_TOKEN}"})
    monkeypatch.delenv("TW_TOKEN", raising=False)
    with pytest.raises(SourceError, match="TW_TOKEN") as caught:
        service.require_variables()
    assert caught.value.field == "headers"
    monkeypatch.setenv("TW_TOKEN", "x")
    service.require_variables()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("HTTPS://me:secret@api.example:81/v1?token=secret", "https://api.example:81"),
        ("http://a:b@secret@api.example/", "http://api.example"),
        ("http://[::1]:80/secret", "http://[::1]:80"),
    ],
)
def test_what_is_shown_of_an_address(url: str, shown: str) -> None:
    service = Service.of(url)
    assert service.shown == shown
    assert "secret" not in repr(service)


@pytest.mark.parametrize(
    "url",
    [7, "https://api.example/ x", "https://api.example/\n", "api.example/", "ftp://api.example/",
     "https:///x", "https://{key}.example/", "https://api.example:{key}/", "https://$HOST/",
     "https://a:b:c/", "https://api.example:123456/", f"ftp://me:{SECRET}@api.example/"],
)  # fmt: skip
def test_what_is_no_address(url: Any) -> None:
    with pytest.raises(QueryError) as caught:
        Service.of(url, setting="endpoint")
    assert caught.value.field == "endpoint"
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("ftp://me:pass/word@api.example/v1?token=pass", "ftp://api.example is"),
        ("https://me:pass/word@api.example/v1", "https://api.example can"),
        ("https://me:pass?word@api.example:x/", "https://… can"),
        ("me:pass@api.example/v1", "has no scheme"),
        ("api.example/v1#pass", "has no scheme"),
    ],
)
def test_a_password_with_any_sign_in_it_is_not_told(url: str, shown: str) -> None:
    with pytest.raises(QueryError) as caught:
        Service.of(url)
    assert shown in caught.value.problem
    assert "pass" not in str(caught.value)


@pytest.mark.parametrize(
    ("headers", "field"),
    [
        (["X"], "headers"),
        ({"a b": "c"}, "headers"),
        ({7: "c"}, "headers"),
        ({"X": 7}, "headers.X"),
        ({"X": f"{SECRET}\r\nEvil: 1"}, "headers.X"),
        ({"X": f"$TOKEN{SECRET}"}, "headers.X"),
        ({"X": "${a-b}"}, "headers.X"),
    ],
)
def test_headers_that_can_not_be_sent(headers: Any, field: str) -> None:
    with pytest.raises(QueryError) as caught:
        Service.of("https://api.example/", headers)
    assert caught.value.field == field
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("problem", "field"),
    [("refused", "url"), ("tls", "verify"), ("timeout", "url"), ("garbled", "url")],
)
def test_a_service_that_did_not_answer(problem: Problem, field: str) -> None:
    with pytest.raises(SourceError, match=rf"https://x\.example.*{problem}") as caught:
        require_reached(Reply(problem), "https://x.example", "url")
    assert caught.value.field == field
    assert caught.value.fix


@pytest.mark.parametrize("status", [401, 403, 407])
def test_a_service_that_refuses_us(status: int) -> None:
    with pytest.raises(SourceError, match=str(status)) as caught:
        require_reached(Reply("client", status), "https://x.example", "url")
    assert caught.value.field == "headers"


@pytest.mark.parametrize("reply", [Reply(None, 200), Reply("client", 404), Reply("server", 500)])
def test_any_other_answer_shows_that_it_is_there(reply: Reply) -> None:
    require_reached(reply, "https://x.example", "url")


@pytest.mark.parametrize("value", [0, -1, True, "1", None, float("nan")])
def test_a_number_above_0(value: Any) -> None:
    assert positive(2, "timeout") == 2.0
    with pytest.raises(QueryError) as caught:
        positive(value, "timeout")
    assert caught.value.field == "timeout"


@pytest.mark.parametrize("value", [0, 101, True, 2.0, "2"])
def test_how_many_keys_a_request_has(value: Any) -> None:
    assert [most_of(given, 50, 100) for given in (None, 1, 100)] == [50, 1, 100]
    with pytest.raises(QueryError, match="100") as caught:
        most_of(value, 50, 100)
    assert caught.value.field == "per_request"


@pytest.mark.parametrize("password", ['pa"s/+word', "s\u00e9cret-1", "back\\slash"])
def test_what_a_reply_may_repeat_is_hidden_however_it_is_written(
    password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", password)
    secrets = Service.of("http://api/{key}", {"X-Token": "${TOKEN}"}).secrets()
    for reply in (password, json.dumps(password), json.dumps(password, ensure_ascii=False)):
        assert password[-3:] not in excerpt(reply, secrets)


def test_a_login_is_hidden_also_decoded() -> None:
    secrets = Service.of("http://me:p%40ssw0rd@api/{key}").secrets()
    assert "ssw0rd" not in excerpt('{"got": "me p@ssw0rd"}', secrets)


def test_what_may_be_a_token_in_an_address_is_hidden_in_a_reply_and_words_are_not() -> None:
    secrets = Service.of("http://api/users/v1/t0kenInPath/{key}?apikey=t0kenInQuery").secrets()
    told = excerpt('{"users": "v1", "path": "/t0kenInPath", "apikey": "t0kenInQuery"}', secrets)
    assert told == '{"users": "v1", "path": "/***", "apikey": "***"}'


def test_a_redirect_is_told_with_what_to_do() -> None:
    with pytest.raises(SourceError, match="redirects to"):
        require_reached(Reply("redirect"), "http://api", "url")
