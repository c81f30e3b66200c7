"""The fault matrix for HTTP and SPARQL: each cell against a real server that misbehaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.fault_matrix import FAULTS, IN_LOOP, Cell
from tests.support.fault_server import USER, FaultServer, make_certificate, serving_faults
from topwater.remote.http_source import HttpSource
from topwater.remote.sparql_source import SparqlSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def http(url: str, **settings: Any) -> HttpSource:
    return HttpSource(
        f"{url}/followers?ids={{keys}}",
        value="users[*].followers",
        key="users[*].id",
        **settings,
    )


def sparql(url: str, **settings: Any) -> SparqlSource:
    return SparqlSource(
        f"{url}/sparql",
        "?user ex:followers ?followers",
        key="user",
        value="followers",
        prefixes={"ex": "http://example.org/"},
        namespace=USER,
        **settings,
    )


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("tls"), "trusted")


@pytest.fixture(scope="module", params=[http, sparql], ids=["http", "sparql"])
def source(request: pytest.FixtureRequest) -> Callable[..., HttpSource | SparqlSource]:
    chosen: Callable[..., HttpSource | SparqlSource] = request.param
    return chosen


@pytest.fixture(scope="module")
def plain(source: Callable[..., object]) -> Iterator[FaultServer]:
    """A server for each kind of source: what one made it do is not seen by the other."""
    del source
    with serving_faults({}) as elsewhere, serving_faults({}) as server:
        server.elsewhere = elsewhere.url
        yield server
        assert not elsewhere.received, "somebody followed the redirect"


@pytest.fixture(scope="module")
def secure(trusted: tuple[Path, Path], source: Callable[..., object]) -> Iterator[FaultServer]:
    del source
    with serving_faults({}, tls=trusted) as server:
        server.other_tls = make_certificate(trusted[0].parent, "other")
        yield server


@pytest.fixture
def cell(
    request: pytest.FixtureRequest,
    source: Callable[..., HttpSource | SparqlSource],
    plain: FaultServer,
    secure: FaultServer,
    trusted: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Cell]:
    def make(url: str) -> HttpSource | SparqlSource:
        seconds = 0.3 if request.param == "hangs" else 10.0
        return source(url, verify=str(trusted[0]), largest=100_000, timeout=seconds)

    server = secure if request.param == "tls" else plain
    cell = Cell(server, make, request.param, monkeypatch)
    cell.end()
    yield cell
    cell.end()


@pytest.mark.parametrize("cell", FAULTS, indirect=True)
def test_the_source_names_the_problem(cell: Cell) -> None:
    cell.raw()


@pytest.mark.parametrize("cell", IN_LOOP, indirect=True)
def test_every_window_is_answered_on_time(cell: Cell) -> None:
    cell.loop()


@pytest.mark.parametrize("cell", ["500", "dropped", "hangs"], indirect=True)
def test_a_budget_of_fetches_is_kept_while_all_fails(cell: Cell) -> None:
    cell.spend(5)
