"""Services as processes: where they listen, how they start and end."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import httpx
import pytest
from typer.testing import CliRunner

from topwater.cli import app
from topwater.errors import EnvironmentProblem
from topwater_lab import services

if TYPE_CHECKING:
    pass


def test_it_listens_on_this_machine_only(service: services.Service) -> None:
    assert service.url.startswith("http://127.0.0.1:")
    port = int(service.url.rpartition(":")[2])
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in others - {"127.0.0.1"}:
        with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
            socket.create_connection((str(address), port), timeout=1.0)


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
