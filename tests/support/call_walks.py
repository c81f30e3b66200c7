"""Walks through the code as a page tells them, and whether they happen.

A walk is a nested list below a heading. Each entry begins with a file and a function::

    1. `monitor/loop.py`: `TopKMonitor.ingest` takes a batch
       - `monitor/columns.py`: `read` makes clean columns of it

An entry holds if its function was called while that of the entry above it ran, and after the
first call of the entry before it. What stands on the outermost level is only held to its order:
the next one may run in another thread or in another process of Spark's.
"""

from __future__ import annotations

import re
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import topwater

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

SOURCE = Path(topwater.__file__).parent
_ENTRY = re.compile(r"^( *)(?:\d+\.|-) `([\w/]+\.py)`: `([\w.]+)`")
_HEADING = re.compile(r"^## (.+)$")


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of a walk; ``parent`` is the place of the entry above it, or None."""

    line: int
    file: str
    name: str
    parent: int | None

    def __str__(self) -> str:
        return f"line {self.line}: {self.file} {self.name}"


def walks(page: str) -> dict[str, list[Step]]:
    """The walks of a page, by their headings."""
    found: dict[str, list[Step]] = {}
    steps: list[Step] = []
    above: list[tuple[int, int]] = []
    for number, line in enumerate(page.splitlines(), 1):
        if heading := _HEADING.match(line):
            steps, above = found.setdefault(heading[1], []), []
        elif entry := _ENTRY.match(line):
            indent = len(entry[1])
            while above and above[-1][0] >= indent:
                above.pop()
            steps.append(Step(number, entry[2], entry[3], above[-1][1] if above else None))
            above.append((indent, len(steps) - 1))
    return {heading: steps for heading, steps in found.items() if steps}


class Calls:
    """Every call of a function of ours while the context is open, in all threads."""

    def __init__(self) -> None:
        self.first: dict[tuple[str, str], int] = {}
        self.inside: dict[tuple[tuple[str, str], tuple[str, str]], int] = {}
        self._count = 0

    def __enter__(self) -> Calls:
        threading.setprofile(self._seen)
        sys.setprofile(self._seen)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _seen(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(str(SOURCE)):
            return
        call = _place(frame.f_code)
        self._count += 1
        self.first.setdefault(call, self._count)
        for outer in _callers(frame):
            self.inside.setdefault((outer, call), self._count)

    def problems(self, steps: list[Step]) -> list[str]:
        """What of a walk did not happen."""
        return [f"{step} {why}" for step in steps if (why := self._problem(step, steps))]

    def _problem(self, step: Step, steps: list[Step]) -> str:
        parent = None if step.parent is None else steps[step.parent]
        if (step.file, step.name) not in self.first:
            return "was not called"
        if self._when(step, parent) is None:
            return f"was not called by {parent.name if parent else 'anybody'}"
        before = [each for each in steps[: steps.index(step)] if each.parent == step.parent]
        if before and (self._when(before[-1], parent) or 0) > (self._when(step, parent) or 0):
            return f"was called before {before[-1].name}"
        return ""

    def _when(self, step: Step, parent: Step | None) -> int | None:
        """The number of its first call, within the parent's if it has one."""
        call = (step.file, step.name)
        if parent is None:
            return self.first.get(call)
        return self.inside.get(((parent.file, parent.name), call))


def _callers(frame: FrameType) -> Iterator[tuple[str, str]]:
    outer = frame.f_back
    while outer is not None:
        if outer.f_code.co_filename.startswith(str(SOURCE)):
            yield _place(outer.f_code)
        outer = outer.f_back


def _place(code: CodeType) -> tuple[str, str]:
    return Path(code.co_filename).relative_to(SOURCE).as_posix(), code.co_qualname
