"""Running ranges against a loop, in any cuts, and through a restart."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.errors import BatchError, QueryError, StateError
from topwater.scoring import Formula, WeightedSum
from topwater.scoring.ranges import RunningRanges
from topwater.scoring.score import BLOCK

MODEST = st.floats(-1e6, 1e6).map(lambda x: x + 0.0)  # no -0.0: no range may start after it
DIRTY = st.one_of(MODEST, st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1.0]))


def columns(*rows: tuple[float, float]) -> dict[str, Any]:
    return dict(zip("ab", np.array(rows).reshape(-1, 2).T, strict=True))


class TestRunningRanges:
    @given(st.lists(st.tuples(DIRTY, DIRTY)), st.lists(st.integers(0, 30)), st.data())
    def test_cuts_change_nothing(self, rows: list[Any], cuts: list[int], data: Any) -> None:
        score = WeightedSum({"a": 0.7, "b": 0.3}, {"a": "running", "b": "running"})
        kept = RunningRanges()
        whole = score.evaluate(columns(*rows), kept)
        ranges, parts = RunningRanges(), []
        edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
        for start, stop in pairwise(edges):
            parts.append(score.evaluate(columns(*rows[start:stop]), ranges))
            if data.draw(st.booleans()):
                ranges = RunningRanges.from_dict(json.loads(json.dumps(ranges.to_dict())))
        np.testing.assert_array_equal(np.concatenate(parts), whole)
        assert ranges == kept

    @given(st.lists(DIRTY))
    def test_equal_a_loop(self, values: list[float]) -> None:
        ranges = RunningRanges()
        score = WeightedSum({"a": 1}, {"a": "running"})
        got = score.evaluate({"a": np.array(values, dtype=float)}, ranges)
        seen: list[float] = []
        for value, scored in zip(values, got, strict=True):
            if not math.isfinite(value):
                assert not math.isfinite(scored)
                continue
            seen.append(value)
            low, high = min(seen), max(seen)
            assert scored == ((value - low) / (high - low) if low < high else 0.0)
        assert ranges.get("a") == ((min(seen), max(seen)) if seen else None)

    def test_blocks_change_nothing(self) -> None:
        rows = 3 * BLOCK + 17
        a = np.random.default_rng(5).normal(size=rows) * np.linspace(1, 2, rows)
        a[[0, BLOCK - 1, BLOCK, rows - 1]] = math.nan
        a[BLOCK + 1] = 1e6
        got = WeightedSum({"a": 2}, {"a": "running"}).evaluate({"a": a}, RunningRanges())
        low = np.fmin.accumulate(a)
        span = np.fmax.accumulate(a) - low
        expected = 2 * np.divide(a - low, span, where=span > 0, out=np.where(span == 0, 0.0, a))
        np.testing.assert_array_equal(got, expected)
        plain = Formula("2 * a - 1").evaluate({"a": a})
        np.testing.assert_array_equal(plain, 2 * a - 1)

    def test_the_widest_range_comes_back(self) -> None:
        ranges = RunningRanges()
        ranges.extend("a", np.array([-1e308, 1e308]))
        assert RunningRanges.from_dict(ranges.to_dict()) == ranges

    def test_nothing_seen_is_no_range(self) -> None:
        ranges = RunningRanges()
        ranges.extend("a", np.array([math.nan, math.inf]))
        assert ranges == RunningRanges()
        assert ranges.to_dict() == {}

    def test_have_to_be_passed(self) -> None:
        with pytest.raises(QueryError, match="between batches") as caught:
            WeightedSum({"a": 1}, {"a": "running"}).evaluate({"a": np.zeros(1)})
        assert caught.value.field == "score.ranges"

    def test_a_failing_batch_leaves_them_alone(self) -> None:
        ranges = RunningRanges()
        score = WeightedSum({"a": 1, "b": 1}, {"a": "running", "b": "running"})
        with pytest.raises(BatchError, match="'b'"):
            score.evaluate({"a": np.array([1.0])}, ranges)
        assert ranges == RunningRanges()

    @pytest.mark.parametrize(
        "state", [None, 3, {"a": 1}, {"a": [1]}, {"a": [2, 1]}, {"a": ["x", "y"]}, {"a": [0, None]}]
    )
    def test_a_foreign_state_is_refused(self, state: Any) -> None:
        with pytest.raises(StateError, match="running ranges"):
            RunningRanges.from_dict(state)
