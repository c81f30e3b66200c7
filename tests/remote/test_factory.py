"""Sources by their address or their settings, which are in the signature with their defaults."""

from __future__ import annotations

import inspect
import pydoc
import sqlite3
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.support.troubled import Acting
from topwater import remote
from topwater.errors import QueryError
from topwater.remote import Stack, guarded, stack
from topwater.remote.http_source import HttpSource
from topwater.remote.sparql_source import SparqlSource
from topwater.remote.sql_source import SqlSource
from topwater.remote.wrappers.rate_limit import Limited

if TYPE_CHECKING:
    from pathlib import Path


def test_settings_are_told_apart_by_name() -> None:
    made = remote.http(
        "http://127.0.0.1:9/{key}", value="followers", rate=5, at_once=2, timeout=3.0
    )
    assert made is guarded(made)
    assert "HttpSource" in repr(made)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: remote.source("gopher://x/{key}", value="v"), "url"),
        (lambda: remote.source("no address"), "url"),
        (lambda: remote.source({"value": "v"}), "url"),
        (lambda: remote.source({"url": "http://x.example/{key}"}), "value"),
        (lambda: remote.source("http://x.example/{key}", value="v", speed=3), "speed"),
        (lambda: remote.http("http://x.example/", value="v"), "url"),
        (lambda: remote.http("http://x.example/{key}", value="v", rate=0), "rate.requests"),
        (lambda: remote.http("http://x.example/{key}", value="v", at_once=0), "at_once"),
        (lambda: remote.http("http://x.example/{key}", value="v", retries=-1), "retries"),
        (lambda: remote.source("sparql+http://x.example/sparql"), "pattern"),
        (lambda: remote.source("sparql+http://x.example/", pattern="?a ?b ?c"), "key"),
        (lambda: remote.source("sparql+http://x/", pattern="?a ?b ?c", key="a"), "value"),
        (
            lambda: remote.source("sparql+http://x/", pattern="?a ?b ?c", key="k", value="c"),
            "pattern",
        ),
        (lambda: remote.source("sqlite:///x.db", query="select 1"), "query"),
        (lambda: stack(Acting(), at_start="maybe"), "at_start"),  # type: ignore[arg-type]
    ],
)
def test_bad_settings_are_refused_when_it_is_built(call: Any, field: str) -> None:
    with pytest.raises(QueryError) as caught:
        call()
    assert caught.value.field == field


def test_a_database_by_its_address(tmp_path: Path) -> None:
    path = tmp_path / "users.db"
    with sqlite3.connect(path) as database:
        database.execute("create table users (id integer primary key, followers integer)")
        database.executemany("insert into users values (?, ?)", [(7, 70), (8, 80)])
    database.close()
    settings = {"url": f"sqlite:///{path}", "table": "users", "key": "id", "value": "followers"}
    made = remote.source({**settings, "rate": 100, "at_start": "stop"})
    assert isinstance(made, Stack)
    made.start()
    got = made.fetch(np.array([8, 9, 7]), 5.0)
    assert got.values.tolist()[::2] == [80, 70]
    assert got.ok.all()
    made.close()


def test_no_password_is_in_what_is_shown() -> None:
    made = remote.source("http://me:hunter2@x.example/{key}", value="v", rate=3)
    assert "hunter2" not in repr(made)
    assert "hunter2" not in repr(vars(made))


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"kind": "memory"}, "values"),
        ({"kind": "memory", "values": [1]}, "values"),
        ({"kind": "memory", "values": {}, "url": "x"}, "url"),
        ({"kind": "memory", "values": {}, "rate": 3}, "rate"),
        ({"kind": "ftp", "url": "http://x.example/{key}"}, "kind"),
        ({"kind": "http"}, "url"),
        ({"kind": "http", "url": 7}, "url"),
        ({"kind": "http", "url": ""}, "url"),
    ],
)
def test_a_mapping_that_can_not_work(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(QueryError) as caught:
        remote.source(settings)
    assert caught.value.field == field
    assert caught.value.fix


PATTERN = "?user <http://x.example/n> ?n"


@pytest.mark.parametrize(
    ("where", "settings", "kind"),
    [
        ("http://x.example/{key}", {"value": "n"}, "HttpSource"),
        ("HTTPS://x.example/{key}", {"value": "n"}, "HttpSource"),
        ("sparql+https://x.example/", {"pattern": PATTERN, "key": "user", "value": "n"},
         "SparqlSource"),
        ("sqlite:///x.db", {"table": "t", "key": "k", "value": "v"}, "SqlSource"),
        ("postgresql+psycopg://x.example/d", {"table": "t", "key": "k", "value": "v"},
         "SqlSource"),
    ],
)  # fmt: skip
def test_the_scheme_says_what_it_is(where: str, settings: dict[str, Any], kind: str) -> None:
    made = remote.source(where, **settings)
    assert kind in repr(made)
    assert repr(remote.source({"url": where, **settings})) == repr(made)


def test_a_kind_in_place_of_a_scheme() -> None:
    settings = {"pattern": PATTERN, "key": "user", "value": "n"}
    for url in ("http://x.example/", "sparql+http://x.example/"):
        made = remote.source({"kind": "sparql", "url": url, **settings})
        assert "SparqlSource('http://x.example'" in repr(made)


def test_values_in_memory_by_settings() -> None:
    made = remote.source({"kind": "memory", "values": {"ann": 3.0}})
    assert made.fetch(np.array(["ann"], object)).values.tolist() == [3.0]


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("https://api.example/users/{key}", "https://api.example"),
        ("http://me:secret@api.example:81/{key}", "http://api.example:81"),
        ("http://[::1]:81/{key}", "http://[::1]:81"),
    ],
)
def test_a_service_is_named_by_its_place(where: str, place: str) -> None:
    made = remote.http(where, value="v", rate=5.0)
    limited: Any = made
    while not isinstance(limited, Limited):
        limited = limited.source
    assert limited.limit.name == place


