"""A store for journals: a dictionary that counts what is asked of it; and states to compare."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.support.scenarios import Scenario
from topwater.monitor import Monitor, build_monitor
from topwater.monitor.journal import Changes, Head, Journal
from topwater.tables import unpack


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

    def rebuilt(self, monitor: Monitor) -> Journal[Monitor]:
        """A new monitor that has become what was written, with its journal."""
        journal = Journal(monitor)
        journal.rebuild(Head.unpack(self.head), self.get)
        return journal

    def copied(self) -> JournalStore:
        """As it is now."""
        return JournalStore(self.head, dict(self.chunks))


def kept(each: Scenario, state: bytes) -> list[object]:
    """All that later answers depend on: a list may still hold what a new one lets go."""
    facts = unpack(state)[1]["facts"]
    if "joint" in facts or "credit" in facts.get("remote", ()):
        return plain(state)
    return plain(build_monitor(each.query, state, source=each.source).snapshot())


def plain(state: bytes) -> list[object]:
    """A snapshot, without the order of rows and the numbers of slots that no answer depends on."""
    table, meta = unpack(state)
    found: list[object] = [meta]
    for name in ("state", "part"):
        if name in table.column_names:
            found += [plain(part) for part in table.column(name).to_pylist()]
            table = table.drop_columns(name)
    if "slot" in table.column_names:
        table = table.drop_columns("slot")
    order = [(name, "ascending") for name in ("pane", "time", "key") if name in table.column_names]
    if order and table.num_rows:
        table = table.sort_by(order)
    return [*found, repr(table.to_pydict())]  # by its text a NaN equals another
