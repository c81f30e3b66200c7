"""Types the commands that pages show: runs them, or reads them where they can't be run."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.docs_commands import parse, targets
from tests.support.docs_pages import ROOT

BIN = Path(sys.executable).parent
ENDS = {"--version", "explain", "init", "run", "state"}
"""Commands that end by themselves in seconds, ``run`` if it is told to."""

PORTS = {"serve-example": "8765", "live": "8787"}
"""Commands that serve until they are stopped, and where they do if nothing else is said."""


class Shell:
    """A folder, and the services that were started there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ports: dict[str, str] = {}
        self._services: list[subprocess.Popen[bytes]] = []

    def type(self, line: str) -> str | None:
        """What a command printed; None if it was only read."""
        words = shlex.split(re.sub(r"(^|\s)#.*", "", line))
        if not words:
            return None
        check = PROGRAMS.get(Path(words[0]).name)
        assert check is not None, f"{words[0]!r} is not checked; see docs_shell.py"
        return check(self, words)

    def run(self, command: list[str]) -> str:
        """What a program printed, which ended well."""
        environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
        ran = subprocess.run(  # noqa: S603
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=240
        )
        assert ran.returncode == 0, f"{command} failed:\n{ran.stdout}{ran.stderr}"
        return ran.stdout

    def serve(self, words: list[str]) -> None:
        """A service in the background, on a free port; later blocks get to know it."""
        words = [word for word in words if word not in ("&", "--open")]
        named = words[words.index("--port") + 1] if "--port" in words else PORTS[words[1]]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            free = self._ports[named] = str(probe.getsockname()[1])
        command = [str(BIN / "topwater"), *words[1:], "--port", free]
        quiet = subprocess.DEVNULL
        self._services.append(subprocess.Popen(command, stdout=quiet, cwd=self.folder))  # noqa: S603
        for _ in range(600):
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", int(free)), 1),
            ):
                return
            time.sleep(0.1)
        raise AssertionError(f"{words} did not start")

    def with_ports(self, text: str) -> str:
        """A text that names the ports on which services really are."""
        for named, free in self._ports.items():
            text = text.replace(named, free)
        return text

    def close(self) -> None:
        """Stop what was started."""
        for service in self._services:
            service.terminate()
            try:
                service.wait(30)
            except subprocess.TimeoutExpired:
                service.kill()


def _topwater(shell: Shell, words: list[str]) -> str | None:
    parse(words)
    if words[1] in PORTS:
        shell.serve(words)
        return None
    if words[1] not in ENDS or (words[1] == "run" and "--once" not in words):
        return None
    return shell.run([str(BIN / "topwater"), *words[1:]])


def _python_file(shell: Shell, words: list[str]) -> str | None:
    if words[1:2] == ["-m"]:
        assert words[2] in ("venv", "pip", "topwater"), "only modules that a reader has"
        return None
    assert (shell.folder / words[1]).is_file(), f"{words[1]} is not there"
    return shell.run([sys.executable, *words[1:]])


def _make(_shell: Shell, words: list[str]) -> None:
    missing = {word for word in words[1:] if "=" not in word} - targets()
    assert not missing, f"nothing makes {missing}"


def _pip(_shell: Shell, words: list[str]) -> None:
    assert words[1] == "install", "pages only install"


def _folder(shell: Shell, words: list[str]) -> None:
    """``mkdir``, ``cd``: the reader goes there, or would if it were not outside."""
    there = shell.folder / words[-1]
    if words[0] == "mkdir":
        there.mkdir(parents=True, exist_ok=True)
    elif there.is_dir():
        shell.folder = there
        os.chdir(there)


def _opened(shell: Shell, words: list[str]) -> None:
    """A program that shows a file, until it is closed."""
    assert (shell.folder / words[-1]).is_file(), f"{words[-1]} is not there"


def _printed(shell: Shell, words: list[str]) -> str:
    return shell.run(words)


def _script(_shell: Shell, words: list[str]) -> None:
    """A file of the repository."""
    assert (ROOT / words[0]).is_file(), f"{words[0]} is not there"


def _spark_submit(shell: Shell, words: list[str]) -> None:
    """Needs a cluster: its options are looked up in its help, and its file has to be there."""
    known = set(re.findall(r"--[a-z-]+", _help_of_spark_submit()))
    unknown = [word for word in words if word.startswith("--") and word not in known]
    assert not unknown, f"spark-submit has no {unknown[0]}"
    [file] = [word for word in words if word.endswith(".py")]
    assert (shell.folder / Path(file).name).is_file(), f"{file} is not there"


@functools.cache
def _help_of_spark_submit() -> str:
    from topwater.spark.java import find_java

    java = find_java().command.parent.parent
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    command = [str(BIN / "spark-submit"), "--help"]
    ran = subprocess.run(  # noqa: S603
        command,
        env={**os.environ, "PATH": path, "JAVA_HOME": str(java)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout + ran.stderr


def _never(_shell: Shell, _words: list[str]) -> None:
    """Programs that need what no test has: a network, a cluster."""


PROGRAMS: dict[str, Callable[[Shell, list[str]], str | None]] = {
    "topwater": _topwater,
    "python": _python_file,
    "make": _make,
    "pip": _pip,
    "cd": _folder,
    "mkdir": _folder,
    "cat": _printed,
    "ls": _printed,
    "jupyter": _opened,
    "run": _script,
    "docker": _never,
    "export": _never,
    "git": _never,
    "source": _never,
    "spark-pipelines": _never,  # run by tests/docs/test_pipeline_example.py
    "spark-submit": _spark_submit,
    "venv-pack": _never,
}
