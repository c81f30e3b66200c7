"""No more requests than a service allows, from all processes of a host together.

The limit is kept by spacing requests evenly (the generic cell rate algorithm, GCRA): one number,
the time at which the next request may go, is all its state. It lies in a small file, so that all
shards of a query on a host share it. The clock is the host's monotonic one, which is the same for
all its processes.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import math
import os
import struct
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from topwater.model import Fetched, KeyArray
from topwater.protocols import Source
from topwater.remote.wrappers.clocks import SYSTEM_CLOCK, Timer
from topwater.remote.wrappers.wrapper import PATIENCE, Around, failed
from topwater.validation import checked_call, number_of, whole_of

_USED, _CATCH_UP = 0.965, 0.02
"""How much of the allowed rate is used, and how late a request may go, as a part of the period,
without loss for those after it. Together they leave 1.5 % of the period: for requests that do not
all travel equally fast."""

_LONGEST_PAUSE = 300.0


@checked_call("rate")
@dataclass(frozen=True, slots=True)
class Limit:
    """At most ``requests`` in any span of ``seconds``.

    Parameters
    ----------
    requests
        How many are allowed, or None for any number: then only what the service itself says
        (``Retry-After``) holds them back.
    seconds
        In which time.
    burst
        How many may go at once. More than one costs rate, as no span may hold more than
        ``requests``: what is sustained is that of ``requests - burst + 1``.
    name
        All sources of a host with the same name share the limit. Without a name it is that of
        one object in one process.

    Examples
    --------
    >>> Limit(10).share(3)
    Limit(requests=3, seconds=1.0, burst=1, name='')
    >>> Limit(2).share(5)
    Limit(requests=1, seconds=3.0, burst=1, name='')
    """

    requests: int | None = None
    seconds: float = 1.0
    burst: int = 1
    name: str = ""

    def __post_init__(self) -> None:
        if self.requests is not None:
            fix = "for less than one a second write Limit(1, seconds=60)"
            whole_of(self.requests, "rate.requests", 1, fix=fix)
        fix = "the time in which so many requests are allowed"
        number_of(self.seconds, "rate.seconds", above=0, fix=fix)
        whole_of(self.burst, "rate.burst", 1, self.requests, "1 spaces requests evenly")

    @staticmethod
    def of(spec: int | float | Limit | None, name: str = "") -> Limit:
        """A limit from a number per second; ``name`` is for one that has none."""
        if isinstance(spec, Limit):
            return spec if spec.name else replace(spec, name=name)
        if isinstance(spec, float) and 0 < spec < math.inf and not spec.is_integer():
            whole = int(spec)
            # 2.5 a second are 2 in 0.8 seconds, and 0.2 a second are 1 in 5.
            return Limit(max(1, whole), max(1, whole) / spec, name=name)
        if isinstance(spec, float) and spec.is_integer():
            spec = int(spec)
        return Limit(spec, name=name)  # type: ignore[arg-type]  # checked there

    def share(self, parts: int) -> Limit:
        """The limit for one of several hosts, so that all of them together keep it.

        Parts of requests do not exist, so some of the rate is lost where it can't be divided.
        """
        if self.requests is None or parts == 1:
            return self
        if self.requests >= parts:
            requests = self.requests // parts
            return replace(self, requests=requests, burst=min(self.burst, requests))
        rounds = -(-parts // self.requests)
        return replace(self, requests=1, seconds=self.seconds * rounds, burst=1)

    @property
    def spacing(self) -> float:
        """Seconds between two requests when they come without end."""
        if self.requests is None:
            return 0.0
        return self.seconds / (_USED * (self.requests - self.burst + 1))

    @property
    def tolerance(self) -> float:
        """How much earlier than evenly spaced a request may go."""
        return (self.burst - 1) * self.spacing + _CATCH_UP * self.seconds


class Limited(Around):
    """Lets requests go at the pace of a limit, and waits when the service asks for it.

    A request that can't go before the deadline fails as ``"rate"``, at once. A service's
    ``Retry-After`` holds back all that share the limit, for at most five minutes; without a
    deadline nobody waits for that longer than a minute.

    Parameters
    ----------
    source
        Each of its fetches counts as one request.
    limit
        What is allowed.
    timer
        For tests.
    """

    def __init__(self, source: Source, limit: Limit, timer: Timer = SYSTEM_CLOCK) -> None:
        super().__init__(source)
        self.limit = limit
        self._timer = timer
        self._slot = Slot(limit.name, limit.requests is not None)

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``, once it is their turn."""
        if not len(keys):
            return self.source.fetch(keys, deadline)
        waited = self._turn(deadline)
        if waited is None:
            return failed(keys, "rate")
        got = self.source.fetch(keys, None if deadline is None else deadline - waited)
        if got.wait:
            self._pause(min(got.wait, _LONGEST_PAUSE))
        if deadline is not None and waited > deadline / 2:
            got = _ours(got)
        return got

    def _turn(self, deadline: float | None) -> float | None:
        """Wait until a request may go, and say how long that took; None if it would be too long.

        Whoever wakes first goes, and by the time at which it really goes: nobody who was late
        can then come too close to the next.
        """
        begun = self._timer.now()
        longest, patience = (math.inf, PATIENCE) if deadline is None else (deadline, deadline)
        while True:
            with self._slot.held() as state:
                now = self._timer.now()
                goes = max(state.next - self.limit.tolerance, state.quiet)
                if now - begun >= longest:
                    return None
                if goes <= now:
                    state.next = max(state.next, now) + self.limit.spacing
                    return now - begun
            if goes - begun >= longest or state.quiet - begun >= patience:
                return None
            self._timer.sleep(goes - now)

    def _pause(self, seconds: float) -> None:
        with self._slot.held() as state:
            state.quiet = max(state.quiet, self._timer.now() + seconds)


