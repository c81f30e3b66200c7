"""HTTP services as sources: how they are asked, how their answers are read, what is refused."""

from __future__ import annotations

import json
import logging
import pickle
import traceback
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.fault_server import FaultServer, serving_faults
from topwater.errors import QueryError, SourceError
from topwater.remote.http_source import HttpSource
from topwater.remote.wrappers.stack import stack
from topwater.testing import check_source
from topwater_lab import services
from topwater_lab.experiments.generated_evening import START
from topwater_lab.services.followers import Followers

if TYPE_CHECKING:
    from collections.abc import Iterator

VALUES = {"1": 10.0, "2": 20.0, "3": 30.0, "a b": 5.0, "x&id=y": 6.0}
ATTACKS = [
    '"', "'", "{", "}", "{key}", "${HOME}", "a\nb", "a\r\nX-Evil: 1", ">", "} UNION {",
    "'; DROP TABLE", "\u202e\u200b\x00\x7f", "../../admin", "..", ".", "/", "//evil.example/",
    "\\..\\admin", "?ids=1", "&ids=1", "#", "%2e%2e", "%00",
    "1,2", "@evil.example", ":80", "\ud800", "", "é", "x" * 2**20,
]  # fmt: skip


USERS = ("users[*].n", "users[*].id")


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with serving_faults(VALUES) as server:
        yield server


@pytest.fixture(autouse=True)
def healthy(server: FaultServer) -> None:
    server.misbehave("")
    server.extra_headers = {}
    server.received.clear()


@pytest.fixture(scope="module")
def service() -> Iterator[services.Service]:
    with services.started(users=250, seed=3, speed=0.0) as service:
        yield service


def many(url: str, **more: Any) -> HttpSource:
    return HttpSource(url, **{"value": "users[*].followers", "key": "users[*].id", **more})


def keys_of(*keys: str) -> Any:
    return np.array(keys, object)


