"""A monitor made from its journal is the one that wrote it."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from tests.support.journal_store import JournalStore, kept, plain
from tests.support.scenarios import QUERIES, Scenario, scenario
from topwater import StateError, TopKMonitor, TopKQuery, sliding, tumbling
from topwater.monitor import Monitor, build_monitor, group_log, grouped, strand
from topwater.monitor.journal import Head, Journal, snapshot_from
from topwater.monitor.journal_chunks import cut, joined
from topwater.monitor.reduction import reduce_for_shards
from topwater.replica import RefreshSettings
from topwater.tables import pack, pack_arrays, unpack, unpack_arrays

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topwater import Answer


def built(each: Scenario) -> Monitor:
    return build_monitor(each.query, source=each.source, keep_late=True)


def stepped(journal: Journal[Monitor], file: pa.Table) -> list[Answer]:
    """A micro-batch of several parts, as on Spark."""
    monitor = journal.monitor
    half = file.num_rows // 2
    parts = [
        part
        for piece in (file.slice(0, half), file.slice(half))
        for _, part in reduce_for_shards(monitor.query, piece)
    ]
    monitor.admit(*parts)
    return monitor.close_until(monitor.watermark or 0)


FORGETFUL = RefreshSettings.of({"remote": "followers", "budget": 3, "limit": 9})
"""A replica that forgets keys, and meets them again."""


@pytest.mark.parametrize("name", [*QUERIES, "forgetful"])
@pytest.mark.parametrize("seed", range(2))
def test_a_monitor_from_the_journal_is_the_one_that_wrote_it(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through any restarts, by all of the journal or by what is new, with images or without."""
    if seed:
        monkeypatch.setattr(strand, "_PIECES", 3)
        monkeypatch.setattr(strand, "SEGMENT", 300)
        monkeypatch.setattr(grouped, "LARGE", 1)
        monkeypatch.setattr(grouped, "_CHANGES", 2)
        monkeypatch.setattr(group_log, "_AWAKE", 2)
    rng = np.random.default_rng(seed)
    each = scenario(name.replace("forgetful", "worth"), seed, files=10, rows=500, unit=0.1)
    if name == "forgetful":
        each = replace(each, query=replace(each.query, refresh=FORGETFUL))
    right, live, store = Journal(built(each)), Journal(built(each)), JournalStore()
    behind = live
    for number, file in enumerate(each.files):
        assert stepped(live, file) == stepped(right, file)
        store.write(live.record(f"attempt {number}"))
        again = store.rebuilt(built(each))
        expected = kept(each, right.monitor.snapshot())
        assert kept(each, live.monitor.snapshot()) == expected
        assert kept(each, again.monitor.snapshot()) == expected
        if behind is not live and behind.catch_up(Head.unpack(store.head), store.get):
            assert kept(each, behind.monitor.snapshot()) == expected
        behind, live = (live, again) if rng.random() < 0.4 else (behind, live)
        if rng.random() < 0.2:
            behind, live = live, behind if behind.version == live.version else live
    assert len(store.chunks) < 40
    assert right.monitor.flush() == live.monitor.flush()


QUERY = TopKQuery(
    key="who", time="at", window=sliding(40, 10), take={"n": "count", "v": "sum(value)"},
    score="n + v", k=3,
)  # fmt: skip


def counted(journal: Journal[Monitor], at: int, keys: int = 50, seed: int = 0) -> list[Answer]:
    rng = np.random.default_rng([seed, at])
    who = rng.integers(0, keys, 2 * keys)
    values = rng.random(len(who))
    journal.monitor.ingest({"who": who, "at": np.full(len(who), at), "value": values})
    return journal.monitor.close_until(journal.monitor.watermark or 0)


def test_an_attempt_that_came_to_nothing_is_not_believed() -> None:
    """The worker that made it is alive, and its monitor is of a record that nobody wrote."""
    store, live = JournalStore(), Journal(TopKMonitor.build(QUERY))
    counted(live, 1)
    store.write(live.record("first"))
    other = store.rebuilt(TopKMonitor.build(QUERY))
    counted(live, 2, seed=1)
    live.record("second, which is lost")
    assert not live.catch_up(Head.unpack(store.head), store.get)
    counted(other, 2, seed=2)
    store.write(other.record("second"))
    assert live.version[0] == other.version[0] == 2
    assert not live.catch_up(Head.unpack(store.head), store.get)
    again = store.rebuilt(TopKMonitor.build(QUERY))
    assert again.monitor.flush() == other.monitor.flush()


