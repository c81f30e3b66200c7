"""Bytes that come back as they were, or not at all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topwater import tables
from topwater.errors import StateError
from topwater.model import Items
from topwater.tables import items_from_table, items_to_table, pack, unpack

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
TABLE = pa.table({"pane": [0, 1, 2], "key": ["a", "é", ""], "x": [1.5, -0.0, math.pi]})


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_a_document_comes_back(meta: dict[str, Any]) -> None:
    table, again = unpack(pack(TABLE, meta))
    assert again == meta
    assert table.equals(TABLE)


@pytest.mark.parametrize(
    "table",
    [
        TABLE.slice(1, 1),
        TABLE.slice(3),
        pa.concat_tables([TABLE, TABLE]),
        pa.table({}),
        TABLE.replace_schema_metadata({"foreign": "note"}),
        pa.table({"key": pa.array([None, "a"], pa.large_string())}),
    ],
)
def test_a_table_comes_back(table: pa.Table) -> None:
    again, _ = unpack(pack(table, {}))
    assert again.equals(table)
    assert again.schema.metadata is None


def test_a_slice_costs_what_it_holds() -> None:
    wide = pa.table({"x": np.arange(10**6)})
    assert len(pack(wide.slice(5, 3), {})) < 1_000


def test_others_can_read_it() -> None:
    """It is an Arrow stream, with four bytes after it."""
    with pa.ipc.open_stream(pack(TABLE, {"a": 1})) as reader:
        assert reader.read_all().to_pydict() == TABLE.to_pydict()


def test_the_same_gives_the_same_bytes() -> None:
    assert pack(TABLE, {"a": 1, "b": 2}) == pack(TABLE, {"b": 2, "a": 1})


class TestDamage:
    @settings(max_examples=100, deadline=None)
    @given(st.data())
    def test_one_bit(self, data: st.DataObject) -> None:
        packed = bytearray(pack(TABLE, {"a": 1}))
        at = data.draw(st.integers(0, len(packed) - 1))
        packed[at] ^= 1 << data.draw(st.integers(0, 7))
        with pytest.raises(StateError, match="not Topwater state, or they are damaged"):
            unpack(bytes(packed))

    @settings(max_examples=50, deadline=None)
    @given(st.binary(max_size=400))
    def test_noise(self, noise: bytes) -> None:
        with pytest.raises(StateError):
            unpack(noise)

    def test_every_length(self) -> None:
        packed = pack(TABLE, {})
        for length in range(0, len(packed), 7):
            with pytest.raises(StateError):
                unpack(packed[:length])

    @pytest.mark.parametrize("foreign", [None, "text", 5, b""])
    def test_what_are_no_bytes(self, foreign: Any) -> None:
        with pytest.raises(StateError):
            unpack(foreign)

    def test_an_arrow_stream_of_somebody_else(self) -> None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, TABLE.schema) as writer:
            writer.write_table(TABLE)
        stream = bytes(sink.getvalue())
        for foreign in (stream, stream + tables._checksum(stream)):
            with pytest.raises(StateError, match="not Topwater state"):
                unpack(foreign)

    def test_another_version(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tables, "VERSION", 0)
        old = pack(TABLE, {})
        monkeypatch.undo()
        with pytest.raises(StateError, match="version 0, this program reads 3") as caught:
            unpack(old)
        assert caught.value.fix


@pytest.mark.parametrize(
    "keys",
    [
        np.array([2**63 - 1, -(2**63), 0]),
        np.array(["a", "", "\U0001f40b"], object),
        np.array([], np.int64),
        np.array([], object),
    ],
)
def test_items_come_back(keys: Any) -> None:
    n = len(keys)
    items = Items(np.array([0.1, -0.0, 1e308][:n]), np.array([1, -(2**53), 2**53][:n]), keys)
    again = items_from_table(unpack(pack(items_to_table(items), {}))[0])
    assert again.score.tobytes() == items.score.tobytes()
    assert again.time.tolist() == items.time.tolist()
    assert again.key.tolist() == keys.tolist()
    assert again.key.dtype == keys.dtype
