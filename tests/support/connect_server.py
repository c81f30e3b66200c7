"""A server of Spark Connect, as a process of its own on this machine."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

from tests.support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

SPARK = Path(pyspark.__file__).parent
CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
SECONDS = 120


@contextlib.contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """Its address, as long as it runs. What it prints is in ``server.log``."""
    port = free_port()
    conf = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": folder / "local",
        "spark.sql.warehouse.dir": folder / "warehouse",
        "spark.sql.session.timeZone": "UTC",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
    }
    told = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONWARNINGS": "ignore",
        "SPARK_HOME": str(SPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(  # noqa: S603
            [SPARK / "bin" / "spark-submit", "--class", CLASS, "--name", "connect", *told],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            cwd=folder,
        )
        try:
            _wait(server, port, folder / "server.log")
            yield f"sc://127.0.0.1:{port}"
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Until it listens."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and server.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise RuntimeError(f"no server of Spark Connect: {log.read_text()[-2_000:]}")