def _ours(got: Fetched) -> Fetched:
    """Where the turn came so late that the request had no time, that is not the service's fault."""
    if got.ok.all():
        return got
    why = got.reasons()
    return replace(got, why=np.where(why == "late", "rate", why))


@dataclass(slots=True)
class _State:
    """When the next request is due, and until when the service wants none. Monotonic seconds."""

    next: float = -math.inf
    quiet: float = -math.inf


@dataclass(eq=False)
class Slot:
    """The state of a limit, under a lock: in a file if it has a name, or in memory.

    Where there is no rate, all that is shared is when the service wants quiet; if there is no
    place for a file, each process then finds out by itself.
    """

    name: str
    rated: bool = True
    _state: _State = field(default_factory=_State, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __reduce__(self) -> Any:
        return Slot, (self.name, self.rated)

    @contextlib.contextmanager
    def held(self) -> Iterator[_State]:
        """The state, locked against changes by others."""
        with self._lock:
            descriptor = self._opened()
            if descriptor is None:
                yield self._state
                return
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                state = _read(descriptor)
                yield state
                os.pwrite(descriptor, struct.pack("<dd", state.next, state.quiet), 0)
            finally:
                os.close(descriptor)

    def _opened(self) -> int | None:
        if not self.name:
            return None
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        try:
            # One without a rate must not wait for the turn of one that has.
            return os.open(path_of(self.name if self.rated else f"{self.name}\n"), flags, 0o600)
        except OSError:
            if self.rated:
                raise
            return None


def path_of(name: str) -> Path:
    """The file of a named limit, in a folder that is only ours."""
    folder = Path(tempfile.gettempdir()) / f"topwater-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.lstat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    # The clock starts anew when the machine does.
    boot = Path("/proc/sys/kernel/random/boot_id")
    marked = f"{boot.read_text() if boot.exists() else ''}\n{name}"
    return folder / f"limit-{hashlib.sha256(marked.encode()).hexdigest()[:24]}"


def _read(descriptor: int) -> _State:
    data = os.pread(descriptor, 16, 0)
    if len(data) < 16:
        return _State()
    return _State(*struct.unpack("<dd", data))
