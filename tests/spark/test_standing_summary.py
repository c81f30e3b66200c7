"""What is told of a checkpoint of standing queries."""

from __future__ import annotations

import json

from topwater.scoring import Formula
from topwater.spark.standing_state import packed_snapshot
from topwater.spark.standing_summary import _state
from topwater.standing import Standing, StandingQuery


def packed(live: Standing) -> bytes:
    return packed_snapshot(live.snapshot(), {"shard": 1, "shards": 4, "begun": "x"})


def test_the_state_of_a_shard_in_figures_and_in_words() -> None:
    live = Standing(["x", "y"], algorithm="rapf")
    live.register(StandingQuery("best", 1, 2, Formula("x + y")))
    live.add({"x": [1.0, 2.0, 3.0], "y": [0.0, 0.0, 0.0], "time": [10, 20, 1_500]})
    kept = packed(live)
    found = _state(kept)
    assert (found.shard, found.shards, found.size) == (1, 4, len(kept))
    assert (found.algorithm, found.columns, found.queries) == ("rapf", ("x", "y"), 1)
    assert (found.seen, found.newest) == (3, 1_500)
    assert (found.references, found.objects) == (live.references, live.objects)
    assert found.lines() == [
        f"shard    1 of 4, {len(kept):,} bytes",
        "  newest 1970-01-01T00:00:01.500+00:00, 3 objects seen",
        "  keeps  1 queries by rapf over x, y",
        f"         {live.references} references, {live.objects} objects",
    ]
    assert json.loads(json.dumps(found.to_dict()))["newest"] == 1_500


def test_before_the_first_object_there_is_no_newest() -> None:
    found = _state(packed(Standing(["x"])))
    assert (found.newest, found.seen, found.queries, found.references) == (None, 0, 0, 0)
