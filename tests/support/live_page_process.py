"""`topwater live` as a process of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def process(folder: Path, port: int = 0) -> Iterator[str]:
    """``topwater live`` on a folder, ended as Ctrl-C would; gives its address."""
    command = [sys.executable, "-m", "topwater", "live", str(folder), "--port", str(port)]
    started = subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    slow = threading.Timer(60, started.kill)
    slow.start()
    try:
        line = started.stdout.readline() if started.stdout else ""
        slow.cancel()
        found = re.match(r"http://\S+", line)
        assert found, line
        yield found[0]
    finally:
        started.send_signal(signal.SIGINT)
        rest, _ = started.communicate(timeout=20)
    assert started.returncode == 0, rest
    assert "Traceback" not in rest
