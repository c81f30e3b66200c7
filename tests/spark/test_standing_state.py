"""Snapshots of standing queries as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from tests.support.standing_stream import cut, events_of, objects, random_queries, rows_of
from topwater.errors import StateError
from topwater.model import Counts
from topwater.spark.standing_state import packed_snapshot, unpacked_snapshot
from topwater.standing import Standing
from topwater.standing.algorithms import algorithms
from topwater.tables import pack
from topwater_lab.rivals import RIVALS

if TYPE_CHECKING:
    pass


@pytest.mark.parametrize("algorithm", dict.fromkeys([*algorithms, *RIVALS]))
def test_a_packed_snapshot_goes_on_as_if_nothing_had_happened(algorithm: str) -> None:
    rng = np.random.default_rng(4)
    live = Standing(["x", "y"], algorithm=algorithm)
    for query in random_queries(rng, 16):
        live.register(query)
    parts = cut(rng, events_of(rng, 400), [0, 250, 400])
    live.add(objects(parts[0].sort_by("at")))
    packed = packed_snapshot(live.snapshot(), {"shard": 2})
    snapshot, meta = unpacked_snapshot(packed)
    again = Standing.build(snapshot)
    assert meta == {"shard": 2}
    one, other = (each.add(objects(parts[1].sort_by("at"))) for each in (live, again))
    assert rows_of(one) == rows_of(other)
    assert again.counts == live.counts == Counts(events=400)
    damaged = bytearray(packed)
    damaged[len(packed) // 2] ^= 1
    with pytest.raises(StateError, match="damaged"):
        unpacked_snapshot(bytes(damaged))
    with pytest.raises(StateError, match="not a state of standing"):
        unpacked_snapshot(pack(pa.table({"a": [1]}), {}))
