"""How columns become one score per row: formulas, their bounds and slopes, and aggregates."""

from topwater.scoring.score import Score
from topwater.scoring.score_kinds import (
    Euclidean,
    Formula,
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
