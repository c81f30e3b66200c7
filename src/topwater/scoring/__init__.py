"""How columns become one score per row: formulas, their bounds and slopes, and aggregates."""

from topwater.scoring.score import Order, Score
from topwater.scoring.score_kinds import (
    Euclidean,
    Formula,
    WeightedDistance,
    WeightedSum,
    ordered,
    score_from,
    score_in_words,
)

__all__ = [
    "Euclidean",
    "Formula",
    "Order",
    "Score",
    "WeightedDistance",
    "WeightedSum",
    "ordered",
    "score_from",
    "score_in_words",
]
