"""Rows that become a state."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from topwater.monitor.journal import Changes
from topwater.monitor.stored_journal import NO_MAP, StoredJournal
from topwater.spark import state_writer
from topwater.spark.chunk_map import CHUNKS
from topwater.spark.processor import STATE
from topwater.spark.shard_placement import PLACE, places
from topwater.spark.state_writer import ShardJournals, StoredValue, StoringProcessor, _tables

JOURNALS = ShardJournals(
    {
        0: StoredValue(b"h0", {1: b"a", 2: b"b"}),
        1: StoredValue(b"h1", {}),
        2: StoredValue(b"j", {}),
    },
    shards=2,
    origin="a pattern",
    joint=True,
    name="best",
)


def test_a_row_for_each_head_and_each_chunk_and_one_that_starts_it() -> None:
    (table,) = _tables(JOURNALS, {})
    names = (PLACE, "joint", "id", "told")
    where = [tuple(row[name] for name in names) for row in table.to_pylist()]
    first, second = places(2)
    assert where == [
        (0, False, None, None),
        (first, False, None, b"h0"),
        (first, False, 1, b"a"),
        (first, False, 2, b"b"),
        (second, False, None, b"h1"),
        (0, True, None, b"j"),
    ]


def test_what_is_large_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_writer, "_AT_ONCE", 1)
    parts = [*_tables(JOURNALS, {})]
    assert len(parts) > 2
    monkeypatch.undo()
    (whole,) = _tables(JOURNALS, {})
    assert pa.concat_tables(parts).equals(whole)


def test_each_stage_stores_what_is_its_own() -> None:
    rows = [Row(**row) for table in _tables(JOURNALS, {}) for row in table.to_pylist()]
    shards, ranking = (TwsTester(StoringProcessor(joint=joint)) for joint in (False, True))
    passed = [out for row in rows for out in shards.test(row[PLACE], [row])]
    assert [row.told for row in passed] == [b"j"]
    first, second = places(2)
    assert shards.peekValueState(STATE, first) == (b"h0", 0, 2, "a pattern", "best")
    assert shards.peekMapState(CHUNKS, first) == {(1,): (b"a",), (2,): (b"b",)}
    assert shards.peekValueState(STATE, second) == (b"h1", 1, 2, "a pattern", "best")
    assert shards.peekValueState(STATE, 0) is None
    # The next version: one chunk is another, one goes.
    later = JOURNALS._replace(stored={0: StoredValue(b"h2", {2: b"c"})})
    for table in _tables(later, JOURNALS.stored):
        for row in table.to_pylist():
            assert [*shards.test(row[PLACE], [Row(**row)])] == []
    assert shards.peekValueState(STATE, first) == (b"h2", 0, 2, "a pattern", "best")
    assert shards.peekMapState(CHUNKS, first) == {(2,): (b"c",)}
    assert [*ranking.test(0, passed)] == []
    assert ranking.peekValueState(STATE, 0) == (b"j", 2, 2, "a pattern", "best")


def test_a_small_journal_is_one_value_and_a_large_one_is_not() -> None:
    small = StoredValue.of(Changes(b"head", {1: b"a"}, [], {1}, 1))
    assert (small.chunks, StoredJournal.unpack(small.value, NO_MAP).get(1)) == ({}, b"a")
    large = bytes(2**17)
    assert StoredValue.of(Changes(b"head", {1: large}, [], {1}, 2**17)) == (b"head", {1: large})
