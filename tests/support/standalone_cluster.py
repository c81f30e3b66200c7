"""A standalone cluster of Spark on this machine: each member a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

INSTALLED = Path(pyspark.__file__).parent
PATIENCE = 240.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that runs.

    Attributes
    ----------
    address
        Of the master.
    workers
        Each leads a process group of its own, with its executors.
    """

    address: str
    workers: tuple[subprocess.Popen[bytes], ...]

    def holder(self) -> int | None:
        """Which worker has processes of Python, and so the state; None if there are none yet."""
        running = processes()
        for number, worker in enumerate(self.workers):
            for parent, group, words in running.values():
                if "pyspark.daemon" in words and running.get(parent, (0, 0, ""))[1] == worker.pid:
                    return number
                if group == worker.pid and "pyspark.daemon" in words:
                    return number
        return None

    def kill(self, number: int) -> None:
        """End a worker and its executors at once, as when its machine fails."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)
        self.workers[number].wait(30)


def processes() -> dict[int, tuple[int, int, str]]:
    """The parent, the group and the command of every process."""
    listing = subprocess.run(
        ["ps", "-eww", "-o", "pid=,ppid=,pgid=,args="],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    )
    lines = (line.split(maxsplit=3) for line in listing.stdout.splitlines())
    return {int(pid): (int(parent), int(group), words) for pid, parent, group, words in lines}


@contextmanager
def cluster(folder: Path, java: str, machines: Sequence[Mapping[str, str]]) -> Iterator[Cluster]:
    """A master, and a worker for each machine, from the pip package.

    Parameters
    ----------
    folder
        Where logs and the workers' folders are.
    java
        Where Java is, for the master.
    machines
        What each worker has as its environment variables.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"spark://127.0.0.1:{port}"
    page = ["--webui-port", "0"]
    master = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "JAVA_HOME": java}
    commands = [("master.Master", ["--host", "127.0.0.1", "--port", port, *page], master)]
    for number, machine in enumerate(machines):
        # As on machines of their own: Spark starts no copy of a task where it already runs.
        host = ["--host", f"127.0.0.{number + 1}"]
        size = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work-{number}")]
        commands.append(("worker.Worker", [*host, *page, *size, address], dict(machine)))
    log = (folder / "cluster.log").open("wb")
    running = [
        subprocess.Popen(  # noqa: S603
            [INSTALLED / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *options],
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**variables, "SPARK_HOME": str(INSTALLED)},
        )
        for name, options, variables in commands
    ]
    try:
        wait_for_port(int(port))  # Spark's own patience is shorter than a busy machine needs
        yield Cluster(address, tuple(running[1:]))
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(30)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        log.close()


def wait_for_port(port: int) -> None:
    """Wait until somebody listens."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise AssertionError(f"nobody listens at {port}")
