"""One request: it ends by its deadline, at its size, on its own host, and says what went wrong."""

from __future__ import annotations

import gc
import gzip
import json
import logging
import os
import pickle
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.fault_server import FaultServer, make_certificate, serving_faults
from tests.support.timing import HANGS, within
from topwater.remote.http_client import Ask, Requester

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

"""How much later than its deadline a call may return on a busy machine."""

VALUES = {"1": 10.0, "2": 20.0}


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with serving_faults(VALUES) as server:
        yield server


@pytest.fixture
def requester(server: FaultServer) -> Iterator[Requester]:
    requester = Requester(largest=100_000)
    server.misbehave("")
    server.extra_headers = {}
    yield requester
    requester.close()


def ask_of(server: FaultServer) -> Ask:
    return Ask("GET", f"{server.url}/followers?ids=1,2")


def test_an_answer(server: FaultServer, requester: Requester) -> None:
    reply = requester.request(ask_of(server), 5.0, 10.0)
    assert (reply.problem, reply.status, reply.wait) == (None, 200, None)
    assert json.loads(reply.body)["users"][0] == {"id": "1", "followers": 10.0}


@pytest.mark.parametrize(
    ("fault", "problem", "wait"),
    [
        ("refused", "refused", None),
        ("limited", "limited", None),
        ("limited-wait", "limited", 1.0),
        ("500", "server", None),
        ("503", "server", 0.0),
        ("400", "client", None),
        ("huge", "large", None),
        ("packed", "large", None),
        ("unknown-packing", "garbled", None),
        ("not-http", "garbled", None),
        ("dropped", "dropped", None),
        ("dropped-early", "dropped", None),
        ("redirect", "redirect", None),
    ],
)
def test_what_goes_wrong_has_a_name(
    server: FaultServer, requester: Requester, fault: str, problem: str, wait: float | None
) -> None:
    server.elsewhere = "http://localhost:9"
    server.misbehave(fault)
    reply = requester.request(ask_of(server), 5.0, 10.0)
    assert (reply.problem, reply.wait, reply.body) == (problem, wait, b"")
    server.misbehave("")
    assert requester.request(ask_of(server), 5.0, 10.0).problem is None


@pytest.mark.parametrize("fault", ["hangs", "slow", "drips", "drips-headers"])
@pytest.mark.parametrize(
    ("deadline", "timeout", "problem"), [(0.2, HANGS, "late"), (HANGS, 0.2, "timeout")]
)
def test_time_is_up_whatever_comes(
    server: FaultServer,
    requester: Requester,
    fault: str,
    deadline: float,
    timeout: float,
    problem: str,
) -> None:
    requester.request(ask_of(server), 5.0, 5.0)
    server.misbehave(fault)
    before = server.cut
    with within(0.2):
        assert requester.request(ask_of(server), deadline, timeout).problem == problem
    _eventually(lambda: server.cut == before + 1)


def _eventually(happened: object) -> None:
    assert callable(happened)
    until = time.monotonic() + 5.0
    while not happened():
        assert time.monotonic() < until, "the connection was not closed"
        time.sleep(0.01)


@pytest.mark.parametrize("deadline", [0.0, -1.0])
def test_no_time_is_left(server: FaultServer, requester: Requester, deadline: float) -> None:
    before = len(server.received)
    assert requester.request(ask_of(server), deadline, 5.0).problem == "late"
    assert len(server.received) == before


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_on_the_same_host_is_followed(
    server: FaultServer, requester: Requester, status: int
) -> None:
    reply = requester.request(Ask("GET", f"{server.url}/old/{status}"), 5.0, 5.0)
    assert json.loads(reply.body)["users"] == [{"id": "1", "followers": 10.0}]


def test_redirects_without_end(server: FaultServer, requester: Requester) -> None:
    server.elsewhere = server.url
    server.misbehave("redirect")
    before = len(server.received)
    assert requester.request(ask_of(server), 5.0, 5.0).problem == "redirect"
    assert len(server.received) == before + 5


@pytest.mark.parametrize(
    "elsewhere",
    ["http://localhost:{port}", "https://127.0.0.1:{port}", "http://127.0.0.1:1", "ftp://127.0.0.1",
     "http://me@127.0.0.1:{port}", "http://[", "//evil.example"],
)  # fmt: skip
def test_a_redirect_to_another_host_is_not_followed(
    server: FaultServer, requester: Requester, elsewhere: str
) -> None:
    server.elsewhere = elsewhere.format(port=server.port)
    server.misbehave("redirect")
    before = len(server.received)
    assert requester.request(ask_of(server), 5.0, 5.0).problem == "redirect"
    assert len(server.received) == before + 1


def test_a_name_that_nobody_knows(requester: Requester) -> None:
    assert requester.request(Ask("GET", "http://nowhere.invalid/"), 5.0, 5.0).problem == "refused"


