"""Answers that go wrong, in all ways, as clients see them."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import httpx
import numpy as np
import pytest

from topwater.remote.http_source import HttpSource
from topwater.remote.sparql_source import SparqlSource
from topwater_lab import services
from topwater_lab.services.faults import Faults
from topwater_lab.services.follower_api import App
from topwater_lab.services.service_process import _bound
from topwater_lab.services.service_settings import FAULTS, ServiceSettings

if TYPE_CHECKING:
    from collections.abc import Iterator


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
