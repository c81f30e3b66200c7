"""A monitor made from its journal is the one that wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from tests.support.journal_store import JournalStore
from tests.support.scenarios import QUERIES, Scenario, scenario
from topwater import StateError, TopKMonitor, TopKQuery, tumbling
from topwater.monitor import Monitor, build_monitor, strand
from topwater.monitor.journal import Head, Journal
from topwater.monitor.reduction import reduce_for_shards
from topwater.tables import unpack

if TYPE_CHECKING:
    from topwater import Answer


def built(each: Scenario) -> Monitor:
    return build_monitor(each.query, source=each.source, keep_late=True)


def stepped(journal: Journal, file: pa.Table) -> list[Answer]:
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


def kept(each: Scenario, monitor: Monitor) -> list[object]:
    """All that later answers depend on: a list may still hold what a new one lets go."""
    again = build_monitor(each.query, monitor.snapshot(), source=each.source)
    return plain(again.snapshot())


def plain(state: bytes) -> list[object]:
    """A snapshot, without the order of rows that no answer depends on."""
    table, meta = unpack(state)
    found: list[object] = [meta]
    for name in ("state", "part"):
        if name in table.column_names:
            found += [plain(part) for part in table.column(name).to_pylist()]
            table = table.drop_columns(name)
    order = [(name, "ascending") for name in ("pane", "time", "key") if name in table.column_names]
    if order and table.num_rows:
        table = table.sort_by(order)
    return [*found, repr(table.to_pydict())]  # by its text a NaN equals another


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("seed", range(2))
def test_a_monitor_from_the_journal_is_the_one_that_wrote_it(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through any restarts, by all of the journal or by what is new, with images or without."""
    if seed:
        monkeypatch.setattr(strand, "_PIECES", 3)
        monkeypatch.setattr(strand, "SEGMENT", 300)
    rng = np.random.default_rng(seed)
    each = scenario(name, seed, files=10, rows=500, unit=0.1)
    right, live, store = Journal(built(each)), Journal(built(each)), JournalStore()
    behind = live
    for number, file in enumerate(each.files):
        assert stepped(live, file) == stepped(right, file)
        store.write(live.record(f"attempt {number}"))
        again = store.rebuilt(built(each))
        expected = kept(each, right.monitor)
        assert kept(each, live.monitor) == expected
        assert kept(each, again.monitor) == expected
        if behind is not live and behind.catch_up(Head.unpack(store.head), store.get):
            assert kept(each, behind.monitor) == expected
        behind, live = (live, again) if rng.random() < 0.4 else (behind, live)
        if rng.random() < 0.2:
            behind, live = live, behind if behind.version == live.version else live
    assert len(store.chunks) < 40
    assert right.monitor.flush() == live.monitor.flush()
