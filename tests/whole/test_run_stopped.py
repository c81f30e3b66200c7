"""Commands on Spark that are stopped at any moment: alone, or with Java as service managers do."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from topwater.cli.starter import start_project

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

RUN = ["run", "job.toml", "--set", "stream.speed=max"]
ONCE = ["run", "job.toml", "--once", "--json"]
DEMO = ["demo", "--no-live"]
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
ALONE, ALL = os.kill, os.killpg
"""A signal to the process, or also to Java and all others, as from a terminal or systemd."""


def stopped(
    folder: Path, command: list[str], send: Callable[[int, int], None], number: int, after: float
) -> tuple[int, str]:
    """The exit code and the words of a command that gets a signal.

    It gets it so many seconds after it began with Spark; before the sign, after its first answer.
    """
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "topwater", *command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        words, sign = "", "Spark…" if after >= 0 else "looked up"
        while sign not in words:
            line = process.stdout.readline()
            assert line, words
            words += line
        time.sleep(abs(after))
        send(process.pid, number)
        words += process.stdout.read()
    return process.returncode, words


def require_calm(told: tuple[int, str], number: int) -> None:
    code, words = told
    assert code == CODES[signal.Signals(number)], words
    assert "Traceback" not in words, words
    assert "error:" not in words, words
    assert words.endswith("stopped\n"), words


@pytest.fixture
def project(tmp_path: Path) -> Path:
    start_project(tmp_path / "mine")
    return tmp_path / "mine"


@pytest.mark.parametrize(
    ("send", "number", "after"),
    [
        pytest.param(ALONE, signal.SIGINT, -0.01, id="while it runs"),
        pytest.param(ALL, signal.SIGTERM, 1.5, id="while Java starts"),
    ],
)
def test_a_signal_is_a_calm_end(
    project: Path, send: Callable[[int, int], None], number: int, after: float
) -> None:
    require_calm(stopped(project, RUN, send, number, after), number)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("command", [RUN, ONCE, DEMO], ids=["run", "once", "demo"])
@pytest.mark.parametrize("send", [ALONE, ALL], ids=["alone", "all"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_moment_is_a_calm_end(
    project: Path, command: list[str], send: Callable[[int, int], None], number: int
) -> None:
    moments = random.Random(f"{command}{number}")
    for after in [moments.uniform(0, 9) for _ in range(6)]:
        code, words = stopped(project, command, send, number, after)
        if code:  # a command may be done by then
            require_calm((code, words), number)
        assert "Traceback" not in words, f"after {after} s: {words}"
