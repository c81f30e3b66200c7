"""A journal beside its head, in a map, and on the way from one to the other."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.support.journal_store import JournalStore, kept
from tests.support.scenarios import Scenario, scenario
from topwater import StateError, TopKMonitor, TopKQuery, tumbling
from topwater.monitor import Monitor, build_monitor, stored_journal
from topwater.monitor.journal import Changes, Head, Journal
from topwater.monitor.stored_journal import BESIDE, NO_MAP, StoredJournal, stored_size


@dataclass
class CountedMap:
    """A map that knows whether it was used."""

    held: dict[int, bytes] = field(default_factory=dict)
    used: int = 0

    def get(self, id_: int) -> bytes | None:
        self.used += 1
        return self.held.get(id_)

    def put(self, id_: int, chunk: bytes) -> None:
        self.used += 1
        assert id_ not in self.held
        self.held[id_] = chunk

    def remove(self, id_: int) -> None:
        self.used += 1
        del self.held[id_]


def changed(number: int, puts: dict[int, int], removes: list[int], ids: dict[int, int]) -> Changes:
    """A record with chunks of these sizes."""
    chunks = {id_: bytes([id_]) * size for id_, size in puts.items()}
    return Changes(f"head {number}".encode(), chunks, removes, set(ids), sum(ids.values()))


def test_chunks_go_to_the_map_together_and_come_back_when_few_are_left() -> None:
    """
    ::

        bytes    1     B     B+1            B/4+1   B/4
        where    ──beside──► │ ───── map ─────────► │ beside ──►
    """
    chunks = CountedMap()
    stored = StoredJournal(chunks)
    steps = [
        (changed(1, {1: 1}, [], {1: 1}), True),
        (changed(2, {2: BESIDE - 1}, [], {1: 1, 2: BESIDE - 1}), True),
        (changed(3, {3: 1}, [], {1: 1, 2: BESIDE - 1, 3: 1}), False),
        (changed(4, {4: BESIDE // 4}, [2], {1: 1, 3: 1, 4: BESIDE // 4}), False),
        (changed(5, {5: 7}, [4], {1: 1, 3: 1, 5: 7}), True),
        (changed(6, {}, [1], {3: 1, 5: 7}), True),
    ]
    for changes, beside in steps:
        used = chunks.used
        before = stored.beside
        written = stored.write(changes)
        stored = StoredJournal.unpack(stored.pack(), chunks)
        assert (stored.beside is not None) is beside
        assert stored.head == changes.head
        assert {id_: stored.get(id_) is not None for id_ in range(1, 6)} == {
            id_: id_ in changes.ids for id_ in range(1, 6)
        }
        assert stored_size(stored.pack(), changes.held) >= changes.held
        if before is not None and beside:
            assert (chunks.used, written) == (used, 0)
            assert stored_size(stored.pack(), 10**9) < BESIDE + 1_000
    assert not chunks.held


@pytest.mark.parametrize(
    ("name", "moves"), [("last-and-sum", 2), ("groups-sum", 1), ("worth", 1), ("listed", 1)]
)
def test_wherever_its_chunks_are_a_journal_makes_the_same_monitor(
    name: str, moves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin is a dictionary that holds every chunk; a limit of the usual size is crossed."""
    each = scenario(name, 1, files=12, rows=600, unit=0.1)
    monkeypatch.setattr(stored_journal, "_BACK", 1)
    never, *sizes = followed(each)
    monkeypatch.setattr(stored_journal, "BESIDE", 0)
    once, *_ = followed(each)
    monkeypatch.setattr(stored_journal, "BESIDE", int(np.median(sizes)))
    often, *_ = followed(each)
    assert (never, once) == (0, 1)
    assert often >= moves


def followed(each: Scenario) -> list[int]:
    """How often the chunks moved, and the bytes of all after each record."""

    def built() -> Monitor:
        return build_monitor(each.query, source=each.source)

    live, twin, chunks = Journal(built()), JournalStore(), CountedMap()
    stored, moved, sizes = StoredJournal(chunks), 0, []
    for number, file in enumerate(each.files):
        live.monitor.ingest(file)
        live.monitor.close_until(live.monitor.watermark or 0)
        changes = live.record(f"attempt {number}")
        twin.write(changes)
        before = stored.beside is None
        stored.write(changes)
        moved += before is not (stored.beside is None)
        sizes.append(sum(map(len, twin.chunks.values())))
        stored = StoredJournal.unpack(stored.pack(), chunks)
        assert chunks.held == (twin.chunks if stored.beside is None else {})
        assert stored.beside in (None, twin.chunks)
        again = Journal(built())
        again.rebuild(Head.unpack(stored.head), stored.get)
        right = twin.rebuilt(built())
        assert kept(each, again.monitor.snapshot()) == kept(each, right.monitor.snapshot())
    return [moved, *sizes]


def test_a_small_journal_never_needs_the_map() -> None:
    query = TopKQuery(
        key="who", time="at", window=tumbling(10), take={"n": "count"}, score="n", k=1
    )
    journal, stored = Journal(TopKMonitor.build(query)), StoredJournal(NO_MAP)
    for at in range(50):
        journal.monitor.ingest({"who": np.arange(20), "at": np.full(20, at)})
        journal.monitor.close_until(journal.monitor.watermark or 0)
        stored.write(journal.record(f"{at}"))
        stored = StoredJournal.unpack(stored.pack(), NO_MAP)


def test_a_head_by_itself_has_its_chunks_in_the_map() -> None:
    chunks = CountedMap({3: b"a chunk"})
    stored = StoredJournal.unpack(b"a head", chunks)
    assert (stored.head, stored.beside, stored.get(3)) == (b"a head", None, b"a chunk")
    assert stored_size(b"a head", 7) == 13


def test_whatever_is_damaged_is_told() -> None:
    stored = StoredJournal(NO_MAP)
    stored.write(changed(1, {1: 40, 2: 5}, [], {1: 40, 2: 5}))
    value = stored.pack()
    index = range(8, 8 + 16 * 3 + 4)
    for at in index:
        damaged = value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]
        with pytest.raises(StateError, match="what names its chunks is damaged"):
            StoredJournal.unpack(damaged, NO_MAP)
    for size in range(8, len(value)):
        with pytest.raises(StateError, match="damaged"):
            StoredJournal.unpack(value[:size], NO_MAP)
