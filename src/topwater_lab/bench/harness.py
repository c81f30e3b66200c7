"""What all benchmarks share: a clock that a busy machine does not bend, progress, memory, JSON.

Time is CPU time divided by the threads that a contender may use. On a machine left alone that
is the time on the wall for code of one thread, and the best possible one for code of several;
on a shared machine it leaves out the time in which others ran.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds that some work took: on the wall, and of all cores together."""

    wall: float = 0.0
    cpu: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.wall + other.wall, self.cpu + other.cpu)

    def least(self, other: Spent) -> Spent:
        """The smaller of each: the best of repeats that did the same work."""
        return Spent(min(self.wall, other.wall), min(self.cpu, other.cpu))


NEVER = Spent(float("inf"), float("inf"))
"""Where a best-of starts."""


def timed(work: Callable[[], T]) -> tuple[T, Spent]:
    """What ``work`` returns, and what it took."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return result, Spent(time.perf_counter() - wall, time.process_time() - cpu)


class Ticker:
    """Tells what is being measured, on stderr. It draws only when told to: no thread is timed."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total)

    def step(self, what: str) -> None:
        """Say what comes next, and that what came before is done."""
        self._progress.update(self._task, description=what)
        self._progress.refresh()
        self._progress.advance(self._task)


@contextlib.contextmanager
def ticking(total: int, *, quiet: bool) -> Iterator[Ticker]:
    """A progress bar of ``total`` steps; nothing at all if ``quiet``."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    progress = Progress(
        *columns,
        TimeElapsedColumn(),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
        disable=quiet,
    )
    with progress:
        yield Ticker(progress, total)


def peak_memory() -> int:
    """The most memory this process has held so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not getrusage, which on Linux goes on from the peak of the process that started this.
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii"))
        if found:
            return int(found[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def memory_now() -> int:
    """What this process holds, in bytes; the most so far where the system does not tell."""
    told = Path("/proc/self/statm")
    if not told.exists():
        return peak_memory()
    return int(told.read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def worker_memory() -> int | None:
    """What the Python workers of a Spark session of this process hold, in bytes; None if not told.

    What several of them share is counted once.
    """
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it may have ended
            # The name, in brackets, may have anything in it.
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
    mine = [pid for pid in parents if _descends(pid, parents) and _is_worker(pid)]
    sizes = [_proportional(pid) for pid in mine]
    return sum(sizes) or None


def _descends(pid: int, parents: dict[int, int]) -> bool:
    while (pid := parents.get(pid, 0)) > 1:
        if pid == os.getpid():
            return True
    return False


def _is_worker(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"pyspark.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _proportional(pid: int) -> int:
    with contextlib.suppress(OSError):
        found = re.search(r"Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text())
        return int(found[1]) * 1024 if found else 0
    return 0


def write_json(report: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    json.dump(report, sys.stdout, allow_nan=False)
    sys.stdout.write("\n")


def short(number: float | None) -> str:
    """A number for a table.

    Examples
    --------
    >>> short(1_000), short(12_345_678), short(0.1234), short(None)
    ('1 K', '12.3 M', '0.123', '-')
    """
    if number is None:
        return "-"
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " K")):
        if abs(number) >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"