def single(monkeypatch: pytest.MonkeyPatch, server: FaultServer, document: object) -> None:
    """Let the server answer just this, as JSON or as it is."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    monkeypatch.setattr(server, "_body", lambda _: body)


def test_the_contract_with_many_keys_a_request(service: services.Service) -> None:
    keys, missing = np.arange(1_000, 1_100), np.array([1, 2, 999_999])

    def make() -> Any:
        return stack(many(service.followers))

    check_source(make, keys, missing)
    check_source(lambda: many(service.followers), keys[:50], missing)


def test_the_contract_with_one_key_a_request(service: services.Service) -> None:
    def make() -> Any:
        return stack(HttpSource(service.user, value="followers"), at_once=8)

    check_source(make, np.arange(1_000, 1_010), np.array([1, 2]))


def test_the_contract_with_keys_in_a_body(service: services.Service) -> None:
    def make() -> Any:
        return stack(many(f"{service.url}/followers", body={"ids": "{keys}"}))

    check_source(make, np.arange(1_000, 1_010), np.array([1, 2]))


def test_values_are_those_of_the_service(service: services.Service) -> None:
    """Asked in one way and in the other, and in batches of the size allowed."""
    keys = np.arange(1_000, 1_250)
    before = service.stats()["accepted"]
    with_many = stack(many(service.followers)).fetch(keys, 10.0)
    assert service.stats()["accepted"] == before + 3
    assert with_many.ok.all()
    one = HttpSource(service.user, value="followers").fetch(keys[7:8], 10.0)
    assert one.values[0] == with_many.values[7] > 0


def test_more_keys_than_a_request_takes_are_a_mistake(server: FaultServer) -> None:
    with pytest.raises(ValueError, match="3 keys in one request, which takes 2 at most"):
        many(f"{server.url}/?ids={{keys}}", per_request=2).fetch(keys_of("1", "2", "3"))


@pytest.mark.parametrize(
    ("document", "value", "key", "found"),
    [
        ({"users": [{"id": 1, "n": 5}, {"id": "2", "n": "6.5"}]}, *USERS, [5, 6.5]),
        ({"1": 5, "3": 7}, "{key}", None, [5, None]),
        ({"n": {"1": {"f": 5}, "2": {"g": 6}}}, "n.{key}.f", None, [5, None]),
        ({"users": [{"id": 1, "n": {}}, {"id": 2, "n": True}]}, *USERS, [None, 1]),
    ],
)  # fmt: skip
def test_values_are_found_by_paths(
    server: FaultServer,
    monkeypatch: pytest.MonkeyPatch,
    document: object,
    value: str,
    key: str | None,
    found: list[float | None],
) -> None:
    single(monkeypatch, server, document)
    source = HttpSource(f"{server.url}/?ids={{keys}}", value=value, key=key)
    got = source.fetch(keys_of("1", "2"), 5.0)
    assert got.ok.all()
    assert [None if np.isnan(each) else each for each in got.values] == found


@pytest.mark.parametrize(
    ("document", "value", "found"),
    [
        ({"followers": 5}, "followers", 5),
        ({"followers": "5"}, "followers", 5),
        ({"data": {"7": {"n": 5}}}, "data.{key}.n", 5),
        (5, ".", 5),
        ({}, "followers", None),
        ({"data": None}, "data.n", None),
        ({"followers": None}, "followers", None),
        ({"followers": [5]}, "followers", None),
        ({"followers": 10**400}, "followers", None),
        (b'{"followers": NaN}', "followers", None),
    ],
)
def test_the_value_of_one_key(
    server: FaultServer,
    monkeypatch: pytest.MonkeyPatch,
    document: object,
    value: str,
    found: float | None,
) -> None:
    single(monkeypatch, server, document)
    got = HttpSource(f"{server.url}/{{key}}", value=value).fetch(keys_of("7"), 5.0)
    assert got.ok.all()
    assert [None if np.isnan(each) else each for each in got.values] == [found]


@pytest.mark.parametrize(
    "document",
    [b"", b"{", b"\xff\xfe\x00", b"[" * 100_000, 7, {"users": 7}, {"users": {}}, {}],
)
def test_an_answer_that_can_not_be_read(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch, document: object
) -> None:
    single(monkeypatch, server, document)
    got = many(f"{server.url}/?ids={{keys}}").fetch(keys_of("1", "2"), 5.0)
    assert got.problems() == {"garbled": 2}


@pytest.mark.parametrize(
    ("body", "value", "key"),
    [
        (b'{"users": [{"id": 1, "n": 5}, {"id": "1", "n": 6}, {"id": 2, "n": 7}]}', *USERS),
        (b'{"1": 5, "2": 7, "1": 6}', "{key}", None),
        (b'{"1": {"n": 5}, "2": {"n": 7}, "1": {"n": 6}}', "{key}.n", None),
    ],
)  # fmt: skip
def test_two_values_for_one_key_are_reported(
    server: FaultServer,
    monkeypatch: pytest.MonkeyPatch,
    body: bytes,
    value: str,
    key: str | None,
) -> None:
    single(monkeypatch, server, body)
    source = HttpSource(f"{server.url}/?ids={{keys}}", value=value, key=key)
    got = source.fetch(keys_of("1", "2"), 5.0)
    assert got.ok.tolist() == [False, True]
    assert got.problems() == {"doubled": 1}
    assert got.values[1] == 7


def test_the_ways_to_put_keys_into_a_request(server: FaultServer) -> None:
    for url, more, target, body in (
        ("/v?ids={keys}", {}, "/v?ids=1,a%20b", b""),
        ("/v?id={keys}", {"separator": "&id="}, "/v?id=1&id=a%20b", b""),
        ("/v/{keys}/n", {"separator": ";"}, "/v/1;a%20b/n", b""),
        ("/v", {"body": {"ids": "{keys}"}}, "/v", b'{"ids": ["1", "a b"]}'),
        (
            "/v",
            {"body": '{"q": "id in ({keys})", "n": 1}'},
            "/v",
            b'{"q": "id in (1,a b)", "n": 1}',
        ),
    ):
        many(server.url + url, **more).fetch(keys_of("1", "a b"), 5.0)
        assert (server.received[-1].target, server.received[-1].body) == (target, body)
    source = HttpSource(f"{server.url}/v", value="n", body={"id": "{key}", "of": ["u:{key}"]})
    source.fetch(np.array([7]), 5.0)
    assert json.loads(server.received[-1].body) == {"id": 7, "of": ["u:7"]}
    assert server.received[-1].method == "POST"
    assert server.received[-1].headers["content-type"] == "application/json"


def test_keys_given_twice_are_asked_for_once(server: FaultServer) -> None:
    got = many(f"{server.url}/v?ids={{keys}}").fetch(keys_of("2", "1", "2"), 5.0)
    assert got.values.tolist() == [20, 10, 20]
    assert server.received[-1].keys == ["2", "1"]


@pytest.mark.parametrize("status", [404, 410])
def test_a_key_that_the_service_does_not_know(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """That is an answer where one key is asked for, and a mistake where many are."""
    whole = f"HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n".encode()
    monkeypatch.setattr(server, "_plain", lambda *_: whole)
    one = HttpSource(f"{server.url}/{{key}}", value="n")
    assert one.fetch(keys_of("7"), 5.0).ok.tolist() == [True]
    strict = HttpSource(f"{server.url}/{{key}}", value="n", missing=())
    assert strict.fetch(keys_of("7"), 5.0).problems() == {"client": 1}
    assert many(f"{server.url}/?ids={{keys}}").fetch(keys_of("7"), 5.0).problems() == {"client": 1}


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ({"etag": '"v1"'}, {"if-none-match": '"v1"'}),
        ({"last-modified": "Thu, 01 Jan 2026 00:00:00 GMT"},
         {"if-modified-since": "Thu, 01 Jan 2026 00:00:00 GMT"}),
    ],
)  # fmt: skip
def test_what_did_not_change_is_remembered(
    server: FaultServer,
    monkeypatch: pytest.MonkeyPatch,
    told: dict[str, str],
    asked: dict[str, str],
) -> None:
    source = many(f"{server.url}/?ids={{keys}}", remembered=1)
    server.extra_headers = told
    first = source.fetch(keys_of("1", "2"), 5.0)
    monkeypatch.setattr(server, "_plain", lambda *_: b"HTTP/1.1 304 Not Modified\r\n\r\n")
    again = source.fetch(keys_of("1", "2"), 5.0)
    assert asked.items() <= server.received[-1].headers.items()
    assert np.array_equal(first.values, again.values)
    assert again.ok.all()
    monkeypatch.undo()
    source.fetch(keys_of("3"), 5.0)
    source.fetch(keys_of("1", "2"), 5.0)
    assert not asked.keys() & server.received[-1].headers.keys(), "only one is remembered"
    copy = pickle.loads(pickle.dumps(source))  # noqa: S301
    copy.fetch(keys_of("1", "2"), 5.0)
    assert not asked.keys() & server.received[-1].headers.keys()


def test_not_modified_without_having_asked_is_no_answer(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_plain", lambda *_: b"HTTP/1.1 304 Not Modified\r\n\r\n")
    got = many(f"{server.url}/?ids={{keys}}").fetch(keys_of("1"), 5.0)
    assert got.problems() == {"garbled": 1}


def test_a_change_is_seen_in_spite_of_the_tag(server: FaultServer) -> None:
    source = many(f"{server.url}/?ids={{keys}}")
    server.extra_headers = {"etag": '"v1"'}
    assert source.fetch(keys_of("1"), 5.0).values[0] == 10
    server.values = {**VALUES, "1": 11.0}
    server.extra_headers = {}
    assert source.fetch(keys_of("1"), 5.0).values[0] == 11
    server.values = dict(VALUES)
    source.fetch(keys_of("1"), 5.0)
    assert "if-none-match" not in server.received[-1].headers


def test_a_request_can_say_as_of_when(server: FaultServer) -> None:
    source = many(f"{server.url}/?ids={{keys}}&at={{now}}")
    with pytest.raises(QueryError, match="no time was given") as caught:
        source.fetch(keys_of("1"), 5.0)
    assert "seek" in caught.value.fix
    source.seek(60_000)
    assert source.fetch(keys_of("1", "{now}"), 5.0).values[0] == 10
    assert server.received[-1].target == "/?ids=1,%7Bnow%7D&at=60000"
    body = {"ids": "{keys}", "at": "{now}", "say": "{keys} at {now}", "now": 1}
    source = many(f"{server.url}/", body=body)
    source.seek(-5)
    source.fetch(keys_of("1", "{now}"), 5.0)
    said = {"ids": ["1", "{now}"], "at": -5, "say": "1,{now} at -5", "now": 1}
    assert json.loads(server.received[-1].body) == said


def test_the_time_passes_through_all_that_is_round_a_source(service: services.Service) -> None:
    """Into other processes, and into the threads of requests that run at once."""
    source = stack(many(service.growth, value="users[*].growth", per_request=50))
    source = pickle.loads(pickle.dumps(source))  # noqa: S301
    keys, truth = np.arange(1_000, 1_250), Followers(users=250, seed=3)
    for now in (START, START + 4_000_000, START + 1_000_000):
        source.seek(now)
        assert np.array_equal(source.fetch(keys, 10.0).values, truth.growth_at(keys, now))
    source.close()


def test_what_is_remembered_is_as_of_its_time(server: FaultServer) -> None:
    source = many(f"{server.url}/?ids={{keys}}&at={{now}}")
    server.extra_headers = {"etag": '"v1"'}
    told = []
    for now in (1, 2, 1):
        source.seek(now)
        source.fetch(keys_of("1"), 5.0)
        told.append("if-none-match" in server.received[-1].headers)
    assert told == [False, False, True]


def test_the_service_says_how_long_to_wait(server: FaultServer) -> None:
    server.misbehave("limited-wait")
    assert many(f"{server.url}/?ids={{keys}}").fetch(keys_of("1"), 5.0).wait == 1.0


PLACES: dict[str, tuple[str, dict[str, Any]]] = {
    "path": ("/users/{key}/followers", {}),
    "query": ("/v?ids={key}&all=1", {}),
    "joined": ("/v?ids={keys}&all=1", {}),
    "repeated": ("/v?id={keys}&all=1", {"separator": "&id="}),
    "in the path, joined": ("/users/{keys}/followers", {"separator": ";"}),
}


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=100, deadline=None)
@given(key=st.text(min_size=1, max_size=30))
@example(key='"')
def test_a_key_can_not_change_where_a_request_goes(
    server: FaultServer, place: str, key: str
) -> None:
    _attack(server, place, key)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("key", ATTACKS, ids=lambda key: repr(key)[:20])
def test_known_attacks(server: FaultServer, place: str, key: str) -> None:
    _attack(server, place, key)


def _attack(server: FaultServer, place: str, key: str) -> None:
    """Between the parts of the template stands the key, and nothing else."""
    template, more = PLACES[place]
    server.received.clear()
    server.misbehave("empty")
    source = HttpSource(server.url + template, value="n.{key}", **more)
    got = source.fetch(keys_of("first", key) if source.most > 1 else keys_of(key), 5.0)
    if got.ok[-1]:
        assert np.isnan(got.values[-1]), "not asked for: it has no value"
    for request in server.received:
        before, after = template.replace("{keys}", "{key}").split("{key}")
        assert request.target.startswith(before)
        assert request.target.endswith(after)
        middle = request.target[len(before) : len(request.target) - len(after)]
        parts = middle.split(more.get("separator", ","))
        assert not set("/?#&=+,;:@") & set("".join(parts))
        told = [unquote(each) for each in parts]
        assert told in (["first", key], [key], ["first"])
        assert request.method == "GET"
        assert "x-evil" not in request.headers
        assert urlsplit(request.target).path.split("/")[1] in ("users", "v")


@pytest.mark.parametrize("key", ATTACKS, ids=lambda key: repr(key)[:20])
def test_attacks_in_a_body_stay_text(server: FaultServer, key: str) -> None:
    server.misbehave("empty")
    many(f"{server.url}/v", body={"ids": "{keys}"}).fetch(keys_of("first", key), 5.0)
    (request,) = server.received
    assert json.loads(request.body) in ({"ids": ["first", key]}, {"ids": ["first"]})


def test_attacks_against_the_real_service(service: services.Service) -> None:
    """None is found, all others are, and the service was asked for exactly these."""
    source = stack(many(service.followers))
    keys = keys_of("1000", *ATTACKS, "1001")
    before = len(service.log())
    got = source.fetch(keys, 10.0)
    assert got.ok.all()
    assert np.isfinite(got.values[[0, -1]]).all()
    assert not np.isfinite(got.values[1:-1]).any()
    asked = {key for entry in service.log()[before:] for key in entry["keys"]}
    assert {"1000", "1001", '"', "} UNION {", "a\nb"} <= asked <= {*keys.tolist()}


SECRET = "hunter2-s3cret"  # noqa: S105


def secret_sources(url: str) -> list[HttpSource]:
    host = url.removeprefix("http://")
    return [
        many(f"{url}/v?ids={{keys}}", headers={"Authorization": "Bearer ${TOPWATER_TEST_TOKEN}"}),
        many(f"{url}/v?token=${{TOPWATER_TEST_TOKEN}}&ids={{keys}}"),
        many(f"http://me:${{TOPWATER_TEST_TOKEN}}@{host}/v?ids={{keys}}"),
    ]


def test_secrets_are_sent_and_told_to_nobody_else(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TOPWATER_TEST_TOKEN", SECRET)
    caplog.set_level(logging.DEBUG)
    for source in secret_sources(server.url):
        assert source.fetch(keys_of("1"), 5.0).ok.all()
        source.check()
        told = server.received[0]
        basic = "Basic bWU6aHVudGVyMi1zM2NyZXQ="
        assert SECRET in told.target + str(told.headers) or basic in told.headers.values()
        server.received.clear()
        wrapped = stack(source)
        for text in (repr(source), str(source), repr(wrapped), repr(vars(source)), caplog.text):
            assert SECRET not in text
        assert SECRET.encode() not in pickle.dumps(source) + pickle.dumps(wrapped)


def test_secrets_written_out_are_not_shown_either(server: FaultServer) -> None:
    """They can't be kept out of a pickle; but out of everything that people look at."""
    host = server.url.removeprefix("http://")
    for source in (
        many(f"{server.url}/v?token={SECRET}&ids={{keys}}", headers={"X-Key": SECRET}),
        many(f"http://me:{SECRET}@{host}/v?ids={{keys}}"),
    ):
        assert SECRET not in repr(source) + str(source) + repr(source._service)
        assert source.fetch(keys_of("1"), 5.0).ok.all()


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        (f"ftp://me:{SECRET}@api.example/{{key}}", None),
        (f"https://me:{SECRET}@/{{key}}", None),
        (f"https://me:{SECRET}@api.example/", None),
        (f"https://me:{SECRET}@api.example/{{other}}", None),
        (f"https://api.example/?token={SECRET} {{key}}", None),
        ("https://api.example/{key}", {"X-Key": f"{SECRET}\n"}),
        ("https://api.example/{key}", {"X-Key": f"$TOKEN{SECRET}"}),
    ],
)
def test_errors_do_not_tell_secrets(url: str, headers: dict[str, str] | None) -> None:
    with pytest.raises(QueryError) as caught:
        HttpSource(url, value="n", headers=headers)
    assert SECRET not in str(caught.value) + "".join(traceback.format_exception_only(caught.value))


