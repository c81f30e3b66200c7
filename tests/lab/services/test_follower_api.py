"""The example services: what they know, what they refuse, how they fail, start and end."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import httpx
import numpy as np
import pytest

from topwater_lab import services
from topwater_lab.experiments.generated_evening import LENGTH, START
from topwater_lab.services.followers import Followers

if TYPE_CHECKING:
    pass

COUNT = "SELECT (COUNT(*) AS ?n) WHERE { ?user <http://example.org/followers> ?f }"


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


def test_what_was_asked_is_written_down(service: services.Service, client: httpx.Client) -> None:
    client.get(f"{service.url}/followers", params={"ids": "1000,' OR 1=1"})
    client.get(service.sparql, params={"query": COUNT})
    log = service.log()
    assert log[-2] == {"path": "/followers", "keys": ["1000", "' OR 1=1"]}
    assert log[-1] == {"path": "/sparql", "query": COUNT}
    assert json.dumps(log)
