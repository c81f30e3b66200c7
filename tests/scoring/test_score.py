"""Scores against plain arithmetic, and settings that can't work."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.errors import BatchError, QueryError
from topwater.model import Frozen
from topwater.scoring import (
    Euclidean,
    Formula,
    Score,
    WeightedDistance,
    WeightedSum,
    score_from,
)
from topwater.scoring.ranges import RunningRanges

MODEST = st.floats(-1e6, 1e6).map(lambda x: x + 0.0)  # no -0.0: no range may start after it
DIRTY = st.one_of(MODEST, st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1.0]))

SCORES = [
    Formula("a"),
    Formula("2 * a - b", order="smallest"),
    WeightedSum({"a": 0.7, "b": -0.3}),
    WeightedSum({"a": 0.7, "b": 0.3}, {"a": (0, 10), "b": (5, 5)}),
    WeightedSum({"a": 0.7, "b": 0.3}, {"a": "running"}, order="smallest"),
    Euclidean({"a": 1, "b": -2}),
    WeightedDistance({"a": 1, "b": -2}, {"a": 1, "b": 3}),
    WeightedDistance({"a": 1, "b": -2}, {"a": 1, "b": 3}, combine="sum", order="largest"),
    WeightedDistance({"a": 1, "b": -2}, {"a": 0, "b": 3}, combine="euclidean"),
]
every_score = pytest.mark.parametrize("score", SCORES, ids=str)


def columns(*rows: tuple[float, float]) -> dict[str, Any]:
    return dict(zip("ab", np.array(rows).reshape(-1, 2).T, strict=True))


def evaluate(score: Score, given_columns: dict[str, Any]) -> Any:
    return score.evaluate(given_columns, RunningRanges())


class TestEveryScore:
    @every_score
    def test_keeps_the_contract(self, score: Score) -> None:
        assert isinstance(score, Score)
        assert set(score.columns) <= {"a", "b"}
        assert set(score.running) <= set(score.columns)

    @every_score
    def test_survives_json(self, score: Score) -> None:
        assert score_from(json.loads(json.dumps(score.to_dict()))) == score

    @every_score
    def test_survives_pickle_and_copies(self, score: Score) -> None:
        again = pickle.loads(pickle.dumps(score))  # noqa: S301
        for twin in (again, copy.deepcopy(score), dataclasses.replace(score)):  # type: ignore[type-var]
            assert twin == score
            assert hash(twin) == hash(score)
            values = columns((1.5, 2.0), (-3.0, 4.0))
            np.testing.assert_array_equal(evaluate(twin, values), evaluate(score, values))

    @every_score
    def test_can_not_be_changed(self, score: Score) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            score.order = "largest"  # type: ignore[misc]

    @every_score
    def test_the_best_rank_highest(self, score: Score) -> None:
        values = columns((1.0, 2.0), (3.0, -4.0), (0.0, 0.0))
        plain, ranks = evaluate(score, values), score.rank_scores(values, RunningRanges())
        best = plain.min() if score.order == "smallest" else plain.max()
        assert plain[ranks.argmax()] == best
        low, high = score.rank_bounds(values, {"a": (-3.0, 3.0)})
        assert (low <= ranks).all()
        assert (ranks <= high).all()

    @every_score
    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
    def test_a_bad_input_gives_no_good_score(self, score: Score, bad: float) -> None:
        got = evaluate(score, columns((1.0, 1.0), (bad, 1.0), (2.0, 3.0)))
        assert np.isfinite(got).tolist() == [True, False, True]

    @every_score
    def test_no_rows_no_scores(self, score: Score) -> None:
        assert evaluate(score, columns()).shape == (0,)

    @every_score
    def test_a_missing_column_is_named(self, score: Score) -> None:
        with pytest.raises(BatchError, match="'a'"):
            evaluate(score, {"c": np.zeros(2)})

    @every_score
    @given(data=st.data())
    def test_bounds_enclose(self, score: Score, data: Any) -> None:
        low, high = sorted((data.draw(MODEST), data.draw(MODEST)))
        rows = data.draw(st.lists(st.tuples(st.floats(low, high), MODEST), min_size=1, max_size=5))
        values = columns(*rows)
        least, greatest = score.bounds({"b": values["b"]}, {"a": (low, high)})
        got = evaluate(score, values)
        assert (least <= got).all()
        assert (got <= greatest).all()

    @every_score
    @given(data=st.data())
    def test_monotone_agrees_with_sampling(self, score: Score, data: Any) -> None:
        low, high = sorted((data.draw(MODEST), data.draw(MODEST)))
        direction = score.monotone("a", {"a": (low, high)})
        before, other = data.draw(MODEST), data.draw(MODEST)
        ends = sorted((data.draw(st.floats(low, high)), data.draw(st.floats(low, high))))
        first, second = (self.after((before, other), (end, other), score) for end in ends)
        if direction is not None:
            assert (second - first) * direction >= -1e-9 * abs(first)

    def after(self, row: tuple[float, float], then: tuple[float, float], score: Score) -> float:
        return float(evaluate(score, columns(row, then))[1])


class TestFormula:
    def test_a_column_is_taken_as_it_is(self) -> None:
        a = np.array([3.0, 1.0])
        assert Formula("a").evaluate({"a": a}) is a

    def test_infinity_is_not_hidden(self) -> None:
        bad = np.array([math.inf, -math.inf, math.nan, 4.0])
        for text in ("1 / a", "clip(a, 0, 1)", "min(a, 5) * 0 + max(a, -5) ** 0", "exp(-abs(a))"):
            got = Formula(text).evaluate({"a": bad})
            assert np.isfinite(got).tolist() == [False, False, False, True]

    def test_a_constant_has_a_score_for_every_row(self) -> None:
        assert Formula("1 + 1").evaluate(columns((1.0, 2.0), (3.0, math.nan))).tolist() == [
            2.0,
            2.0,
        ]

    def test_equal_when_the_tree_is(self) -> None:
        assert Formula("a + b") == Formula("(a+b)")
        assert Formula("a + b") != Formula("b + a")
        assert Formula("a") != Formula("a", order="smallest")

    def test_errors_of_the_text_come_through(self) -> None:
        with pytest.raises(QueryError, match=r"score: expected '\)'"):
            Formula("(a")


class TestWeightedSum:
    @given(st.lists(st.tuples(MODEST, MODEST), min_size=1), st.tuples(MODEST, MODEST).map(sorted))
    def test_declared_ranges_are_constants(self, rows: list[Any], ends: list[float]) -> None:
        low, high = ends
        score = WeightedSum({"a": 0.7, "b": -0.3}, {"a": (low, high)})
        expected = [
            0.7 * ((a - low) / (high - low) if low < high else 0.0) + -0.3 * b for a, b in rows
        ]
        np.testing.assert_array_equal(score.evaluate(columns(*rows)), expected)

    def test_takes_any_number_of_columns(self) -> None:
        weights = {f"c{i}": float(i) for i in range(1000)}
        got = WeightedSum(weights).evaluate({name: np.ones(2) for name in weights})
        assert got.tolist() == [499500.0, 499500.0]

    def test_takes_any_names(self) -> None:
        score = WeightedSum({"user.followers": 2, "`": 1, "max": 1})
        assert score.columns == ("user.followers", "`", "max")
        assert score.evaluate({name: np.array([1.0]) for name in score.columns}) == 4.0

    def test_settings_are_copied(self) -> None:
        weights = {"a": 1.0}
        score = WeightedSum(weights)
        weights["a"] = math.nan
        assert score.weights == {"a": 1.0}
        with pytest.raises(TypeError):
            score.weights["a"] = 2.0  # type: ignore[index]

    def test_weights_are_compared_without_regard_to_order(self) -> None:
        one, other = WeightedSum({"a": 1, "b": 2}), WeightedSum({"b": 2, "a": 1.0})
        assert one == other
        assert hash(one) == hash(other)
        assert one != WeightedSum({"a": 1, "b": 3})
        assert one != WeightedSum({"a": 1, "b": 2}, {"a": (0, 1)})


class TestDistances:
    @given(st.tuples(MODEST, MODEST), st.tuples(MODEST, MODEST))
    def test_euclidean(self, point: tuple[float, float], row: tuple[float, float]) -> None:
        score = Euclidean(dict(zip("ab", point, strict=True)))
        np.testing.assert_allclose(
            score.evaluate(columns(row)), math.dist(point, row), 1e-12, 1e-150
        )

    @given(
        st.tuples(MODEST, MODEST),
        st.tuples(MODEST, MODEST),
        st.tuples(st.floats(0, 9), st.floats(0, 9)),
    )
    def test_weighted(self, point: Any, row: Any, weights: Any) -> None:
        offsets = [abs(x - p) for x, p in zip(row, point, strict=True)]
        terms = [w * offset for w, offset in zip(weights, offsets, strict=True)]
        squares = [w * offset**2 for w, offset in zip(weights, offsets, strict=True)]
        expected = {"max": max(terms), "sum": sum(terms), "euclidean": math.sqrt(sum(squares))}
        settings = dict(zip("ab", point, strict=True)), dict(zip("ab", weights, strict=True))
        for combine, distance in expected.items():
            score = WeightedDistance(*settings, combine=combine)  # type: ignore[arg-type]
            np.testing.assert_allclose(score.evaluate(columns(row)), distance, 1e-12, 1e-150)

    def test_the_nearest_are_best(self) -> None:
        near_and_far = columns((1.0, 1.0), (5.0, 5.0))
        for score in (Euclidean({"a": 0, "b": 0}), SCORES[6]):
            ranks = score.rank_scores(near_and_far)
            assert ranks[0] > ranks[1]


class TestSettings:
    @pytest.mark.parametrize(
        ("make", "field"),
        [
            (lambda: Formula("a", order="best"), "score.order"),  # type: ignore[arg-type]
            (lambda: Formula(["a"]), "score"),  # type: ignore[arg-type]
            (lambda: WeightedSum({}), "score.weights"),
            (lambda: WeightedSum("a"), "score.weights"),  # type: ignore[arg-type]
            (lambda: WeightedSum({1: 2.0}), "score.weights"),  # type: ignore[dict-item]
            (lambda: WeightedSum({"": 2.0}), "score.weights"),
            (lambda: WeightedSum({"a": math.nan}), "score.weights.a"),
            (lambda: WeightedSum({"a": math.inf}), "score.weights.a"),
            (lambda: WeightedSum({"a": 10**9999}), "score.weights.a"),
            (lambda: WeightedSum({"a": True}), "score.weights.a"),
            (lambda: WeightedSum({"a": "1"}), "score.weights.a"),  # type: ignore[dict-item]
            (lambda: WeightedSum({"a": None}), "score.weights.a"),  # type: ignore[dict-item]
            (lambda: WeightedSum({"a": 1j}), "score.weights.a"),  # type: ignore[dict-item]
            (lambda: WeightedSum({"a": np.complex128(1)}), "score.weights.a"),  # type: ignore[dict-item]
            (lambda: WeightedSum({"a": 1}, {"b": (0, 1)}), "score.ranges"),
            (lambda: WeightedSum({"a": 1}, [("a", (0, 1))]), "score.ranges"),  # type: ignore[arg-type]
            (lambda: WeightedSum({"a": 1}, {"a": (2, 1)}), "score.ranges.a"),
            (lambda: WeightedSum({"a": 1}, {"a": (0, math.nan)}), "score.ranges.a"),
            (lambda: WeightedSum({"a": 1}, {"a": (-1e308, 1e308)}), "score.ranges.a"),
            (lambda: WeightedSum({"a": 1}, {"a": (0, 1, 2)}), "score.ranges.a"),  # type: ignore[dict-item]
            (lambda: WeightedSum({"a": 1}, {"a": "runing"}), "score.ranges.a"),  # type: ignore[dict-item]
            (lambda: WeightedSum({"a": 1}, {"a": 7}), "score.ranges.a"),  # type: ignore[dict-item]
            (lambda: Euclidean({}), "score.point"),
            (lambda: Euclidean({"a": math.nan}), "score.point.a"),
            (lambda: WeightedDistance({"a": 0}, {"b": 1}), "score.weights"),
            (lambda: WeightedDistance({"a": 0}, {"a": -1}), "score.weights.a"),
            (lambda: WeightedDistance({"a": 0}, {"a": 1}, "min"), "score.combine"),  # type: ignore[arg-type]
            (lambda: score_from(7), "score"),  # type: ignore[arg-type]
            (lambda: score_from({}), "score.kind"),
            (lambda: score_from({"kind": ["formula"]}), "score.kind"),
            (lambda: score_from({"kind": "formula"}), "score.text"),
            (lambda: score_from({"kind": "formula", "text": "a", "oder": 1}), "score.oder"),
            (
                lambda: score_from({"kind": "formula", "text": "a", "expression": 1}),
                "score.expression",
            ),
        ],
    )
    def test_what_can_not_work_is_refused(self, make: Any, field: str) -> None:
        with pytest.raises(QueryError) as caught:
            make()
        assert caught.value.field == field
        assert caught.value.fix

    def test_did_you_mean(self) -> None:
        with pytest.raises(QueryError, match="did you mean weighted-sum"):
            score_from({"kind": "weightedsum"})
        with pytest.raises(QueryError, match="did you mean smallest"):
            Formula("a", order="smalest")  # type: ignore[arg-type]

    def test_numpy_numbers_are_numbers(self) -> None:
        score = WeightedSum({"a": np.float32(0.5), "b": np.int64(2)})  # type: ignore[dict-item]
        assert score == WeightedSum({"a": 0.5, "b": 2})
        assert json.dumps(score.to_dict())

    def test_lists_are_ranges_too(self) -> None:
        assert WeightedSum({"a": 1}, {"a": [0, 1]}) == WeightedSum({"a": 1}, {"a": (0, 1)})  # type: ignore[dict-item]

    def test_a_score_stays_itself(self) -> None:
        assert score_from(SCORES[3]) is SCORES[3]
        assert score_from("a * 2") == Formula("a * 2")

    def test_constants_are_hashed_by_value(self) -> None:
        assert Frozen({"a": 1, "b": 2}) == Frozen({"b": 2, "a": 1})
        assert len({Frozen({"a": 1, "b": 2}), Frozen({"b": 2, "a": 1})}) == 1
        assert Frozen({"a": 1}) != Frozen({"a": 2})
