"""Each kind of score by its own words, and from its settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from topwater.errors import QueryError
from topwater.scoring.score import Score
from topwater.scoring.score_kinds import (
    Euclidean,
    Formula,
    WeightedDistance,
    WeightedSum,
    ordered,
    score_from,
    score_in_words,
)

KINDS: list[Any] = [
    Formula("a * 2 + b", order="smallest"),
    WeightedSum({"a": 0.5, "b": -1.0}, {"a": (0.0, 10.0), "b": "running"}),
    Euclidean({"a": 1.0, "b": 2.0}),
    WeightedDistance({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 0.0}, combine="sum"),
]
COLUMNS = {"a": np.array([1.0, 4.0]), "b": np.array([2.0, -2.0])}


@pytest.mark.parametrize("score", KINDS, ids=lambda score: score.kind)
def test_each_kind_survives_its_settings(score: Any) -> None:
    assert isinstance(score, Score)
    again = score_from(score.to_dict())
    assert again == score
    assert hash(again) == hash(score)
    assert score_from(score) is score


@pytest.mark.parametrize(
    ("score", "right"),
    [
        (KINDS[0], [4.0, 6.0]),
        (KINDS[2], [0.0, 5.0]),
        (KINDS[3], [0.0, 3.0]),
        (WeightedDistance({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 2.0}), [0.0, 8.0]),
        (
            WeightedDistance({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 1.0}, combine="euclidean"),
            [0.0, 5.0],
        ),
    ],
)
def test_each_kind_by_hand(score: Any, right: list[float]) -> None:
    assert score.evaluate(COLUMNS).tolist() == right


def test_each_kind_in_words() -> None:
    assert score_in_words(Formula("a + b")) == "a + b"
    assert score_in_words(WeightedSum({"a": 0.5, "b": 2})) == "0.5 × a + 2 × b"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"kind": "euclid", "point": {"a": 1}}, "score.kind"),
        ({"kind": "euclidean"}, "score.point"),
        (7, "score"),
        ({"kind": "weighted-distance", "point": {"a": 1}, "weights": {"b": 1}}, "score.weights"),
    ],
)
def test_what_is_not_a_score_is_refused(spec: Any, problem: str) -> None:
    with pytest.raises(QueryError, match=problem):
        score_from(spec)


@pytest.mark.parametrize("score", [Formula("a"), WeightedSum({"a": 2.0}), Euclidean({"a": 1.0})])
def test_a_score_in_another_order(score: Any) -> None:
    turned = ordered(score, "smallest" if score.order == "largest" else "largest")
    columns = {"a": np.array([1.0, 5.0, 3.0])}
    assert turned.order != score.order
    assert turned.evaluate(columns).tolist() == score.evaluate(columns).tolist()
    assert turned.rank_scores(columns).tolist() == (-score.rank_scores(columns)).tolist()
    assert ordered(score, None) is score
    assert ordered(score, score.order) is score


def test_an_order_is_one_of_two() -> None:
    with pytest.raises(QueryError, match="order: 'up' is unknown"):
        ordered(Formula("a"), "up")  # type: ignore[arg-type]


def test_a_score_of_ones_own_has_its_own_order() -> None:
    class Own:
        order = "largest"

    with pytest.raises(QueryError, match="order: Own has an order of its own"):
        ordered(Own(), "smallest")  # type: ignore[arg-type]