def test_one_that_was_left_behind_reads_only_what_it_missed() -> None:
    store, live = JournalStore(), Journal(TopKMonitor.build(QUERY))
    for at in range(30):
        counted(live, at)
        store.write(live.record(f"{at}"))
    behind = store.rebuilt(TopKMonitor.build(QUERY))
    for at in range(30, 33):
        counted(live, at)
        store.write(live.record(f"{at}"))
    store.reads = 0
    assert behind.catch_up(Head.unpack(store.head), store.get)
    assert store.reads == 3
    assert behind.catch_up(Head.unpack(store.head), store.get)
    assert store.reads == 3
    assert behind.monitor.flush() == live.monitor.flush()


def test_what_is_written_and_kept_is_bounded_by_what_is_remembered() -> None:
    """The same keys a thousand times in one pane: images take the place of pieces."""
    query = replace(QUERY, window=tumbling(100_000))
    store, live = JournalStore(), Journal(TopKMonitor.build(query))
    for at in range(300):
        counted(live, at)
        store.write(live.record(f"{at}"))
        assert len(store.chunks) <= 80
    assert max(store.written[100:]) < 16_000
    again = store.rebuilt(TopKMonitor.build(query))
    assert again.monitor.flush() == live.monitor.flush()


def test_a_record_costs_what_came_however_much_is_remembered() -> None:
    store, live = JournalStore(), Journal(TopKMonitor.build(replace(QUERY, window=tumbling(9_999))))
    for at, keys in enumerate([20_000] * 6 + [10] * 4, 1):
        counted(live, at, keys)
        store.write(live.record(f"{at}"))
    assert max(store.written[-4:]) < 5_000 < 50_000 < min(store.written[:6])


def test_panes_that_left_all_windows_leave_the_store() -> None:
    store, live = JournalStore(), Journal(TopKMonitor.build(QUERY))
    for at in range(1, 400, 10):
        counted(live, at)
        store.write(live.record(f"{at}"))
        assert len(store.chunks) <= 6


def test_a_missing_and_a_damaged_chunk_are_named() -> None:
    store, live = JournalStore(), Journal(TopKMonitor.build(QUERY))
    for at in (1, 2):
        counted(live, at)
        store.write(live.record(f"{at}"))
    lost = store.copied()
    del lost.chunks[2]
    with pytest.raises(StateError, match="panes 2, chunk 1 of 1, is missing"):
        lost.rebuilt(TopKMonitor.build(QUERY))
    store.chunks[1] = store.chunks[1][:-1]
    with pytest.raises(StateError, match="panes 1, chunk 1 of 1, is damaged"):
        store.rebuilt(TopKMonitor.build(QUERY))


def test_a_state_of_another_form_or_query_is_refused() -> None:
    with pytest.raises(StateError, match="has a form that this program does not know"):
        Head.unpack(TopKMonitor.build(QUERY).snapshot())
    with pytest.raises(StateError, match="not Topwater state"):
        Head.unpack(b"nonsense")
    store = JournalStore()
    store.write(Journal(TopKMonitor.build(QUERY)).record("one"))
    with pytest.raises(StateError, match="other settings: k: 3 → 4"):
        store.rebuilt(TopKMonitor.build(replace(QUERY, k=4)))
    with pytest.raises(StateError, match="another query: its key"):
        store.rebuilt(TopKMonitor.build(replace(QUERY, key="other")))


@pytest.mark.parametrize("name", ["each", "last-and-sum", "worth", "groups-worth"])
def test_what_lacks_something_is_told_though_its_checksums_are_right(name: str) -> None:
    """Whatever is taken away, of the head or of what the chunks hold."""
    each, store = scenario(name, 3), JournalStore()
    live = Journal(built(each))
    for number, file in enumerate(each.files[:3]):
        stepped(live, file)
        store.write(live.record(str(number)))
    for head in heads_that_lack_something(store.head):
        with pytest.raises(StateError, match=r"the head: the state has a form|another query"):
            replace(store, head=head).rebuilt(built(each))
    for chunks, label in chunks_that_lack_something(store):
        with pytest.raises(StateError, match=rf"{label}.* a form that this program does not know"):
            replace(store, chunks=chunks).rebuilt(built(each))


