"""What shards cost in precision: with one purse next to nothing."""

from __future__ import annotations

import pytest

from topwater_lab.bench.shard_precision import ShardPoint, World, answers_of, shard_rows

SMALL = ShardPoint(keys=400, budget=12, windows=40, warm_up=10)


def test_one_purse_is_as_precise_as_one_shard_and_an_even_split_is_not() -> None:
    rows = list(shard_rows([SMALL], (16,), range(2, 4)))
    one, even, joint = rows
    assert [(row["purse"], row["shards"]) for row in rows] == [
        ("joint", 1),
        ("even", 16),
        ("joint", 16),
    ]
    assert one["ratio_to_one"] == 1.0
    assert even["ratio_to_one"] < 0.95
    assert joint["ratio_to_one"] > 0.96
    assert max(row["most_fetched"] for row in rows) <= SMALL.budget


@pytest.mark.soak
@pytest.mark.parametrize("score", ["n * remote", "n + remote"])
def test_one_purse_at_size(score: str) -> None:
    points = [ShardPoint(score=score, aim="accuracy"), ShardPoint(score=score, aim="relevance")]
    for row in shard_rows(points, (4, 16), range(100, 105)):
        assert row["purse"] == "even" or row["ratio_to_one"] >= 0.98, row


def test_answers_with_all_values_known_are_right() -> None:
    """The measure itself: without a limit nothing is wrong."""
    point = ShardPoint(keys=60, budget=60, windows=12)
    world = World(point, 1)
    for answer in answers_of(world, 1, "even")[3:]:
        assert world.accuracy(answer)[0] >= 0.9
