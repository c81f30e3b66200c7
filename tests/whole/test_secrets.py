"""Secrets stay where they are: in the environment, or in a setting that is never told.

Each kind of source is used well and badly, through all its wrappers and a whole monitor, with
every logger at its most talkative; then we look for its secret in all that anybody could see.
"""

from __future__ import annotations

import base64
import io
import logging
import pickle
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from tests.support.fault_server import USER, FaultServer, serving_faults
from tests.support.postgres import Postgres, server
from topwater import TopKMonitor, TopKQuery, remote, tumbling
from topwater.errors import QueryError, SourceError, TopwaterError
from topwater.remote import Limit, Stack

CORE = "hu5hQu1etW0rd"
SECRET = f":/ @{CORE}%&=+"
"""With all that must be quoted somewhere, round a part that is the same however it is quoted."""

NAME = "TOPWATER_TEST_SECRET"
KEYS = np.array([1, 2, 3])


def forms() -> list[bytes]:
    """The secret as it may be written: as it is, or in Base64."""
    written = [CORE.encode()]
    # Whatever stands before it, it begins at one of three places.
    for shift in range(3):
        code = base64.b64encode(b"\0" * shift + SECRET.encode())
        written.append(code[4 if shift else 0 : -4])
    return written


def require_silence(*seen: object) -> None:
    for each in seen:
        data = each if isinstance(each, bytes) else str(each).encode()
        for form in forms():
            assert form not in data, f"{form!r} is told in {data[:2000]!r}"


@dataclass
class Kind:
    """How to build one kind of source, and how to make its service bad."""

    build: Callable[..., Stack]
    """With ``hidden``: the secret by its name, or the secret itself."""
    spoil: Callable[[], Any]
    mend: Callable[[], Any]
    refuses: bool = False
    """Whether the service looks at the secret."""
    by_name: bool = True
    """Whether the secret can be given by the name of a variable."""


@pytest.fixture(scope="module")
def postgres() -> Postgres:
    found = server()
    found.run(
        "drop table if exists hushed",
        "create table hushed (id int, n int)",
        "insert into hushed select i, i from generate_series(1, 9) as i",
        "do $$ begin create role ann login; exception when duplicate_object then null; end $$",
        "grant select on hushed to ann",
    )
    return found


@pytest.fixture
def web() -> Iterator[FaultServer]:
    with serving_faults({str(key): float(key) for key in range(1, 10)}) as found:
        yield found


def of_postgres(postgres: Postgres, how: str) -> Kind:
    found: dict[str, Any] = {"table": "hushed", "key": "id", "value": "n"}

    def build(hidden: str, **more: Any) -> Stack:
        named: dict[str, Any] = {}
        if how == "variable":
            url = postgres.url("ann", None, port=port())  # type: ignore[arg-type]
            named["password_env"] = NAME
        elif how == "argument":
            url = postgres.url("ann", None, port=port())  # type: ignore[arg-type]
            named["connect_args"] = {"password": hidden}
        else:
            url = postgres.url("ann", hidden, port=port())
        return remote.sql(url, **found, **named, **more)

    def port() -> int:
        return postgres.port

    escaped = SECRET.replace("'", "''")
    return Kind(
        build,
        lambda: postgres.run("alter role ann password 'another'"),
        lambda: postgres.run(f"alter role ann password '{escaped}'"),
        refuses=True,
        by_name=how != "argument",
    )


def of_http(web: FaultServer, how: str) -> Kind:
    def build(hidden: str, **more: Any) -> Stack:
        url, headers = web.url, {}
        if how == "header":
            headers = {"X-Api-Key": hidden}
        elif how == "login":
            part = hidden if hidden.startswith("$") else quote(hidden, safe="")
            url = url.replace("://", f"://ann:{part}@")
        query = f"&token={hidden if hidden.startswith('$') else quote(hidden, safe='')}"
        return remote.http(
            f"{url}/users?ids={{keys}}{query if how == 'address' else ''}",
            value="users[*].followers",
            key="users[*].id",
            headers=headers,
            **more,
        )

    return Kind(build, lambda: web.misbehave("500"), lambda: web.misbehave(""))


def of_sparql(web: FaultServer, how: str) -> Kind:
    def build(hidden: str, **more: Any) -> Stack:
        from topwater.remote.sparql_source import SparqlSource

        raw = SparqlSource(
            f"{web.url}/sparql",
            "?user <http://example.org/followers> ?followers",
            key="user",
            value="followers",
            namespace=USER,
            headers={"Authorization": f"Bearer {hidden}"},
            method=how,  # type: ignore[arg-type]
        )
        return remote.stack(raw, **more)

    return Kind(build, lambda: web.misbehave("dropped"), lambda: web.misbehave(""))


