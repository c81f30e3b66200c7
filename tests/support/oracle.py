"""The one rule in plain Python: every event kept, every window computed from scratch.

It shares no code with the package but the values it returns, knows nothing of panes or lists,
and finds windows by counting up from 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from topwater.model import Answer, Counts, Row, Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from topwater.query import TopKQuery

Event = tuple[Any, int | None, float | None]
"""(key, time, value); None stands for null."""


@dataclass(frozen=True)
class Seen:
    key: Any
    time: int
    value: float


REDUCE: dict[str, Callable[[list[Seen]], float]] = {
    "count": len,
    "sum": lambda seen: math.fsum(e.value for e in seen),
    "mean": lambda seen: math.fsum(e.value for e in seen) / len(seen),
    "min": lambda seen: min(e.value for e in seen),
    "max": lambda seen: max(e.value for e in seen),
    "last": lambda seen: max((e.time, e.value) for e in seen)[1],
}


@dataclass
class Oracle:
    """A monitor for one numeric column, ranked as it is or by one aggregate per key."""

    query: TopKQuery
    function: str = "each"
    seen: list[Seen] = field(default_factory=list)
    current: int | None = None
    empty: int = 0
    position: int = 0
    newest: int | None = None
    counts: Counts = field(default_factory=Counts)
    used: int = 0

    def ingest(self, events: Iterable[Event]) -> None:
        for key, time, value in events:
            self.note(events=1)
            if key is None:
                self.note(bad_key=1)
                self.heartbeat(time)
            elif self.by_time and time is None:
                self.note(bad_time=1)
            elif self.by_time and time is not None and time <= self.query.window.start:
                self.note(before_start=1)
            elif self.function != "count" and (value is None or not math.isfinite(value)):
                self.note(bad_score=1)
            else:
                self.place(key, time, 0.0 if value is None else value)

    def heartbeat(self, time: int | None) -> None:
        """A row without a key still tells the time."""
        if self.by_time and time is not None and time > self.query.window.start:
            self.newest = time if self.newest is None else max(self.newest, time)

    def place(self, key: Any, time: int | None, value: float) -> None:
        self.position += 1
        at = time if self.by_time and time is not None else self.position
        self.newest = at if self.newest is None else max(self.newest, at)
        late = self.current is not None and at <= self.window(self.current - 1).end
        self.note(late=int(late))
        if not late:
            self.used += 1
            self.seen.append(Seen(key, at, value))
        elif self.query.late == "use" and at > self.window(self.current or 0).start:
            self.seen.append(Seen(key, at, value))

    def close_until(self, watermark: int) -> list[Answer]:
        answers = []
        following = self.next_window()
        while following is not None and self.window(following).end < watermark:
            self.current = following
            answers += self.close(self.window(following))
            self.current = following = following + 1
        return answers

    def close(self, window: Window) -> list[Answer]:
        held = [e for e in self.seen if window.start < e.time <= window.end]
        self.empty = 0 if held else self.empty + 1
        if self.empty > self.query.empty_windows:
            self.empty = self.query.empty_windows
            self.note(skipped_windows=1)
            return []
        counts, self.counts = self.counts, Counts()
        return [Answer(window, self.rows(held), counts=counts)]

    def rows(self, held: list[Seen]) -> tuple[Row, ...]:
        items = held if self.function == "each" else self.per_key(held)
        sign = 1 if self.query.score.order == "smallest" else -1
        ranked = sorted(items, key=lambda e: (sign * e.value, -e.time, e.key))
        return tuple(
            Row(rank, e.key, e.value, e.time, () if self.query.take == "each" else (e.value,))
            for rank, e in enumerate(ranked[: self.query.k], start=1)
        )

    def per_key(self, held: list[Seen]) -> list[Seen]:
        keys: dict[Any, list[Seen]] = {}
        for event in held:
            keys.setdefault(event.key, []).append(event)
        return [
            Seen(key, max(e.time for e in seen), float(REDUCE[self.function](seen)))
            for key, seen in keys.items()
        ]

    def flush(self) -> list[Answer]:
        opens = self.window(self.current or 0).start
        open_still = [e.time for e in self.seen if e.time > opens]
        if not open_still:
            return []
        last = self.current or 0
        while self.window(last + 1).start < max(open_still):
            last += 1
        return self.close_until(self.window(last).end + 1)

    def next_window(self) -> int | None:
        if self.current is not None or not self.seen:
            return self.current
        oldest, first = min(e.time for e in self.seen), 0
        while self.window(first).end < oldest:
            first += 1
        return first

    def next_close(self) -> int | None:
        following = self.next_window()
        return None if following is None else self.window(following).end + 1

    def watermark(self) -> int | None:
        if not self.by_time:
            return self.position + 1
        return None if self.newest is None else self.newest - self.query.lateness

    def window(self, index: int) -> Window:
        opens = self.query.window.start + index * self.query.window.step
        return Window(index, opens, opens + self.query.window.width)

    @property
    def by_time(self) -> bool:
        return self.query.window.by == "time"

    def note(self, **more: int) -> None:
        self.counts += Counts(**more)


def told(answers: Iterable[Answer]) -> list[Answer]:
    """Answers without the number of candidates, which is the list's own affair."""
    return [replace(answer, candidates=0) for answer in answers]