KINDS: list[tuple[Any, Any]] = [
    (remote.http, HttpSource),
    (remote.sparql, SparqlSource),
    (remote.sql, SqlSource),
]


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_every_setting_is_in_the_signature_with_its_default(kind: Any, make: Any) -> None:
    """An editor and ``help()`` show what the source and its stack take, and nothing else."""
    own = inspect.signature(make).parameters
    around = {
        name: each
        for name, each in inspect.signature(stack).parameters.items()
        if name not in ("source", "per_request")
    }
    given = inspect.signature(kind).parameters
    assert {*given} == {*own, *around}
    for name, each in {**around, **own}.items():
        if name == "name":  # here the host is its default
            assert given[name].default is None
            continue
        assert given[name].default == each.default, name
        assert given[name].annotation == each.annotation, name
        assert given[name].kind == each.kind, name


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_help_shows_the_settings(kind: Any, make: Any) -> None:
    shown = pydoc.plain(pydoc.render_doc(kind))
    for setting in ("at_once: ", "retries: ", "timeout: ", "value: "):
        assert setting in shown
    assert "settings" not in inspect.signature(kind).parameters


@pytest.mark.parametrize(
    ("name", "shared"), [(None, "http://127.0.0.1:9"), ("", ""), ("ours", "ours")]
)
def test_a_limit_is_shared_by_host_unless_another_name_or_none_is_given(
    name: str | None, shared: str
) -> None:
    """An empty name once became the host's: the demo left a file behind."""
    inner: Any = remote.http("http://127.0.0.1:9/{key}", value="n", rate=5, name=name)
    while not isinstance(inner, Limited):
        inner = inner.source
    assert inner.limit.name == shared


def test_nothing_of_an_example_is_a_default() -> None:
    for kind, _ in KINDS:
        parameters = inspect.signature(kind).parameters
        defaults = [parameters[name].default for name in ("key", "value")]
        assert all(each in (None, inspect.Parameter.empty) for each in defaults)


def made(make: Any, *args: Any, **named: Any) -> Any:
    """A call that a type checker would refuse, too."""
    return make(*args, **named)


@pytest.mark.parametrize(
    ("call", "field", "fix"),
    [
        (lambda: made(remote.http, "http://x/{key}", valu="v"), "valu", "did you mean value?"),
        (lambda: made(remote.http, "http://x/{key}"), "value", "http needs it"),
        (lambda: made(remote.sparql, "http://x/", "?a ?b ?c"), "key", "sparql needs it"),
        (lambda: made(remote.sql, "sqlite://", tabel="t"), "tabel", "did you mean table?"),
        (lambda: made(remote.memory, value={}), "value", "did you mean values?"),
        (lambda: made(remote.memory, [1.0]), "values", 'write {"ann": 3.0, "bob": 5.0}'),
        (lambda: remote.source({"kind": "memory", "vals": {}}), "vals", "did you mean values?"),
        (lambda: remote.source({"kind": "sqll", "url": "sqlite://"}), "kind", "did you mean sql?"),
        (lambda: remote.source("htp://x/{key}", value="v"), "url", "did you mean http?"),
        (lambda: made(remote.Limit, request=3), "rate.request", "did you mean requests?"),
        (lambda: made(remote.Breaker, failure=3), "breaker.failure", "did you mean failures?"),
    ],
)
def test_a_wrong_setting_is_told_with_the_right_one(call: Any, field: str, fix: str) -> None:
    with pytest.raises(QueryError) as caught:
        call()
    assert (caught.value.field, caught.value.fix) == (field, fix)