KINDS: dict[str, tuple[Callable[[Any, str], Kind], str]] = {
    "sql, the URL": (of_postgres, "url"),
    "sql, password_env": (of_postgres, "variable"),
    "sql, connect_args": (of_postgres, "argument"),
    "http, a header": (of_http, "header"),
    "http, a login": (of_http, "login"),
    "http, the address": (of_http, "address"),
    "sparql, a header": (of_sparql, "POST"),
    "sparql, a header of GET": (of_sparql, "GET"),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Iterator[Kind]:
    make, how = KINDS[request.param]
    found = make(request.getfixturevalue("postgres" if make is of_postgres else "web"), how)
    found.mend()
    yield found
    found.mend()


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """All that any logger says, with tracebacks."""
    monkeypatch.setenv(NAME, SECRET)
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s %(args)s"))
    names = ["", "topwater", "sqlalchemy", "sqlalchemy.engine", "sqlalchemy.pool", "psycopg"]
    names += ["httpx", "httpcore", "asyncio"]
    loggers = [logging.getLogger(name) for name in names]
    before = [(each, each.level) for each in loggers]
    logging.getLogger().addHandler(handler)
    for each in loggers:
        each.setLevel(logging.DEBUG)
    yield said
    for each, level in before:
        each.setLevel(level)
    logging.getLogger().removeHandler(handler)


def layers(source: Any) -> list[Any]:
    """The source and all that is in it."""
    found = [source]
    while hasattr(found[-1], "source"):
        found.append(found[-1].source)
    return found


def require_silent_errors(source: Stack) -> bool:
    """Whether there is an error when a copy is checked; no part of it tells."""
    copied = pickle.loads(pickle.dumps(source))  # noqa: S301
    try:
        copied.check()
    except TopwaterError as error:
        require_silence(error, repr(error), vars(error))
        require_silence("".join(traceback.format_exception(error)))
        causes: list[BaseException | None] = [error]
        while causes[-1] is not None:
            require_silence(repr(causes[-1]), causes[-1].args)
            causes.append(causes[-1].__cause__ or causes[-1].__context__)
        return True
    finally:
        copied.close()
    return False


@pytest.mark.parametrize("literal", [False, True], ids=["by name", "itself"])
def test_nobody_tells(
    kind: Kind, heard: io.StringIO, literal: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    literal = literal or not kind.by_name
    record = tmp_path / "record.jsonl"
    hidden = SECRET if literal else f"${{{NAME}}}"
    source = kind.build(hidden, record=record, rate=Limit(10_000), retries=1, at_start="warn")
    query = TopKQuery(
        key="who",
        time="at",
        window=tumbling("60 s"),
        take={"n": "count"},
        score="n + remote",
        k=3,
        refresh={"remote": "remote", "budget": {"deadline": "2s"}},
    )
    monitor = TopKMonitor.build(query, source=source)
    for window, prepare in enumerate((kind.mend, kind.spoil, kind.mend)):
        prepare()
        if kind.refuses:
            source.close()
        monitor.ingest({"who": KEYS, "at": np.full(3, 60_000 * window + 1)})
        (answer,) = monitor.close_until(60_000 * (window + 1) + 1)
        assert answer.freshness is not None
        assert (answer.freshness.failed > 0) == (prepare == kind.spoil), answer
        require_silence(answer, repr(answer), monitor.snapshot())
        assert require_silent_errors(source) or prepare == kind.mend or not kind.refuses
        for each in layers(source):
            require_silence(repr(each), str(each), f"{each}")
    assert record.stat().st_size
    require_silence(record.read_bytes(), query.to_json())
    if not literal:
        require_silence(pickle.dumps(source), *map(pickle.dumps, layers(source)))
    source.close()
    assert heard.getvalue()
    require_silence(heard.getvalue(), *capfd.readouterr())


def test_a_copy_reads_the_secret_where_it_is_used(
    kind: Kind, heard: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the variable the keys fail, as "client", and the check names the variable."""
    if not kind.by_name:
        return
    source = pickle.loads(pickle.dumps(kind.build(f"${{{NAME}}}")))  # noqa: S301
    assert source.fetch(KEYS, 5.0).ok.all()
    source.close()
    monkeypatch.delenv(NAME)
    got = source.fetch(KEYS, 5.0)
    assert got.problems() == {"client": 3}
    with pytest.raises(SourceError, match=NAME):
        source.check()
    monkeypatch.setenv(NAME, SECRET)
    assert source.fetch(KEYS, 5.0).ok.all()
    source.close()


@pytest.mark.parametrize(
    "build",
    [
        lambda: remote.sql(f"postgresql://ann:{quote(SECRET, safe='')}@h:no/d", table="t"),
        lambda: remote.sql(f"postgresql://ann:{quote(SECRET, safe='')}@h/d", table="t"),
        lambda: remote.sql(
            f"nosuch://ann:{quote(SECRET, safe='')}@h/d", table="t", key="k", value="v"
        ),
        lambda: remote.sql("postgresql://h/d", table="t", key="k", value="v", password_env=SECRET),
        lambda: remote.source(f"gopher://ann:{quote(SECRET, safe='')}@h/d"),
        lambda: remote.http(f"http://ann:{quote(SECRET, safe='')}@h h/{{key}}", value="a"),
        lambda: remote.http(f"http://ann:{quote(SECRET, safe='')}@h/users", value="a"),
        lambda: remote.http(f"ftp://ann:{quote(SECRET, safe='')}@h/{{key}}", value="a"),
        lambda: remote.http("http://h/{key}", value="a", headers={"X": f"{SECRET}\n"}),
        lambda: remote.http("http://h/{key}", value="a", headers={"X": f"{SECRET}$"}),
        lambda: remote.http(f"http://h/{{key}}?t={quote(SECRET, safe='')}", value=".."),
    ],
)
def test_what_is_refused_when_it_is_built_tells_nothing(build: Callable[[], Any]) -> None:
    with pytest.raises(QueryError) as caught:
        build()
    error: BaseException | None = caught.value
    while error is not None:
        require_silence(error, repr(error), error.args)
        error = error.__cause__ or error.__context__