def heads_that_lack_something(head: bytes) -> Iterator[bytes]:
    table, meta = unpack(head)
    document = json.loads(table.column("head")[0].as_py())
    paths: list[tuple[str, ...]] = [(name,) for name in document]
    paths += [("facts", name) for name in document["facts"]]
    paths += [("facts", "remote", name) for name in document["facts"].get("remote", ())]
    paths += [("journal", name) for name in document["journal"]]
    paths += [("journal", name, "marks") for name in document["journal"]]
    for path in paths:
        less = copy.deepcopy(document)
        inside = less
        for name in path[:-1]:
            inside = inside[name]
        del inside[path[-1]]
        yield pack(pa.table({"head": [json.dumps(less).encode()]}), meta)


def chunks_that_lack_something(store: JournalStore) -> Iterator[tuple[dict[int, bytes], str]]:
    """Each chunk without each of its columns, well sealed."""
    head = Head.unpack(store.head)
    for name, each in head.strands.items():
        for piece in each.pieces:
            label = f"{name} {piece.sequence}"
            content = joined(label, [store.chunks[id_] for id_ in piece.ids])
            for less in contents_that_lack_something(content):
                yield store.chunks | dict(zip(piece.ids, cut(label, less), strict=True)), label


def contents_that_lack_something(content: bytes) -> Iterator[bytes]:
    try:
        table, meta = unpack(content)
    except StateError:  # flat arrays; of these only some have to be there
        arrays = unpack_arrays(content)
        needed = [name for name in arrays if name.startswith(("new ", "if ", "key", "lengths "))]
        for name in needed:
            yield pack_arrays({each: arrays[each] for each in arrays if each != name})
        return
    for name in table.column_names:
        yield pack(table.drop_columns(name), meta)


@pytest.mark.parametrize("name", ["each", "worth", "groups-worth"])
def test_a_snapshot_that_lacks_something_is_told(name: str) -> None:
    each = scenario(name, 3)
    monitor = built(each)
    for file in each.files[:3]:
        monitor.ingest(file)
        monitor.close_until(monitor.watermark or 0)
    table, meta = unpack(monitor.snapshot())
    states = [pack(table.drop_columns(column), meta) for column in table.column_names]
    states += [pack(table, {"query": meta["query"]})]
    states += [
        pack(table, meta | {"facts": {other: meta["facts"][other] for other in meta["facts"]
                                      if other != fact}})
        for fact in meta["facts"]
    ]  # fmt: skip
    for state in states:
        with pytest.raises(StateError, match="a form that this program does not know"):
            build_monitor(each.query, state, source=each.source)


@pytest.mark.parametrize("name", ["each", "worth", "groups-worth"])
def test_a_snapshot_can_be_made_without_a_source(name: str) -> None:
    each, store = scenario(name, 3), JournalStore()
    live = Journal(built(each))
    for number, file in enumerate(each.files):
        stepped(live, file)
        store.write(live.record(str(number)))
    assert plain(snapshot_from(Head.unpack(store.head), store.get)) == kept(
        each, live.monitor.snapshot()
    )


@pytest.mark.parametrize("name", QUERIES)
def test_a_monitor_that_holds_something_is_written_as_a_whole(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And goes on from there: what was written first is not written again."""
    monkeypatch.setattr(strand, "SEGMENT", 300)
    each = scenario(name, 3)
    first = Journal(built(each))
    for file in each.files[:4]:
        stepped(first, file)
    state = first.monitor.snapshot()
    again = Journal(build_monitor(each.query, state, source=each.source, keep_late=True))
    store = JournalStore()
    store.write(again.record("a nonce", whole=True))
    assert kept(each, store.rebuilt(built(each)).monitor.snapshot()) == kept(each, state)
    assert stepped(again, each.files[4]) == stepped(first, each.files[4])
    store.write(again.record("another"))
    found, right = store.rebuilt(built(each)), first.monitor.snapshot()
    assert kept(each, found.monitor.snapshot()) == kept(each, right)
