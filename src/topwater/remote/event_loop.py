"""An event loop in a thread of its own, one for each process: work there can be cut off."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine

T = TypeVar("T")

_loops: dict[int, asyncio.AbstractEventLoop] = {}
_lock = threading.Lock()


def _after_fork() -> None:
    """The child has neither the thread nor the lock that another thread may have held."""
    global _lock
    _loops.clear()
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def finished(work: Coroutine[Any, Any, T], seconds: float) -> T | None:
    """What ``work`` gives; None if it takes longer, and then it is cancelled.

    Examples
    --------
    >>> import asyncio
    >>> finished(asyncio.sleep(0, "done"), 1.0), finished(asyncio.sleep(60), 0.01)
    ('done', None)
    """
    began = time.monotonic()
    import asyncio  # which itself takes a while, the first time

    running = asyncio.run_coroutine_threadsafe(work, _home())
    try:
        return running.result(max(0.0, seconds - (time.monotonic() - began)))
    except TimeoutError:
        running.cancel()
        return None


def let_run(work: Coroutine[Any, Any, Any]) -> None:
    """Start ``work`` and do not wait for it; nothing happens if no loop runs here."""
    import asyncio

    loop = _loops.get(os.getpid())
    if loop is None:
        work.close()
    else:
        asyncio.run_coroutine_threadsafe(work, loop)


def _home() -> asyncio.AbstractEventLoop:
    """The event loop of this process."""
    import asyncio

    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="topwater-remote", daemon=True).start()
        return loop
