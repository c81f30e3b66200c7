"""What changed between answers, in Spark's own tester; test_frames.py has the stage on Spark."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from topwater.spark.deltas import Deltas, Place, compare
from topwater.spark.packed_rows import CELLS, ESTIMATES
from topwater.spark.shard_placement import PLACE

answers = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.integers(0, 3)), max_size=5, unique_by=lambda it: it[0]
)


def places(items: list[tuple[str, int]]) -> list[Place]:
    return [Place(key, None, rank, float(score)) for rank, (key, score) in enumerate(items, 1)]


@given(answers, answers)
def test_a_table_that_takes_in_what_changed_is_the_new_answer(
    before: list[tuple[str, int]], now: list[tuple[str, int]]
) -> None:
    table = {place.key: place for place in places(before)}
    for change in compare(places(before), places(now)):
        if change.word == "left":
            assert change.before is not None
            assert table.pop(change.before.key) == change.before
        else:
            assert change.now is not None
            assert table.get(change.now.key) == change.before
            assert (change.word == "entered") == (change.before is None)
            table[change.now.key] = change.now
    assert sorted(table.values(), key=lambda place: place.rank) == places(now)
    assert compare(places(now), places(now)) == []


def test_events_with_the_same_key_and_time_are_told_apart_by_their_number() -> None:
    twice = [Place("a", 7, 1, 2.0), Place("a", 7, 2, 2.0)]
    assert [change.word for change in compare(twice, twice)] == []
    assert [change.word for change in compare(twice, twice[:1])] == ["left"]
    later = [twice[0], Place("a", 8, 2, 2.0)]
    assert [change.word for change in compare(twice, later)] == ["entered", "left"]


def row(end: int, items: list[tuple[str, int]], group: str | None = None) -> Row:
    """A row inside, of one window."""
    lists: dict[str, Any] = {name: [None] * len(items) for name in CELLS}
    lists["key"], lists["score"] = [key for key, _ in items], [float(score) for _, score in items]
    lists["time"] = [end - 1] * len(items)
    extras = json.dumps({"rows": [{"texts": [f"{key}@{end}"]} for key, _ in items]})
    ends = {"group": group, "window_start": end - 10, "window_end": end}
    return Row(**ends, **lists, exact=True, **dict.fromkeys(ESTIMATES), extras=extras, **{PLACE: 0})


def told(rows: list[Row]) -> list[tuple[Any, ...]]:
    found = []
    for each in rows:
        texts = [one.get("texts") for one in json.loads(each.extras or '{"rows": []}')["rows"]]
        texts = texts or [None] * len(each.change)
        cells = zip(each.change, each.key, each["rank"], each.previous_rank, texts, strict=True)
        found += [(each.group, each.window_end, *cell) for cell in cells]
    return found


def test_each_answer_is_compared_with_the_one_before_also_after_a_restart() -> None:
    tester = TwsTester(Deltas(each=False))
    first = tester.test(0, [row(20, [("b", 3), ("a", 2)]), row(10, [("a", 2), ("b", 1)])])
    assert told(first) == [
        (None, 10, "entered", "a", 1, None, ["a@10"]),
        (None, 10, "entered", "b", 2, None, ["b@10"]),
        (None, 20, "moved", "b", 1, 2, ["b@20"]),
        (None, 20, "moved", "a", 2, 1, ["a@20"]),
    ]
    again = TwsTester(Deltas(each=False))
    state = tester.peekValueState("before", 0)
    assert state is not None
    again.updateValueState("before", 0, state)
    assert told(again.test(0, [row(30, [("b", 4)])])) == [
        (None, 30, "rescored", "b", 1, 1, ["b@30"]),
        (None, 30, "left", "a", None, 2, None),
    ]
    assert again.test(0, [row(40, [("b", 4)])]) == [], "nothing changed"
    assert told(again.test(0, [row(50, [])])) == [(None, 50, "left", "b", None, 1, None)]


def test_a_group_without_an_answer_has_left() -> None:
    tester = TwsTester(Deltas(each=False))
    tester.test(0, [row(10, [("a", 1)], "x"), row(10, [("b", 1)], "y")])
    assert told(tester.test(0, [row(20, [("a", 1)], "x")])) == [
        ("y", 20, "left", "b", None, 1, None)
    ]
    back = told(tester.test(0, [row(30, [("a", 1)], "x"), row(30, [("b", 1)], "y")]))
    assert back == [("y", 30, "entered", "b", 1, None, ["b@30"])]


def test_any_cut_into_micro_batches_gives_the_same() -> None:
    rng = np.random.default_rng(3)
    rows = defaultdict(list)
    for window in range(12):
        for group in "xyz":
            if rng.random() < 0.7:
                keys = rng.permutation(list("abcd"))[: rng.integers(1, 4)]
                items = sorted(
                    ((str(key), int(rng.integers(3))) for key in keys), key=lambda it: -it[1]
                )
                rows[window].append(row((window + 1) * 10, items, group))
    whole = told(
        TwsTester(Deltas(each=False)).test(0, [one for each in rows.values() for one in each])
    )
    tester, cut = TwsTester(Deltas(each=False)), []
    for each in rows.values():
        cut += told(tester.test(0, each[::-1]))
    assert cut == whole
    assert {word for _, _, word, *_ in whole} == {"entered", "moved", "rescored", "left"}
