"""The last windows, kept once for all watchers.

Nobody has a queue: a watcher has a place in the one history, and takes what is newer. So a slow
watcher never holds up the stream and costs no memory; if it falls behind the history, it goes on
with the oldest that is left.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from topwater.live.records import Record

Kind = Literal["window", "note", "ended"]

MOST_WINDOWS = 1_000
MOST_BYTES = 4 * 2**20
MOST_NOTES = 50


@dataclass(frozen=True, slots=True)
class About:
    """What a page is about.

    Attributes
    ----------
    title, explained
        What the query is called, and what it does, in a few lines.
    waiting
        What is said until the first window is there.
    values, remote
        What the stream's values and the remote value are called.
    budget
        How many look-ups a window has, if that is limited.
    by
        Whether windows span times or a number of events.
    """

    title: str = "Topwater"
    explained: str = ""
    waiting: str = ""
    values: tuple[str, ...] = ()
    remote: str = ""
    budget: int | None = None
    by: Literal["time", "count"] = "time"


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that happened: its number, and what is sent to browsers."""

    number: int
    kind: Kind
    body: bytes


class Feed:
    """What happened lately, for any number of watchers in any thread.

    A window replaces that of the same group and end, and all later ones of the group: so a stream
    that starts again, from a checkpoint or from its beginning, is told as it is.
    """

    def __init__(self, about: About) -> None:
        self.run = secrets.token_hex(4)
        self.closed = False
        self._lock = threading.Lock()
        self._number = 0
        self._size = 0
        self._windows: dict[tuple[str | None, int], Entry] = {}
        self._newest: dict[str | None, int] = {}
        self._rest: deque[Entry] = deque(maxlen=MOST_NOTES)
        self._about = about
        self._wakers: set[Callable[[], None]] = set()

    @property
    def about(self) -> About:
        """What it is about now."""
        return self._about

    def set_about(self, about: About) -> None:
        """Change what it is about."""
        self._about = about
        self._wake()

    def put(self, record: Record) -> None:
        """A window closed."""
        record = {"at": now(), **record}
        place = (record.get("group"), record["window"]["end"])
        with self._lock:
            self._cut(*place)
            entry = self._entry("window", record)
            self._windows[place] = entry
            self._newest[place[0]] = place[1]
            self._size += len(entry.body)
            self._trim()
        self._wake()

    def note(self, text: str) -> None:
        """Something that people should know."""
        self._put_text("note", text)

    def end(self, text: str) -> None:
        """No more windows will come."""
        self._put_text("ended", text)

    def close(self) -> None:
        """Let all watchers go."""
        self.closed = True
        self._wake()

    def since(self, number: int) -> list[Entry]:
        """What happened after ``number``, as far as it is kept, in order."""
        found: list[Entry] = []
        with self._lock:
            for entries in (reversed(self._windows.values()), reversed(self._rest)):
                for entry in entries:
                    if entry.number <= number:
                        break
                    found.append(entry)
        return sorted(found, key=lambda entry: entry.number)

    def state(self) -> dict[str, Any]:
        """All that is known now: the newest window of each group, and what was said."""
        with self._lock:
            newest = [self._windows[place] for place in self._newest.items()]
            told = list(self._rest)
            number, kept = self._number, len(self._windows)
        windows = sorted((json.loads(entry.body) for entry in newest), key=_group)
        return {
            "run": self.run,
            "number": number,
            "about": asdict(self._about),
            "kept": kept,
            "windows": windows,
            "notes": [json.loads(entry.body) | {"kind": entry.kind} for entry in told],
        }

    def watch(self, waker: Callable[[], None]) -> Callable[[], None]:
        """Call ``waker`` whenever something happens, until what is returned is called."""
        with self._lock:
            self._wakers.add(waker)
        return lambda: self._leave(waker)

    def _leave(self, waker: Callable[[], None]) -> None:
        with self._lock:
            self._wakers.discard(waker)

    @property
    def watchers(self) -> int:
        """How many are watching."""
        return len(self._wakers)

    def _put_text(self, kind: Kind, text: str) -> None:
        with self._lock:
            self._rest.append(self._entry(kind, {"text": text, "at": now()}))
        self._wake()

    def _entry(self, kind: Kind, document: dict[str, Any]) -> Entry:
        self._number += 1
        body = json.dumps(document, allow_nan=False, separators=(",", ":")).encode()
        return Entry(self._number, kind, body)

    def _cut(self, group: str | None, end: int) -> None:
        """Forget the windows of a group from here on: time went back."""
        if self._newest.get(group, end - 1) < end:
            return
        for place in [each for each in self._windows if each[0] == group and each[1] >= end]:
            self._forget(place)

    def _trim(self) -> None:
        while len(self._windows) > MOST_WINDOWS or (
            self._size > MOST_BYTES and len(self._windows) > 1
        ):
            self._forget(next(iter(self._windows)))

    def _forget(self, place: tuple[str | None, int]) -> None:
        self._size -= len(self._windows.pop(place).body)
        if self._newest.get(place[0]) == place[1]:
            del self._newest[place[0]]

    def _wake(self) -> None:
        with self._lock:
            wakers = list(self._wakers)
        for waker in wakers:
            waker()


def now() -> int:
    """The time of this machine, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _group(record: Record) -> str:
    return str(record.get("group", ""))
