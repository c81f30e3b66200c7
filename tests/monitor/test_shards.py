"""Shards: where keys go, and one answer from several."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from topwater.errors import QueryError
from topwater.model import Answer, Counts, Freshness, LookUp, Row, Window
from topwater.monitor.shards import bucket_in_shard, merge, require_buckets, shard_of


def test_shards_take_turns_in_whatever_order_they_come() -> None:
    each = Answer(Window(0, 0, 9), ())
    one = replace(each, looked_up=tuple(LookUp(key, None, 1.0, ok=True) for key in (5, 1, 9)))
    two = replace(each, looked_up=tuple(LookUp(key, None, 1.0, ok=True) for key in (4, 8)))
    none = replace(each, looked_up=())
    for order in ([one, two, none], [two, none, one]):
        found = merge(order, 3, smallest=False, accuracy=None)
        assert [look_up.key for look_up in found.looked_up] == [4, 5, 1, 8, 9]


def test_a_key_goes_to_the_same_shard_in_any_batch() -> None:
    keys = pa.array(["a", "b", "c", "a", "ü", ""])
    found = shard_of(keys, 3).tolist()
    assert found == [zlib.crc32(key.encode()) % 256 * 3 // 256 for key in keys.to_pylist()]
    assert shard_of(keys.take(pa.array([3, 1])), 3).tolist() == [found[0], found[1]]
    assert shard_of(keys, 1).tolist() == [0] * 6


def test_integers_are_spread_evenly_whatever_their_type_and_sign() -> None:
    numbers = np.arange(-500, 500)
    found = shard_of(pa.array(numbers), 4)
    assert found.min() >= 0
    assert np.bincount(found, minlength=4) == pytest.approx(250, rel=0.2)
    assert shard_of(pa.array(numbers, pa.int16()), 4).tolist() == found.tolist()


def answer(*found: tuple[str, float, int], **more: Any) -> Answer:
    rows = tuple(Row(rank, key, score, time) for rank, (key, score, time) in enumerate(found, 1))
    return Answer(Window(0, 0, 9), rows, **more)


def test_the_best_of_all_in_the_total_order() -> None:
    one = answer(("d", 9.0, 1), ("c", 5.0, 3), ("b", 5.0, 2))
    two = answer(("a", 5.0, 3), ("e", 1.0, 8))
    found = merge([one, two], 3, smallest=False, accuracy=None)
    assert [(row.rank, row.key) for row in found.rows] == [(1, "d"), (2, "a"), (3, "c")]
    assert merge([one], 1, smallest=False, accuracy=None) is one


def test_the_smallest_may_be_best() -> None:
    one, two = answer(("a", 1.0, 1), ("b", 7.0, 2)), answer(("c", 3.0, 3))
    found = merge([one, two], 2, smallest=True, accuracy=None)
    assert [(row.key, row.score) for row in found.rows] == [("a", 1.0), ("c", 3.0)]


def test_counts_are_added_but_windows_are_skipped_together() -> None:
    one = answer(candidates=3, counts=Counts(events=5, late=1, skipped_windows=2))
    two = answer(candidates=4, counts=Counts(events=6, skipped_windows=2), exact=False)
    found = merge([one, two], 2, smallest=False, accuracy=None)
    assert (found.candidates, found.exact) == (7, False)
    assert found.counts == Counts(events=11, late=1, skipped_windows=2)


@pytest.mark.parametrize(("accuracy", "missed"), [(None, False), (0.75, False), (0.95, True)])
def test_estimates_count_by_the_rows_shown(accuracy: float | None, missed: bool) -> None:
    """Two of the three rows come from the first shard, one from the second."""
    one = answer(("a", 9.0, 1), ("b", 8.0, 1), freshness=Freshness(3, 1, 0, 0.9, 1.0, missed=False))
    two = answer(("c", 7.0, 1), freshness=Freshness(4, 0, 2, 0.6, 0.4, missed=True))
    found = merge([one, two], 3, smallest=False, accuracy=accuracy).freshness
    assert found is not None
    assert (found.fetched, found.failed, found.bad) == (7, 1, 2)
    assert found.precision == pytest.approx((2 * 0.9 + 0.6) / 3)
    assert found.ndcg == pytest.approx((2 * 1.0 + 0.4) / 3)
    assert found.missed is missed


def test_problems_are_added_by_name() -> None:
    one, two = answer(problems=(("timeout", 2),)), answer(problems=(("down", 1), ("timeout", 3)))
    found = merge([one, two], 2, smallest=False, accuracy=None)
    assert found.problems == (("down", 1), ("timeout", 5))
    assert found.freshness is None


def test_there_are_no_more_shards_than_buckets() -> None:
    require_buckets(256)
    with pytest.raises(QueryError, match="257 shards are more than there are buckets") as caught:
        require_buckets(257)
    assert (caught.value.field, caught.value.fix) == ("shards", "use at most 256")


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
def test_keys_of_one_shard_are_in_all_buckets(kind: pa.DataType) -> None:
    keys = pa.array(range(20_000)).cast(kind)
    shards, buckets = shard_of(keys, 4), bucket_in_shard(keys)
    for shard in range(4):
        assert 4_000 < (shards == shard).sum() < 6_000
        assert len(set(buckets[shards == shard].tolist())) == 256


@pytest.mark.parametrize(("in_vain", "exact"), [([True, False], True), ([True, True], False)])
def test_only_all_shards_together_know_that_nothing_usable_came(
    in_vain: list[bool], exact: bool
) -> None:
    """A shard whose only key is unknown to the service is right about it, if others got values."""
    shards = [
        answer(("a", 9.0, 1), freshness=Freshness(3, 0, 3 * vain, 1, 1, False, nothing_usable=vain))
        for vain in in_vain
    ]
    found = merge(shards, 2, smallest=False, accuracy=None)
    assert found.freshness is not None
    assert (found.exact, found.freshness.nothing_usable) == (exact, not exact)
    alone = merge(shards[:1], 2, smallest=False, accuracy=None)
    assert not alone.exact
