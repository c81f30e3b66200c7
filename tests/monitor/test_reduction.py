"""A batch reduced: what stays of it, its parts for shards and groups, and its bytes."""

from __future__ import annotations

from typing import Any

import pytest

from topwater import TopKQuery, tumbling
from topwater.monitor.reduction import PartialBatch, reduce_batch


@pytest.mark.parametrize("take", ["each", {"v": "last(v)"}])
@pytest.mark.parametrize("keys", [["a", "b"], [1, 2], []])
def test_portions_come_back(take: Any, keys: list[Any]) -> None:
    query = TopKQuery(key="who", time="at", window=tumbling(5), score="v", k=1, take=take)
    n = len(keys)
    part = reduce_batch(query, {"who": keys, "at": [3, 8][:n], "v": [1.0, 2.0][:n]})
    again = PartialBatch.unpack(part.pack())
    assert again.table.equals(part.table)
    for name in ("panes", "events", "newest"):
        assert getattr(again.times, name).tolist() == getattr(part.times, name).tolist()
    assert (again.counts, again.counted, again.group) == (part.counts, True, None)
