"""Redis, against a real server on loopback."""

from __future__ import annotations

import os
import pickle
import socket
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.support.redis_server import PASSWORD, RedisServer, new_server, server
from tests.support.timing import within
from topwater import remote
from topwater.errors import QueryError, SourceError
from topwater.remote.redis_source import RedisSource
from topwater.testing import check_failing_source, check_source

NASTY = ["a b", "a\r\nDEL price:ann\r\n", "{key}", "ключ", "*", '"', "\x00", "'; flushall"]
KEYS = np.array(["ann", "bob", *NASTY], object)


@pytest.fixture(scope="module")
def redis() -> RedisServer:
    found = server()
    found.run(("FLUSHALL",))
    for at, key in enumerate(KEYS.tolist()):
        found.run(
            ("SET", f"price:{key}", f"{at}.5"),
            ("HSET", f"user:{key}", "price", str(at), "stock", "7", "title", f"no {key}"),
            ("HSET", "prices", key, str(at)),
            ("SET", f"doc:{key}", f'{{"offers": [{{"price": {at}}}, {{"price": 0}}], "t": "x"}}'),
        )
    found.run(
        ("SET", "price:many", "many"),
        ("SET", "price:bytes", b"\xff\xfe"),
        ("SET", "user:plain", "7"),
        ("HSET", "price:hash", "price", "7"),
        ("HSET", "user:part", "price", "7"),
        ("SET", "doc:broken", "{"),
        ("SET", "doc:list", "[]"),
    )
    return found


def of(redis: RedisServer, **settings: Any) -> RedisSource:
    return RedisSource(redis.url, **{"key": "price:{key}", **settings})


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"key": "user:{key}", "value": "price"},
        {"key": "user:{key}", "value": ["price", "stock"], "text": ["title"]},
        {"key": "prices", "value": "{key}"},
        {"key": "doc:{key}", "value": "max(offers[*].price)", "json": True},
        {
            "key": "doc:{key}",
            "value": {"n": "max(offers[*].price)"},
            "text": {"t": "t"},
            "json": True,
        },
    ],
)
def test_it_keeps_the_contract(redis: RedisServer, settings: Any) -> None:
    missing = np.array(["none", "\ud800"], object)
    check_source(lambda: of(redis, **settings), KEYS, missing)
    whole = {"key": "price:{key}", **settings}
    check_source(lambda: remote.redis(redis.url, per_request=3, **whole), KEYS, missing)


def test_keys_are_data(redis: RedisServer) -> None:
    got = of(redis).fetch(KEYS)
    assert got.values.tolist() == [at + 0.5 for at in range(len(KEYS))]
    several = of(redis, key="user:{key}", value=["price"], text=["title"]).fetch(KEYS)
    assert several.texts("title").tolist() == [f"no {key}" for key in KEYS]
    assert redis.run(("EXISTS", "price:ann"))[0] == 1


def test_keys_of_several_columns_have_a_place_for_each(redis: RedisServer) -> None:
    redis.run(("HSET", "ad:spring:DE", "rate", "0.5"), ("HSET", "ad:a:b:c", "rate", "9"))
    source = of(redis, key="ad:{campaign}:{country}", parts=["campaign", "country"], value=["rate"])
    keys = np.empty(4, object)
    keys[:] = [("spring", "DE"), ("spring", "IT"), ("a:b", "c"), ("a", "b:c")]
    got = source.fetch(keys)
    # Two keys that would be called the same are not taken for each other: one has no value.
    assert got.numbers("rate").tolist() == pytest.approx([0.5, np.nan, np.nan, 9], nan_ok=True)
    assert got.ok.all()
    source.take_keys(["campaign", "country"])
    with pytest.raises(QueryError, match="asks by the parts campaign, country"):
        source.take_keys(["country", "campaign"])
    with pytest.raises(QueryError, match="asks by whole keys") as caught:
        of(redis).take_keys(["campaign", "country"])
    assert 'key="…:{campaign}:{country}"' in str(caught.value.fix)


def test_whole_numbers_and_their_texts_are_one_key(redis: RedisServer) -> None:
    redis.run(("SET", "price:7", "70"))
    assert of(redis).fetch(np.array([7, 8])).values.tolist()[0] == 70.0
    assert of(redis).fetch(np.array(["7", "7"], object)).values.tolist() == [70.0, 70.0]


@pytest.mark.parametrize(
    ("key", "settings", "reason"),
    [
        ("none", {}, {"not_found": 1}),
        ("many", {}, {"not_a_number": 1}),
        ("bytes", {}, {"not_a_number": 1}),
        ("hash", {}, {"not_found": 1}),
        ("part", {"key": "user:{key}", "value": ["stock", "price"]}, {"no_value": 1}),
        ("part", {"key": "user:{key}", "value": "stock"}, {"not_found": 1}),
        ("none", {"key": "user:{key}", "value": ["stock", "price"]}, {"not_found": 1}),
        ("none", {"key": "doc:{key}", "value": "price", "json": True}, {"not_found": 1}),
        ("ann", {"key": "doc:{key}", "value": "price", "json": True}, {"no_value": 1}),
    ],
)
def test_why_a_key_has_no_value(redis: RedisServer, key: str, settings: Any, reason: Any) -> None:
    got = of(redis, **settings).fetch(np.array([key, "bob"], object)).at(np.array([0]))
    assert (got.lacks(), got.problems()) == (reason, {})