def test_tls(tmp_path: Path) -> None:
    trusted, other = make_certificate(tmp_path, "trusted"), make_certificate(tmp_path, "other")
    missing = tmp_path / "missing.pem"
    with serving_faults(VALUES, tls=trusted) as server:
        for verify, problem in (
            (True, "tls"),
            (str(other[0]), "tls"),
            (str(missing), "tls"),
            (str(trusted[0]), None),
            (False, None),
        ):
            requester = Requester(verify=verify)
            assert requester.request(ask_of(server), 5.0, 5.0).problem == problem
            requester.close()


def test_tls_where_there_is_none(server: FaultServer, requester: Requester) -> None:
    ask = Ask("GET", f"https://127.0.0.1:{server.port}/")
    assert requester.request(ask, 5.0, 5.0).problem == "tls"


def test_a_handshake_that_never_ends(server: FaultServer, requester: Requester) -> None:
    """What has to be closed is closed at once, and not when memory is tidied up."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        ask = Ask("GET", f"https://127.0.0.1:{silent.getsockname()[1]}/")
        requester.request(ask_of(server), 5.0, 5.0)
        with within(0.8):
            assert requester.request(ask, 0.8, HANGS).problem == "late"
        gc.collect()


def test_a_packed_answer_is_unpacked(
    server: FaultServer, requester: Requester, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.extra_headers = {"content-encoding": "gzip"}
    monkeypatch.setattr(server, "_body", lambda _: gzip.compress(b"[1, 2, 3]" * 1_000))
    assert requester.request(ask_of(server), 5.0, 5.0).body == b"[1, 2, 3]" * 1_000
    monkeypatch.setattr(server, "_body", lambda _: b"this is not packed")
    assert requester.request(ask_of(server), 5.0, 5.0).problem == "garbled"


def test_an_answer_of_just_the_size_allowed(
    server: FaultServer, requester: Requester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for size, problem in ((100_000, None), (100_001, "large")):
        monkeypatch.setattr(server, "_body", lambda _, size=size: b" " * size)
        assert requester.request(ask_of(server), 5.0, 5.0).problem == problem


@pytest.mark.parametrize("headers", [{"X-Secret": "a\nb"}, {"X": "\u20ac"}])
def test_headers_that_can_not_be_sent(
    server: FaultServer, requester: Requester, headers: dict[str, str]
) -> None:
    """A secret that was set with a newline at its end must neither raise nor be sent."""
    ask = Ask("GET", f"{server.url}/", headers)
    assert requester.request(ask, 5.0, 5.0).problem in ("client", "broken")


def test_nothing_is_logged_that_may_be_secret(
    server: FaultServer, requester: Requester, caplog: pytest.LogCaptureFixture
) -> None:
    import httpx

    caplog.set_level(logging.DEBUG)
    headers = {"Authorization": "hunter2"}
    requester.request(Ask("GET", f"{server.url}/?ids=1&token=hunter2", headers), 5.0, 5.0)
    assert "hunter2" not in caplog.text
    httpx.get(f"{server.url}/followers?ids=1", trust_env=False)
    assert "HTTP Request: GET" in caplog.text, "only our own requests are left out"


def test_many_threads_at_once(server: FaultServer, requester: Requester) -> None:
    found: list[str | None] = []

    def ask() -> None:
        found.append(requester.request(ask_of(server), 10.0, 10.0).problem)

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [None] * 16


def test_connections_are_used_again_even_after_a_refusal(
    server: FaultServer, requester: Requester
) -> None:
    ports = set()
    for fault in ("", "limited", "400", ""):
        server.misbehave(fault)
        requester.request(ask_of(server), 5.0, 5.0)
        assert requester._client is not None
        transport = requester._client._transport
        ports |= {id(each) for each in transport._pool.connections}  # type: ignore[attr-defined]
    assert len(ports) == 1


def test_a_copy_and_a_closed_one_connect_anew(server: FaultServer, requester: Requester) -> None:
    requester.request(ask_of(server), 5.0, 5.0)
    copy = pickle.loads(pickle.dumps(requester))  # noqa: S301
    assert copy._client is None
    assert copy.largest == 100_000
    assert copy.request(ask_of(server), 5.0, 5.0).problem is None
    copy.close()
    copy.close()
    assert copy.request(ask_of(server), 5.0, 5.0).problem is None
    copy.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_its_own_connections(
    server: FaultServer, requester: Requester
) -> None:
    requester.request(ask_of(server), 5.0, 5.0)
    child = os.fork()
    if child == 0:
        reply = requester.request(ask_of(server), 5.0, 5.0)
        os._exit(0 if reply.problem is None else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert requester.request(ask_of(server), 5.0, 5.0).problem is None


def test_connections_of_a_source_that_nobody_holds_are_closed(server: FaultServer) -> None:
    requester = Requester()
    requester.request(ask_of(server), 5.0, 5.0)
    open_before = len(server._tasks)
    del requester
    _eventually(lambda: len(server._tasks) < open_before)
