"""Starts an example service: here, until it is stopped, or as a process of its own."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from topwater.errors import EnvironmentProblem
from topwater_lab.services.service_settings import ServiceSettings

if TYPE_CHECKING:
    import uvicorn

HOST = "127.0.0.1"
_START = 60.0


@dataclass(frozen=True, slots=True)
class Service:
    """A service that runs.

    Attributes
    ----------
    url
        Where it listens.
    process
        Its process.
    """

    url: str
    process: subprocess.Popen[str]

    @property
    def followers(self) -> str:
        """A template for many users a request: values at ``users[*].followers``."""
        return f"{self.url}/followers?ids={{keys}}"

    @property
    def growth(self) -> str:
        """A template for many users a request, as of a time: values at ``users[*].growth``."""
        return f"{self.url}/growth?ids={{keys}}&at={{now}}"

    @property
    def user(self) -> str:
        """A template for one user a request: the value at ``followers``."""
        return f"{self.url}/users/{{key}}"

    @property
    def sparql(self) -> str:
        """The SPARQL endpoint."""
        return f"{self.url}/sparql"

    def stats(self) -> dict[str, Any]:
        """The service's own figures."""
        return dict(self._read("/stats"))

    def log(self) -> list[dict[str, Any]]:
        """What it was asked, the last thousand requests."""
        return list(self._read("/log"))

    def _read(self, path: str) -> Any:
        import httpx

        return httpx.get(self.url + path, timeout=10.0, trust_env=False).json()


def serve(settings: ServiceSettings, told: Callable[[str], None]) -> None:
    """Run a service until Ctrl-C or SIGTERM; ``told`` gets one line once it listens.

    Raises
    ------
    EnvironmentProblem
        If the port is taken, or Oxigraph is not installed.
    """
    _require_package()
    listening = _bound(settings.port)
    from topwater_lab.services.follower_api import App

    url = f"http://{HOST}:{listening.getsockname()[1]}"
    last = 999 + settings.users
    line = f"{url} knows the followers of users 1000 to {last}: /followers?ids=1000,{last} /sparql"
    _server(App(settings).asgi(), lambda: told(line)).run(sockets=[listening])


@contextlib.contextmanager
def started(**settings: Any) -> Iterator[Service]:
    """A service in a process of its own, stopped at the end, however that comes.

    Ctrl-C does not reach it, so that it answers until its user is done; and it ends by itself when
    this process does, even if that is killed.

    Parameters
    ----------
    settings
        As in :class:`ServiceSettings`.

    Examples
    --------
    >>> with started(users=10) as service:
    ...     service.stats()["accepted"]
    0
    """
    plain = json.dumps(asdict(ServiceSettings(**settings)))
    _require_package()
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "topwater_lab.services", plain],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield Service(_address(process), process)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _address(process: subprocess.Popen[str]) -> str:
    """What the process says first. One that says nothing is ended, so that nobody waits."""
    slow = threading.Timer(_START, process.kill)
    slow.start()
    try:
        line = process.stdout.readline() if process.stdout is not None else ""
    finally:
        slow.cancel()
    found = re.match(r"http://\S+", line)
    if found is None:
        process.kill()
        error = process.stderr.read() if process.stderr is not None else ""
        raise EnvironmentProblem(
            error.strip().removeprefix("error: ").split("\n  fix: ")[0] or "the service ended",
            fix="run `topwater serve-example followers` to see why",
        )
    return found[0]


def missing_package() -> str | None:
    """The package that a service needs, if it is not installed."""
    return None if importlib.util.find_spec("pyoxigraph") else "pyoxigraph"


def _require_package() -> None:
    name = missing_package()
    if name is not None:
        raise EnvironmentProblem(
            f"the package {name} is not installed", fix='pip install "topwater[lab]"'
        )


def _bound(port: int) -> socket.socket:
    # With the protocol named: asyncio sends small answers at once only where it says TCP.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise EnvironmentProblem(
            f"the port {port} can't be used: {error.strerror}",
            fix="pass --port 0 for one that is free",
        ) from None
    return listening


def _server(app: Any, ready: Callable[[], None]) -> uvicorn.Server:
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """End without an error: uvicorn would raise the signal once more."""
            wanted = (signal.SIGINT, signal.SIGTERM)
            before = {each: signal.signal(each, self.handle_exit) for each in wanted}
            try:
                yield
            finally:
                for each, handler in before.items():
                    signal.signal(each, handler)

    config = uvicorn.Config(
        app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1, server_header=False
    )
    return Server(config)
