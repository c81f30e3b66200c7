"""The nouns: frozen values, their order, and what they are as plain data."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater import model
from topwater.errors import QueryError
from topwater.model import (
    Answer,
    Arrivals,
    Counts,
    Freshness,
    Items,
    LookUp,
    Row,
    Shard,
    Window,
)

VALUES = [
    each
    for each in vars(model).values()
    if isinstance(each, type) and dataclasses.is_dataclass(each)
]


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_values_never_change_and_take_no_other_names(kind: Any) -> None:
    assert kind.__dataclass_params__.frozen
    assert "__slots__" in vars(kind)


def test_windows_are_ordered_by_their_number() -> None:
    windows = [Window(2, 20, 30), Window(0, 0, 10), Window(1, 10, 20)]
    assert [window.start for window in sorted(windows)] == [0, 10, 20]
    assert dataclasses.asdict(windows[0]) == {"index": 2, "start": 20, "end": 30}


def items(*rows: tuple[float, int, int]) -> Items:
    score, time, key = zip(*rows, strict=True)
    return Items(np.array(score, float), np.array(time, np.int64), np.array(key, np.int64))


def rows_in(found: Items) -> list[tuple[float, int, int]]:
    return [*zip(found.score.tolist(), found.time.tolist(), found.key.tolist(), strict=True)]


class TestItems:
    @given(st.lists(st.tuples(st.sampled_from([1.0, 2.0]), st.integers(0, 2), st.integers(0, 9))))
    def test_the_total_order(self, rows: list[tuple[float, int, int]]) -> None:
        """Score descending, then the younger, then the smaller key."""
        found = items(*rows).ranked() if rows else Items.empty().ranked()
        assert rows_in(found) == sorted(rows, key=lambda row: (-row[0], -row[1], row[2]))

    def test_taking_keeps_the_order_asked_for(self) -> None:
        found = items((1.0, 1, 1), (2.0, 2, 2), (3.0, 3, 3))
        assert rows_in(found.take(np.array([2, 0]))) == [(3.0, 3, 3), (1.0, 1, 1)]
        assert len(found.take(slice(1, None))) == 2

    def test_empty_parts_do_not_decide_the_type_of_keys(self) -> None:
        text = Items(np.array([1.0]), np.array([1]), np.array(["a"], object))
        both = Items.concat([Items.empty(), text, Items.empty()])
        assert both.key.dtype == object
        assert both.key.tolist() == ["a"]
        assert rows_in(Items.concat([items((1.0, 1, 1)), items((0.0, 2, 2))]))[1] == (0.0, 2, 2)

    def test_nothing_at_all(self) -> None:
        assert len(Items.concat([])) == len(Items.concat([Items.empty(object)])) == 0
        assert Items.concat([Items.empty(object)]).key.dtype == object
        assert len(Arrivals(np.array([3]), np.array([0, 1]), items((1.0, 1, 1)))) == 1


class TestShards:
    @given(st.integers(0, 50), st.integers(1, 9), st.integers(0, 100))
    def test_shares_add_up_to_the_budget_in_every_window(
        self, budget: int, of: int, window: int
    ) -> None:
        shares = [Shard(index, of).share(budget, window) for index in range(of)]
        assert sum(shares) == budget
        assert max(shares) - min(shares) <= 1

    @given(st.integers(0, 50), st.integers(1, 9))
    def test_over_as_many_windows_all_get_the_same(self, budget: int, of: int) -> None:
        totals = {
            sum(Shard(index, of).share(budget, window) for window in range(of))
            for index in range(of)
        }
        assert totals == {budget}

    @pytest.mark.parametrize(("index", "of"), [(0, 0), (-1, 2), (2, 2), (0, -1)])
    def test_there_is_no_other(self, index: int, of: int) -> None:
        with pytest.raises(QueryError, match=f"shards: there is no shard {index} of {of}"):
            Shard(index, of)


def test_counts_add_up_name_by_name() -> None:
    one = Counts(*range(1, 8))
    both = one + Counts(events=10, skipped_windows=3)
    assert both == Counts(11, 2, 3, 4, 5, 6, 10)
    assert one.bad == one.bad_key + one.bad_time + one.bad_score
    assert one + Counts() == one


@pytest.mark.parametrize(
    ("before", "after", "ok", "changed"),
    [
        (1.0, 2.0, True, True),
        (1.0, 1.0, True, False),
        (None, 1.0, True, True),
        (1.0, None, True, True),
        (None, None, True, False),
        (1.0, None, False, False),
    ],
)
def test_whether_a_look_up_brought_news(
    before: float | None, after: float | None, ok: bool, changed: bool
) -> None:
    assert LookUp("a", before, after, ok).changed is changed


class TestAnswers:
    ANSWER = Answer(
        Window(1, 10, 20),
        (
            Row(1, "ann", 2.5, 17, (2.0,), remote=0.5, age=3, confidence=0.9),
            Row(2, "bob", 1.0, 12),
        ),
        exact=False,
        candidates=7,
        counts=Counts(events=12, late=3),
        freshness=Freshness(4, 1, 0, 0.8, 0.9, missed=True),
        problems=(("late", 1),),
        looked_up=(LookUp("ann", None, 0.5, ok=True),),
    )

    def test_best_first(self) -> None:
        assert self.ANSWER.keys == ["ann", "bob"]
        assert self.ANSWER.scores == [2.5, 1.0]

    def test_plain_values_survive_json(self) -> None:
        plain = self.ANSWER.to_dict()
        assert json.loads(json.dumps(plain, allow_nan=False))["counts"]["late"] == 3
        assert plain["window"] == {"index": 1, "start": 10, "end": 20}
        assert plain["rows"][0] == {
            "rank": 1, "key": "ann", "score": 2.5, "time": 17, "values": (2.0,),
            "remote": 0.5, "age": 3, "confidence": 0.9, "assumed": None,
        }  # fmt: skip
        assert plain["rows"][1]["confidence"] is None
        assert plain["problems"] == {"late": 1}
        assert plain["looked_up"][0] == {"key": "ann", "before": None, "after": 0.5, "ok": True}

    def test_names_that_tables_share(self) -> None:
        """A window's ends and a row's cells are called the same in process and in tables."""
        from topwater.show.answers import Answers

        (row, _) = Answers([self.ANSWER]).to_arrow().to_pylist()
        window = self.ANSWER.window
        assert (row["window_start"], row["window_end"]) == (window.start, window.end)
        for each in dataclasses.fields(Row):
            # Only a query with several remote values has that.
            assert each.name in row or each.name == "remotes", each.name
        assert row["confidence"] == 0.9