@pytest.mark.parametrize(
    ("key", "settings", "problem"),
    [
        ("plain", {"key": "user:{key}", "value": "price"}, "client"),
        ("plain", {"key": "user:{key}", "value": ["price", "stock"]}, "client"),
        ("broken", {"key": "doc:{key}", "value": "price", "json": True}, "garbled"),
        ("list", {"key": "doc:{key}", "value": "price", "json": True}, "garbled"),
    ],
)
def test_a_key_of_another_type_fails_alone(
    redis: RedisServer, key: str, settings: Any, problem: str
) -> None:
    got = of(redis, **settings).fetch(np.array(["ann", key, "bob"], object))
    assert got.ok.tolist() == [True, False, True]
    assert got.problems() == {problem: 1}


@pytest.mark.parametrize(
    ("key", "settings", "problem", "fix"),
    [
        ("hash", {}, "'hash' holds a hash", "with value=: price"),
        ("plain", {"key": "user:{key}", "value": "n"}, "'plain' holds a string", "leave value="),
        ("ann", {"key": "user:{key}", "value": "pric"}, "no field pric", "did you mean price?"),
        ("ann", {"key": "user:{key}", "value": {"a": "price", "b": "stok"}}, "stok", "mean stock?"),
        ("none", {}, "key not found", ""),
        ("many", {}, 'not a number in "many"', ""),
        ("ann", {"key": "doc:{key}", "value": "price", "json": True}, "nothing where", ""),
        ("broken", {"key": "doc:{key}", "value": "price", "json": True}, "not hold a doc", "path"),
    ],
)
def test_a_check_tells_what_is_wrong(
    redis: RedisServer, key: str, settings: Any, problem: str, fix: str
) -> None:
    with pytest.raises(SourceError) as caught:
        of(redis, **settings).check(key)
    assert problem in caught.value.problem
    assert fix in caught.value.fix


def test_a_check_shows_what_came(redis: RedisServer) -> None:
    assert of(redis).check() is None
    assert str(of(redis).check("ann")) == "the key 'ann' has 0.5, read at price:{key} in \"0.5\""
    told = str(of(redis, key="user:{key}", value=["price"], text=["title"]).check("bob"))
    assert told.startswith("the key 'bob' has price 1, title 'no bob', read at price, title in [")


def failing(url: str, **settings: Any) -> Any:
    return lambda: RedisSource(url, key="price:{key}", timeout=2.0, **settings)


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"redis://127.0.0.1:{taken.getsockname()[1]}"
        check_failing_source(failing(url), KEYS)
        assert failing(url)().fetch(KEYS).problems() == {"refused": len(KEYS)}
        with pytest.raises(SourceError, match=r"no connection to redis://127\.0\.0\.1:"):
            failing(url)().check()


@pytest.mark.parametrize("login", ["", ":wrong@", "nobody:wrong@"])
def test_a_wrong_login(redis: RedisServer, login: str) -> None:
    url = f"redis://{login}127.0.0.1:{redis.port}"
    check_failing_source(failing(url), KEYS)
    assert failing(url)().fetch(KEYS).problems() == {"client": len(KEYS)}
    with pytest.raises(SourceError) as caught:
        failing(url)().check()
    assert "check the login" in caught.value.fix
    assert PASSWORD not in str(caught.value)
    assert "wrong@" not in str(caught.value)


