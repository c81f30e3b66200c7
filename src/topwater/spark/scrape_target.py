"""Where Prometheus finds the metrics of the queries of a session: a file, or an address."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from prometheus_client import start_http_server

from topwater.errors import EnvironmentProblem
from topwater.spark.prometheus import Exposition
from topwater.validation import listening_of

if TYPE_CHECKING:
    from pathlib import Path

    from topwater.spark.metrics import Progress

_PATIENCE = 5.0


class ScrapeTarget:
    """Takes what queries report, and keeps it as Prometheus wants it."""

    def __init__(self) -> None:
        self.exposition = Exposition()

    def __call__(self, progress: Progress) -> None:
        """Take in what a micro-batch did."""
        self.exposition.add(progress.query, progress.id, asdict(progress), progress.ranking)
        self.wait(progress)

    def wait(self, progress: Progress) -> None:
        """Note that a query is alive, even if it only waits: the one of this progress."""
        self.exposition.see(progress.query, progress.id, time.time())
        self.publish()

    def end(self, progress: Progress, *, failed: bool) -> None:
        """Note that a query ended."""
        self.exposition.end(progress.query, progress.id, failed=failed)
        self.publish()

    def publish(self) -> None:
        """Bring it to where it is read."""

    def close(self) -> None:
        """Give back what is held."""


class PromFile(ScrapeTarget):
    """A file for the textfile collector of Prometheus' node exporter."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def publish(self) -> None:
        """Replace the file as a whole."""
        self.exposition.write(self._path)


class MetricsServer(ScrapeTarget):
    """An address that Prometheus scrapes, served by a thread of this process until it is closed.

    Parameters
    ----------
    address
        Such as ``http://127.0.0.1:9464``: there, whatever the path, all metrics are.

    Attributes
    ----------
    url
        Where they are.

    Raises
    ------
    EnvironmentProblem
        If nobody can listen there.
    """

    def __init__(self, address: str) -> None:
        super().__init__()
        at = listening_of(address, "to")
        try:
            server, thread = start_http_server(at.port, at.host, self.exposition.registry)
        except OSError as error:
            raise EnvironmentProblem(
                f"can't serve metrics at {at}: {error.strerror or error}",
                fix="choose another port, as http://127.0.0.1:9465; 0 takes any that is free",
            ) from None
        self._server, self._thread = server, thread
        host = f"[{at.host}]" if ":" in at.host else at.host
        self.url = f"http://{host}:{server.server_port}/metrics"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(_PATIENCE)
