"""One query: what it may be, and how its score becomes a cost."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from topwater.errors import QueryError
from topwater.scoring import Euclidean, Formula, Score, WeightedDistance, WeightedSum
from topwater.standing.costs import costs_of
from topwater.standing.kernel_records import CostRule
from topwater.standing.standing_query import StandingQuery, costing


@pytest.mark.parametrize(
    "score",
    [
        Euclidean({"x": 0.2, "y": 0.7}),
        Euclidean({"y": 0.7}),
        WeightedDistance({"x": 0.1, "y": 0.5}, {"x": 2.0, "y": 0.5}),
        WeightedDistance({"x": 0.1, "y": 0.5}, {"x": 2.0, "y": 0.5}, combine="sum"),
        WeightedDistance({"x": 0.1, "y": 0.5}, {"x": 2.0, "y": 0.5}, combine="euclidean"),
        WeightedSum({"x": 0.3, "y": 0.6}),
        WeightedSum({"x": 0.3, "y": 0.6}, {"x": (0, 4)}, order="smallest"),
    ],
)
def test_costs_stand_for_scores(score: Score) -> None:
    columns = np.random.default_rng(1).random((2, 20))
    made, costs = costing(score, ["x", "y"]), np.empty(20)
    costs_of(CostRule(made.kind, 0, made.point, made.weight), columns, 0, 20, costs)
    ranked = score.rank_scores({"x": columns[0], "y": columns[1]})
    sign = -1.0 if score.order == "smallest" else 1.0
    assert made.scores(costs) == pytest.approx(sign * ranked)
    assert np.argsort(costs).tolist() == np.argsort(-ranked).tolist()


def test_any_other_score_is_given() -> None:
    made = costing(Formula("x * y"), ["x", "y"])
    assert made.given
    assert made.sign == -1.0


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(QueryError, match="use one of: x, y"):
        costing(Euclidean({"z": 1.0}), ["x", "y"])


def test_a_query_survives_a_round_trip() -> None:
    for window in (100, "10 min", timedelta(minutes=10)):
        query = StandingQuery("a", 3, window, Euclidean({"x": 1.0}))
        again = StandingQuery.from_dict(query.to_dict())
        assert (again.width, again.timed, again.k) == (query.width, query.timed, 3)


@pytest.mark.parametrize(
    ("change", "field"),
    [({"name": None}, "name"), ({"k": 0}, "k"), ({"k": 1.5}, "k"), ({"window": 0}, "window")],
)
def test_what_makes_no_sense_is_refused(change: dict[str, object], field: str) -> None:
    usual: dict[str, object] = {"name": "a", "k": 1, "window": 5, "score": Euclidean({"x": 0.0})}
    with pytest.raises(QueryError) as caught:
        StandingQuery(**(usual | change))  # type: ignore[arg-type]
    assert caught.value.field == field
