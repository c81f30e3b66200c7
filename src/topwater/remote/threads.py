"""Threads for calls that may never come back.

Python can't end a thread. So a call that misses its deadline is given up: its thread goes on, and
is of use again when the call ends, if it does. Others take its place, up to a number; beyond it,
calls are refused at once. The threads are daemons: one that hangs does not keep the process.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")

MOST_LOST = 64
"""The number of given-up calls that may hang in a process, over all crews."""


class _Work(Generic[T]):
    """The calls of one run, and what has come of them."""

    def __init__(self, calls: Sequence[Callable[[], T]]) -> None:
        self.calls = calls
        self.results: list[T | None] = [None] * len(calls)
        self.left = len(calls)
        self.running = 0
        self.over = False


@dataclass(eq=False)
class _Yard:
    """What threads and their crew share; it does not hold the crew, which may go."""

    pid: int = field(default_factory=os.getpid)
    change: threading.Condition = field(default_factory=threading.Condition)
    queue: deque[tuple[_Work[Any], int]] = field(default_factory=deque)
    threads: int = 0
    lost: int = 0
    idle: int = 0
    closed: bool = False


_lost_lock = threading.Lock()
_lost = 0


class Crew:
    """Runs calls at the same time, and waits for them no longer than it may.

    Parameters
    ----------
    size
        How many calls run at a time.
    spare
        How many more threads there may be while calls that were given up go on.

    Examples
    --------
    >>> Crew(2, spare=0).run([lambda: 1, lambda: 2, lambda: 3], seconds=5.0)
    [1, 2, 3]
    """

    def __init__(self, size: int, spare: int) -> None:
        self.size = size
        self.spare = spare
        self._yard = _Yard()
        self._finalizer = weakref.finalize(self, _close, self._yard)

    def run(self, calls: Sequence[Callable[[], T]], seconds: float | None) -> list[T | None]:
        """What each call returned; None for those that did not come, or were not begun, in time.

        The calls must not raise. Where all threads are stuck, it does not wait at all.
        """
        yard = self._here()
        work = _Work(calls)
        with yard.change:
            if not self._hire(yard, len(calls)):
                return work.results
            yard.queue.extend((work, at) for at in range(len(calls)))
            yard.change.notify_all()
            try:
                yard.change.wait_for(lambda: not work.left, seconds)
            finally:
                # A thread that still runs one of these is lost until it comes back.
                work.over = True
                _lose(yard, work.running)
            return list(work.results)

    def close(self) -> None:
        """Let the threads go; those that are stuck end when their calls do."""
        self._finalizer.detach()
        _close(self._yard)
        self._renew()

    @property
    def stuck(self) -> int:
        """How many calls were given up and have not come back."""
        return self._yard.lost

    def _here(self) -> _Yard:
        """Threads do not come along into a forked process."""
        if self._yard.pid != os.getpid():
            self._renew()
        return self._yard

    def _renew(self) -> None:
        self._yard = _Yard()
        self._finalizer = weakref.finalize(self, _close, self._yard)

    def _hire(self, yard: _Yard, calls: int) -> bool:
        """See that there are threads for the calls; False if there can be none."""
        wanted = min(self.size, len(yard.queue) + calls)
        most = self.size + self.spare if _lost < MOST_LOST else 0
        while yard.threads - yard.lost < wanted and yard.threads < most:
            hired = threading.Thread(
                target=_work, args=(yard, self.size), name="topwater-fetch", daemon=True
            )
            yard.threads += 1
            try:
                hired.start()
            except RuntimeError:  # the system has no thread to give
                yard.threads -= 1
                break
        return yard.threads > yard.lost


def _forget() -> None:
    """In a forked process there are no such threads."""
    global _lost, _lost_lock
    _lost, _lost_lock = 0, threading.Lock()


os.register_at_fork(after_in_child=_forget)


def _lose(yard: _Yard, count: int) -> None:
    global _lost
    yard.lost += count
    with _lost_lock:
        _lost += count


def _close(yard: _Yard) -> None:
    if yard.pid != os.getpid():
        return  # somebody in the process that was forked may have held the lock
    with yard.change:
        yard.closed = True
        yard.change.notify_all()


def _work(yard: _Yard, size: int) -> None:
    """One thread: take calls until there are too many threads, or the crew is gone."""
    with yard.change:
        while yard.threads - yard.lost <= size:
            if yard.queue:
                _next(yard)
            elif yard.closed:
                break
            else:
                yard.change.wait()
        yard.threads -= 1


def _next(yard: _Yard) -> None:
    """Run one call without the lock; what comes too late is dropped.

    A thread that waits must not hold the last call: that would keep the crew alive.
    """
    work, at = yard.queue.popleft()
    if work.over:
        return
    work.running += 1
    yard.change.release()
    result = None
    # Even an attempt to end the process from here must not cost a thread.
    with contextlib.suppress(BaseException):
        result = work.calls[at]()
    yard.change.acquire()
    work.running -= 1
    _hand_in(yard, work, at, result)


def _hand_in(yard: _Yard, work: _Work[Any], at: int, result: Any) -> None:
    if work.over:
        _lose(yard, -1)
        return
    work.results[at] = result
    work.left -= 1
    if not work.left:
        yard.change.notify_all()
