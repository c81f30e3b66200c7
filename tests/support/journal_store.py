"""A store for journals: a dictionary that counts what is asked of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from topwater.monitor import Monitor
from topwater.monitor.journal import Changes, Head, Journal


@dataclass
class JournalStore:
    """Chunks by id, and the head that was written last."""

    head: bytes = b""
    chunks: dict[int, bytes] = field(default_factory=dict)
    written: list[int] = field(default_factory=list)
    reads: int = 0

    def write(self, changes: Changes) -> None:
        """As a host does: what is to be removed must be there, and what comes must be new."""
        assert not set(changes.puts) & set(self.chunks)
        self.chunks |= changes.puts
        for id_ in changes.removes:
            del self.chunks[id_]
        self.head = changes.head
        self.written.append(changes.size)

    def get(self, id_: int) -> bytes | None:
        """A chunk."""
        self.reads += 1
        return self.chunks.get(id_)

    def rebuilt(self, monitor: Monitor) -> Journal:
        """A new monitor that has become what was written, with its journal."""
        journal = Journal(monitor)
        journal.rebuild(Head.unpack(self.head), self.get)
        return journal

    def copied(self) -> JournalStore:
        """As it is now."""
        return JournalStore(self.head, dict(self.chunks))