def test_the_password_may_be_in_the_environment(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = failing(f"redis://:${{REDIS_SECRET}}@127.0.0.1:{redis.port}")()
    monkeypatch.delenv("REDIS_SECRET", raising=False)
    assert source.fetch(KEYS).problems() == {"client": len(KEYS)}
    with pytest.raises(SourceError, match="REDIS_SECRET is not set"):
        source.check()
    monkeypatch.setenv("REDIS_SECRET", PASSWORD)
    assert source.fetch(KEYS).ok.all()
    assert PASSWORD.encode() not in pickle.dumps(source)


def speaking(*replies: bytes) -> Iterator[str]:
    """A server that says something else to each request than Redis would; then it is silent."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(10)

    def serve() -> None:
        try:
            while True:
                link, _ = listening.accept()
                held.append(link)
                link.settimeout(10)
                for reply in replies:
                    link.recv(65_536)
                    link.sendall(reply)
        except OSError:
            pass

    held: list[socket.socket] = []
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"redis://127.0.0.1:{listening.getsockname()[1]}"
    listening.close()
    for link in held:
        link.close()


@pytest.mark.parametrize(
    ("says", "problem"),
    [
        (b"-MOVED 3999 127.0.0.1:6381\r\n", "redirect"),
        (b"-ASK 3999 127.0.0.1:6381\r\n", "redirect"),
        (b"-CROSSSLOT Keys in request don't hash to the same slot\r\n", "client"),
        (b"-CLUSTERDOWN The cluster is down\r\n", "server"),
        (b"-LOADING Redis is loading the dataset in memory\r\n", "server"),
        (b"-ERR something else\r\n", "server"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "garbled"),
    ],
)
def test_what_a_server_says_instead(says: bytes, problem: str) -> None:
    # The first requests of a connection are those of the client itself, about its own name.
    for url in speaking(b"+OK\r\n+OK\r\n+OK\r\n", says, says):
        got = RedisSource(url, timeout=3.0).fetch(np.array(["a", "b"], object))
        assert got.problems() == {problem: 2}


def test_a_server_that_hangs_is_given_up_in_time() -> None:
    for url in speaking(b"+OK\r\n+OK\r\n+OK\r\n"):
        source = RedisSource(url, timeout=30.0)
        with within(2.0):
            assert source.fetch(KEYS, 0.3).problems() == {"late": len(KEYS)}


def test_a_server_that_is_killed_and_comes_back() -> None:
    own = new_server()
    try:
        own.run(("SET", "price:ann", "7"))
        source = failing(own.url)()
        keys = np.array(["ann"], object)
        assert source.fetch(keys).values.tolist() == [7.0]
        own.stop()
        assert set(source.fetch(keys).problems()) <= {"refused", "dropped"}
        own.start()
        own.run(("SET", "price:ann", "8"))
        assert source.fetch(keys).values.tolist() == [8.0]
        own.run(("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"))
        assert source.fetch(keys).values.tolist() == [8.0]
    finally:
        own.remove()


def test_a_server_in_the_middle_of_its_death(redis: RedisServer) -> None:
    own = new_server()
    try:
        source = failing(own.url)()
        threading.Timer(0.3, own.stop).start()
        own_keys = np.array([f"k{at}" for at in range(400)], object)
        for _ in range(20):
            got = source.fetch(own_keys, 1.0)
            assert got.ok.all() or set(got.problems()) <= {"refused", "dropped", "late"}
    finally:
        own.remove()


def test_a_cluster_is_told_in_words() -> None:
    """A real server of a cluster that has no slots, and one key that is elsewhere."""
    own = new_server("--cluster-enabled", "yes")
    try:
        assert failing(own.url)().fetch(KEYS).problems() == {"server": len(KEYS)}
        one = failing(own.url)().fetch(np.array(["ann"], object))
        assert one.problems() == {"server": 1}
        with pytest.raises(SourceError):
            failing(own.url)().check("ann")
    finally:
        own.remove()


def test_it_survives_a_pickle_and_a_fork(redis: RedisServer) -> None:
    source = of(redis)
    source.fetch(KEYS)
    again = pickle.loads(pickle.dumps(source))  # noqa: S301
    assert again.fetch(KEYS).ok.all()
    if (child := os.fork()) == 0:
        os._exit(0 if source.fetch(KEYS).ok.all() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert source.fetch(KEYS).ok.all()
    source.close()
    assert source.fetch(KEYS).ok.all()


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"url": "http://h"}, "url"),
        ({"url": "redis://"}, "url"),
        ({"url": "redis://h/zero"}, "url"),
        ({"url": "redis://h?password=x"}, "url"),
        ({"url": "redis://h:port"}, "url"),
        ({"url": 7}, "url"),
        ({"url": "rediss://h", "verify": ""}, "verify"),
        ({"key": "user"}, "key"),
        ({"key": "{key}:{key}"}, "key"),
        ({"key": "a:{key}", "value": "{key}"}, "key"),
        ({"key": 7}, "key"),
        ({"value": "max(price)"}, "value"),
        ({"value": {"a": 7}}, "value.a"),
        ({"json": True}, "value"),
        ({"json": True, "value": "a..b"}, "value"),
        ({"per_request": 0}, "per_request"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_settings_that_can_not_work(settings: Any, field: str) -> None:
    with pytest.raises(QueryError) as caught:
        RedisSource(**{"url": "redis://h", **settings})
    assert caught.value.field == field
    assert caught.value.fix
    with pytest.raises(QueryError, match="vlaue"):
        remote.redis("redis://h", vlaue="a")  # type: ignore[call-arg]


def test_it_is_chosen_by_its_scheme(redis: RedisServer) -> None:
    for made in (
        remote.source(redis.url, key="price:{key}"),
        remote.source({"kind": "redis", "url": redis.url, "key": "price:{key}"}),
    ):
        assert made.fetch(KEYS).ok.all()
    assert repr(remote.source(redis.url)).startswith("Stack(RedisSource('redis://127.0.0.1:")
    assert PASSWORD not in repr(remote.source(redis.url))
