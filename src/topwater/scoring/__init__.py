"""How columns become one score per row: formulas, their bounds and slopes, and aggregates."""

from topwater.scoring.score import (
    Euclidean,
    Formula,
    Score,
    WeightedDistance,
    WeightedSum,
    score_from,
    score_in_words,
)

__all__ = [
    "Euclidean",
    "Formula",
    "Score",
    "WeightedDistance",
    "WeightedSum",
    "score_from",
    "score_in_words",
]
