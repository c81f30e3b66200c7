"""Where Prometheus reads: a file, and an address that is scraped while queries report."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from topwater.errors import EnvironmentProblem, QueryError
from topwater.spark import Progress
from topwater.spark.scrape_target import MetricsServer, PromFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLAIN = Progress(query="bids", id="7f", run="1", batch=3, at="2026-01-01T00:00:00.000Z")


def samples(text: str) -> dict[str, float]:
    families = text_string_to_metric_families(text)
    return {sample.name: sample.value for family in families for sample in family.samples}


def scraped(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as reply:  # noqa: S310  our own address
        assert reply.headers["Content-Type"].startswith("text/plain; version=")
        return str(reply.read().decode())


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    made = MetricsServer("http://127.0.0.1:0")
    yield made
    made.close()


def test_an_address_is_scraped(server: MetricsServer) -> None:
    assert server.url.startswith("http://127.0.0.1:")
    assert samples(scraped(server.url)) == {"topwater_info": 1.0}
    for late in (2, 3):
        server(replace(PLAIN, late=late))
    found = samples(scraped(server.url))
    assert (found["topwater_late_events_total"], found["topwater_running"]) == (5.0, 1.0)
    server.end(PLAIN, failed=True)
    found = samples(scraped(server.url))
    assert (found["topwater_failures_total"], found["topwater_running"]) == (1.0, 0.0)


def test_a_query_that_waits_is_seen(server: MetricsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server(PLAIN)
    monkeypatch.setattr("time.time", lambda: 4e9)
    server.wait(PLAIN)
    assert samples(scraped(server.url))["topwater_last_seen_timestamp_seconds"] == 4e9


def test_nobody_else_can_listen_there_until_it_is_closed() -> None:
    first = MetricsServer("http://127.0.0.1:0")
    with pytest.raises(EnvironmentProblem, match=r"can't serve metrics at 127\.") as caught:
        MetricsServer(first.url)
    assert "another port" in caught.value.fix
    first.close()
    with pytest.raises(urllib.error.URLError):
        scraped(first.url)
    MetricsServer(first.url).close()


def test_only_this_machine_is_served(server: MetricsServer) -> None:
    port = int(server.url.split(":")[2].split("/")[0])
    with socket.socket() as other:
        other.settimeout(5)
        assert other.connect_ex(("127.0.0.2", port)) != 0


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1", "http://:9464", "http://127.0.0.1:9464/other", "http://a:b@127.0.0.1:1"],
)
def test_an_address_that_can_not_be_served(address: str) -> None:
    with pytest.raises(QueryError, match=r"^to: ") as caught:
        MetricsServer(address)
    assert caught.value.fix == "write http://127.0.0.1:9464"


def test_a_file_is_replaced_with_every_report(tmp_path: Path) -> None:
    target = PromFile(tmp_path / "t.prom")
    target(replace(PLAIN, late=2))
    assert samples((tmp_path / "t.prom").read_text())["topwater_late_events_total"] == 2.0
    target.end(PLAIN, failed=False)
    assert samples((tmp_path / "t.prom").read_text())["topwater_running"] == 0.0
    target.close()