def test_a_secret_that_is_not_set(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOPWATER_TEST_TOKEN", raising=False)
    for source in secret_sources(server.url):
        assert source.fetch(keys_of("1"), 5.0).problems() == {"client": 1}
        with pytest.raises(SourceError, match="variable TOPWATER_TEST_TOKEN is not set"):
            source.check()
    assert not server.received


@pytest.mark.parametrize(
    ("settings", "field", "told"),
    [
        ({"url": "https://api.example/users"}, "url", "no place for a key"),
        ({"url": "https://api.example/{key}/{keys}"}, "url", "both"),
        ({"url": "https://api.example/{id}"}, "url", "{id} is unknown"),
        ({"url": "https://api.example/{}"}, "url", "{} is unknown"),
        ({"url": "https://api.example/{key"}, "url", "brace without its partner"),
        ({"url": "https://{key}.example/"}, "url", "host of"),
        ({"url": "https://api.example:{key}/"}, "url", "host of"),
        ({"url": "https://{key}@api.example/"}, "url", "no place for a key"),
        ({"url": "https:///{key}"}, "url", "host of"),
        ({"url": "https://api.example/#{key}"}, "url", "never sent"),
        ({"url": "gopher://api.example/{key}"}, "url", "scheme"),
        ({"url": "file:///etc/{key}"}, "url", "scheme"),
        ({"url": "api.example/{key}"}, "url", "scheme"),
        ({"url": 7}, "url", "not an address"),
        ({"per_request": 0}, "per_request", "from 1 to 10000"),
        ({"per_request": 10_001}, "per_request", "from 1 to 10000"),
        ({"per_request": True}, "per_request", "from 1 to 10000"),
        ({"url": "https://a.example/{key}", "per_request": 2}, "per_request", "from 1 to 1"),
        ({"key": None}, "value", "which value belongs to which key"),
        ({"key": "users.id"}, "key", "parts of one list"),
        ({"value": None}, "value", "can't be read"),
        ({"separator": ""}, "separator", "can't stand between"),
        ({"method": "DELETE"}, "method", "without a body"),
        ({"method": "GET", "body": {"ids": "{keys}"}}, "method", "with a body"),
        ({"body": "{ids"}, "body", "not JSON"),
        ({"headers": {"X": 7}}, "headers.X", "text on one line"),
        ({"headers": {"X": "$TOKEN"}}, "headers.X", "names no variable"),
        ({"timeout": 0}, "timeout", "above 0"),
        ({"largest": -1}, "largest", "above 0"),
        ({"verify": None}, "verify", "not a file"),
    ],
)
def test_settings_that_can_not_work(settings: dict[str, Any], field: str, told: str) -> None:
    plain = {"url": "https://api.example/?ids={keys}", "value": "users[*].n", "key": "users[*].id"}
    with pytest.raises(QueryError) as caught:
        HttpSource(**{**plain, **settings})
    assert caught.value.field == field
    assert told in caught.value.problem
    assert caught.value.fix


def test_a_service_is_checked_at_the_start(server: FaultServer) -> None:
    source = many(f"{server.url}/?ids={{keys}}", timeout=0.3)
    source.check()
    for fault, field in (("refused", "url"), ("hangs", "url"), ("not-http", "url")):
        server.misbehave(fault)
        with pytest.raises(SourceError) as caught:
            source.check()
        assert caught.value.field == field
        assert caught.value.fix
    source.close()


def test_a_check_that_is_answered_at_length_leaves_nothing_behind(server: FaultServer) -> None:
    """A server that sends a body in answer to HEAD, as none should."""
    source = many(f"{server.url}/?ids={{keys}}")
    for _ in range(3):
        source.check()
        assert server.received[-1].method == "HEAD"
        assert source.fetch(keys_of("1"), 5.0).values.tolist() == [10.0]
    source.close()


def test_a_proxy_is_not_asked_for_this_machine(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for host in ("127.0.0.1", "localhost"):
        source = many(f"http://{host}:{server.port}/?ids={{keys}}")
        assert source.fetch(keys_of("1"), 5.0).values.tolist() == [10.0], host
        source.close()
    far = many("http://nobody.invalid/?ids={keys}")
    assert far.fetch(keys_of("1"), 5.0).problems() == {"refused": 1}


def test_wrong_credentials_are_told_at_the_start(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = b"HTTP/1.1 401 X\r\ncontent-length: 0\r\n\r\n"
    monkeypatch.setattr(server, "_plain", lambda *_: whole)
    with pytest.raises(SourceError, match="refuses us with status 401") as caught:
        many(f"{server.url}/?ids={{keys}}").check()
    assert caught.value.field == "headers"
