"""The example services: what they know, what they refuse, how they fail, start and end."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

from topwater.cli import app
from topwater.errors import EnvironmentProblem, QueryError
from topwater.remote.http_source import HttpSource
from topwater.remote.sparql_source import SparqlSource
from topwater_lab import services
from topwater_lab.experiments.generated_evening import LENGTH, START, make_evening
from topwater_lab.experiments.workloads import changing
from topwater_lab.services.faults import Faults
from topwater_lab.services.follower_api import App
from topwater_lab.services.followers import CHANGING, Followers
from topwater_lab.services.request_gate import Gate
from topwater_lab.services.service_process import _bound
from topwater_lab.services.service_settings import FAULTS, ServiceSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = "SELECT (COUNT(*) AS ?n) WHERE { ?user <http://example.org/followers> ?f }"


@pytest.fixture(scope="module")
def service() -> Iterator[services.Service]:
    with services.started(users=420, seed=3, speed=0.0) as service:
        yield service


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=10.0, trust_env=False) as client:
        yield client


def test_followers_are_those_of_the_generated_evenings() -> None:
    followers, evening = Followers(users=800, seed=0), make_evening(0).followers
    keys = np.arange(1_000, 1_400)
    for after in (0, 1_000_000, LENGTH):
        assert np.array_equal(followers.at(keys, START + after), evening.at(keys, START + after))
    second = make_evening(2_503).followers
    assert np.array_equal(followers.at(keys + 400, START), second.at(keys, START))
    growth = Followers(users=400, seed=5).growth_at(keys, START + 1_000_000)
    course = changing(make_evening(5).growth, CHANGING, 5)
    assert np.array_equal(growth, course.at(keys, START + 1_000_000))


def test_followers_change_at_all_times_and_never_jump() -> None:
    followers = Followers(users=400, seed=1)
    keys = np.arange(1_000, 1_400)
    course = np.array([followers.at(keys, START + at) for at in range(0, 4 * LENGTH, LENGTH // 50)])
    steps = np.abs(np.diff(course, axis=0))
    assert (steps.sum(axis=1) > 0).all()
    assert steps.max() < 50
    assert np.array_equal(course[0], course[100]), "after two evenings, to and fro"
    assert np.array_equal(followers.at(keys, START - 5_000), followers.at(keys, START + 5_000))


def test_the_api(service: services.Service, client: httpx.Client) -> None:
    expected = Followers(users=420, seed=3).at(np.array([1_000, 1_419]), START)
    told = client.get(f"{service.url}/followers?ids=1000,1419,1420,x").json()
    assert told == {
        "users": [{"id": 1_000, "followers": expected[0]}, {"id": 1_419, "followers": expected[1]}]
    }
    assert client.get(f"{service.url}/users/1419").json()["followers"] == expected[1]
    assert client.get(f"{service.url}/users/1420").status_code == 404
    assert client.post(f"{service.url}/followers", json={"ids": [1_000]}).json()["users"]
    assert "/sparql" in client.get(service.url).text


def test_as_of_a_time(service: services.Service, client: httpx.Client) -> None:
    """In the address or in the body; and what is asked without a time is as of now."""
    some, keys = Followers(users=420, seed=3), np.arange(1_000, 1_040)
    joined = ",".join(map(str, keys))
    seen = set()
    for at in (START, START + 3_000_000, START + LENGTH):
        counts, growth = some.at(keys, at).tolist(), some.growth_at(keys, at).tolist()
        seen.add((*counts, *growth))
        url = f"{service.url}/followers?ids={joined}"
        by_get = client.get(f"{url}&at={at}").json()["users"]
        assert [row["followers"] for row in by_get] == counts
        body = {"ids": keys.tolist(), "at": at}
        by_post = client.post(f"{service.url}/growth", json=body).json()["users"]
        assert [row["growth"] for row in by_post] == growth
        one = client.get(f"{service.url}/users/1007?at={at}").json()
        assert one == {"id": 1_007, "followers": counts[7]}
        asked = {"query": "SELECT ?n { <http://example.org/user/1007> ex:followers ?n }"}
        asked["query"] = f"PREFIX ex: <http://example.org/> {asked['query']}"
        told = client.get(f"{service.url}/sparql", params=asked | {"at": str(at)}).json()
        assert float(told["results"]["bindings"][0]["n"]["value"]) == counts[7]
    assert len(seen) == 3


@pytest.mark.parametrize("at", ["", "now", "-1", "1.5", "9" * 30, "١"])
def test_times_that_are_none(service: services.Service, client: httpx.Client, at: str) -> None:
    query = {"query": COUNT}
    for path, more in (("followers", {"ids": "1000"}), ("users/1000", {}), ("sparql", query)):
        reply = client.get(f"{service.url}/{path}", params={"at": at, **more})
        assert (reply.status_code, "milliseconds" in reply.text) == (400, True)


@pytest.mark.parametrize("ids", ["", "," * 5, ",".join(["1"] * 101)])
def test_up_to_a_hundred_users_a_request(
    service: services.Service, client: httpx.Client, ids: str
) -> None:
    assert client.get(f"{service.url}/followers", params={"ids": ids}).status_code == 400


@pytest.mark.parametrize("body", [b"", b"7", b"[]", b'{"ids": 7}', b"\xff"])
def test_bodies_that_are_none(service: services.Service, client: httpx.Client, body: bytes) -> None:
    assert client.post(f"{service.url}/followers", content=body).status_code == 400


def test_tags(service: services.Service, client: httpx.Client) -> None:
    first = client.get(f"{service.url}/users/1000")
    again = client.get(
        f"{service.url}/users/1000", headers={"if-none-match": first.headers["etag"]}
    )
    assert (again.status_code, again.content) == (304, b"")
    other = client.get(
        f"{service.url}/users/1001", headers={"if-none-match": first.headers["etag"]}
    )
    assert other.status_code == 200


def test_the_ways_to_send_a_query(service: services.Service, client: httpx.Client) -> None:
    url = service.sparql
    kind = {"content-type": "application/sparql-query"}
    for reply in (
        client.get(url, params={"query": COUNT}),
        client.post(url, data={"query": COUNT}),
        client.post(url, content=COUNT, headers=kind),
    ):
        assert reply.headers["content-type"] == "application/sparql-results+json"
        assert reply.json()["results"]["bindings"][0]["n"]["value"] == "420"
    assert client.get(url, params={"query": "ASK { ?s ?p ?o }"}).json()["boolean"] is True


@pytest.mark.parametrize(
    "query",
    [
        "SELEKT", "", "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", "DELETE WHERE { ?s ?p ?o }",
        "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
    ],
)  # fmt: skip
def test_queries_that_are_refused(
    service: services.Service, client: httpx.Client, query: str
) -> None:
    assert client.get(service.sparql, params={"query": query}).status_code == 400
    assert client.post(service.sparql, data={"query": query}).status_code == 400


def test_both_services_tell_the_same_while_values_change(client: httpx.Client) -> None:
    """At a thousand times the speed, in the store too: no user has two values or none."""
    with services.started(users=50, speed=1_000.0) as service:
        seen = set()
        for _ in range(12):
            reply = client.get(f"{service.url}/followers?ids=1000,1001,1002,1003,1004,1005")
            seen.add(reply.text)
            found = client.get(service.sparql, params={"query": COUNT}).json()
            assert found["results"]["bindings"][0]["n"]["value"] == "50"
            time.sleep(0.05)
        assert len(seen) > 1


def test_the_rate_is_limited_and_counted(client: httpx.Client) -> None:
    with services.started(users=5, rate=20.0, burst=2) as service:
        url = f"{service.url}/users/1000"
        replies = [client.get(url) for _ in range(30)]
        codes = [reply.status_code for reply in replies]
        assert set(codes) == {200, 429}
        assert codes[0] == 200
        refused = replies[codes.index(429)]
        assert refused.headers["retry-after"] == "1"
        stats = service.stats()
        assert (stats["accepted"], stats["refused"]) == (codes.count(200), codes.count(429))
        assert stats["keys"] == stats["accepted"]
        assert 0 < stats["peak"] <= 22


@pytest.mark.parametrize(("rate", "burst"), [(10.0, 1), (100.0, 10), (3.0, 3)])
def test_a_gate_lets_no_more_pass_than_it_says(rate: float, burst: int) -> None:
    gate, rng = Gate(rate, burst), np.random.default_rng(7)
    times = np.sort(rng.uniform(0, 20, 5_000))
    passed = [at for at in times.tolist() if gate.wait(at) == 0]
    assert len(passed) == pytest.approx(20 * rate, rel=0.1, abs=burst + 1)
    for first in range(len(passed)):
        within = np.searchsorted(passed, passed[first] + 1.0) - first
        assert within <= rate + burst
    assert gate.peak <= rate + burst
    at = times.tolist()[-1] + 1e-6
    early = gate.wait(at)
    assert early == 0.0 or gate.wait(at + early) == 0.0


EXPECTED = {
    "hangs": {"timeout"},
    "slow": {"timeout"},
    "drips": {"timeout"},
    "limited": {"limited"},
    "limited-wait": {"limited"},
    "500": {"server"},
    "503": {"server"},
    "invalid-json": {"garbled"},
    "wrong-type": {"garbled"},
    "huge": {"large"},
    "redirect": {"redirect"},
    "dropped": {"dropped"},
    "missing": set(),
    "extra": set(),
}


@pytest.fixture(scope="module")
def here() -> Iterator[tuple[str, App]]:
    """The service in this process, so that its fault can be changed."""
    import uvicorn

    made = App(ServiceSettings(users=10))
    listening = _bound(0)
    server = uvicorn.Server(uvicorn.Config(made.asgi(), log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}", made
    server.should_exit = server.force_exit = True
    thread.join()


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_what_it_says(here: tuple[str, App], fault: str) -> None:
    url, made = here
    made.gate.faults.clear()
    made.faults = Faults(0.0, fault, 0)
    keys = np.arange(1_000, 1_010)
    for source in (
        HttpSource(
            f"{url}/followers?ids={{keys}}", value="users[*].followers", key="users[*].id",
            timeout=0.5, largest=100_000,
        ),
        SparqlSource(
            f"{url}/sparql", "?user ex:followers ?followers", key="user", value="followers",
            timeout=0.5, largest=100_000,
            prefixes={"ex": "http://example.org/"}, namespace="http://example.org/user/",
        ),
    ):  # fmt: skip
        got = source.fetch(keys, 10.0)
        assert set(got.problems()) == EXPECTED[fault]
        if not EXPECTED[fault]:
            assert np.isfinite(got.values).sum() == (5 if fault == "missing" else 10)
        source.close()
    assert made.gate.faults == {fault: 2}
    assert made.gate.elsewhere == 0


def test_a_share_of_requests_goes_wrong(client: httpx.Client) -> None:
    with services.started(users=10, faults=0.3, seed=5) as service:
        for _ in range(60):
            try:
                client.get(f"{service.url}/users/1000", timeout=0.05)
            except httpx.HTTPError:
                continue
        faults = service.stats()["faults"]
    assert 5 <= sum(faults.values()) <= 40
    assert len(faults) > 3


def test_it_listens_on_this_machine_only(service: services.Service) -> None:
    assert service.url.startswith("http://127.0.0.1:")
    port = int(service.url.rpartition(":")[2])
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in others - {"127.0.0.1"}:
        with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
            socket.create_connection((str(address), port), timeout=1.0)


@pytest.mark.parametrize(("how", "fault"), [(signal.SIGINT, "hangs"), (signal.SIGTERM, "500")])
def test_the_command(how: signal.Signals, fault: str, client: httpx.Client) -> None:
    """One line that says where; then it serves, and ends without a word."""
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "topwater", "serve-example", "followers", "--port", "0",
         "--users", "5", "--fault", fault],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.match(
            r"(http://127\.0\.0\.1:\d+) knows the followers of users 1000 to 1004", line
        )
        assert found is not None, line
        if fault == "hangs":
            with pytest.raises(httpx.TimeoutException):
                client.get(f"{found[1]}/users/1000", timeout=0.2)
        else:
            assert client.get(f"{found[1]}/users/1000").status_code == 500
        process.send_signal(how)
        out, err = process.communicate(timeout=15)
        assert (process.returncode, out, err) == (0, "", "")
    finally:
        process.kill()
        process.communicate()


def test_a_service_ends_with_the_process_that_started_it() -> None:
    """Also if that one has no time to say so."""
    code = """if True:
        import sys, time
        from topwater_lab import services
        with services.started(users=10) as service:
            print(service.url, service.process.pid, flush=True)
            time.sleep(60)
    """
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    url, pid = process.stdout.readline().split()
    process.kill()
    process.communicate()
    until = time.monotonic() + 20
    with contextlib.suppress(ProcessLookupError, httpx.TransportError):
        while time.monotonic() < until:
            os.kill(int(pid), 0)
            httpx.get(f"{url}/stats", timeout=5.0, trust_env=False)
            time.sleep(0.05)
        pytest.fail("it is still there")


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, ["serve-example", "followers", "--port", str(port)])
        assert result.exit_code == 3
        assert result.stderr.startswith(f"error: the port {port} can't be used: Address already")
        assert "fix: pass --port 0" in result.stderr
        with (
            pytest.raises(EnvironmentProblem, match=f"port {port} can't be used"),
            services.started(port=port),
        ):
            pass


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"port": 65_536}, "port"), ({"port": "80"}, "port"), ({"users": 0}, "users"),
        ({"seed": -1}, "seed"), ({"latency": float("nan")}, "latency"),
        ({"faults": 1.5}, "faults"), ({"fault": "nothing"}, "fault"), ({"rate": 0}, "rate"),
        ({"burst": 0}, "burst"), ({"speed": -1}, "speed"), ({"users": True}, "users"),
    ],
)  # fmt: skip
def test_settings_that_can_not_work(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(QueryError) as caught:
        ServiceSettings(**settings)
    assert caught.value.field == field


def test_what_was_asked_is_written_down(service: services.Service, client: httpx.Client) -> None:
    client.get(f"{service.url}/followers", params={"ids": "1000,' OR 1=1"})
    client.get(service.sparql, params={"query": COUNT})
    log = service.log()
    assert log[-2] == {"path": "/followers", "keys": ["1000", "' OR 1=1"]}
    assert log[-1] == {"path": "/sparql", "query": COUNT}
    assert json.dumps(log)
