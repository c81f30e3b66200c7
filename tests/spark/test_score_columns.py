"""Scores computed by Spark equal NumPy's to the last bit, or are not computed by Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from pyspark.sql.types import DecimalType, DoubleType, StructField, StructType

from topwater.scoring import Euclidean, Formula, Score, WeightedSum
from topwater.spark.score_columns import quoted, rank_score

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ODD = [0.0, -0.0, 1.0, -1.5, 0.1, 1e308, -1e308, 5e-324, float("inf"), float("-inf"), float("nan")]

EXACT: list[Score] = [
    Formula("a"),
    Formula("a + b * 0.1 - 3"),
    Formula("-a / 7"),
    Formula("a / 0.1 + sqrt(b)"),
    Formula("min(a, b, a * b)"),
    Formula("max(a - b, b - a, 1) * a"),
    Formula("clip(a * b, -1, 1)"),
    Formula("min(a)"),
    Formula("clip(min(a, max(b, 1), -a), max(a, b), min(a, b))"),
    Formula("norm(a, 2, 5) + norm(b, 3, 3)", order="smallest"),
    Formula("abs(a) - abs(b)", order="smallest"),
    WeightedSum({"a": 0.7, "b": 0.3}, {"a": (0, 10)}),
]
"""Overflow, NaN inside minimum and maximum, zero of either sign."""


@pytest.mark.spark
def test_what_spark_computes_is_what_numpy_computes(spark: SparkSession) -> None:
    rng = np.random.default_rng(3)
    a, b = (np.append(np.repeat(ODD, len(ODD)), rng.normal(0, 1e3, 500)) for _ in "ab")
    b[: len(ODD) ** 2] = np.tile(ODD, len(ODD))
    frame = spark.createDataFrame(
        list(zip(a.tolist(), b.tolist(), strict=True)), "a double, b double"
    )
    columns = [rank_score(score, frame.schema) for score in EXACT]
    named = [c.alias(f"s{n}") for n, c in enumerate(columns) if c is not None]
    assert len(named) == len(EXACT)
    got = frame.select(*named).toArrow()
    for number, score in enumerate(EXACT):
        found = got.column(number).to_numpy()
        right = score.rank_scores({"a": a, "b": b})
        finite = np.isfinite(right)
        assert np.array_equal(np.isfinite(found), finite), score
        assert np.array_equal(found[finite], right[finite]), score


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    "nest",
    [
        "min({}, b)",
        "max(b, {})",
        "clip({}, -5, 5)",
        "clip(1, {}, 5)",
        "clip(1, -5, {})",
        "norm({}, 0, 3)",
        "norm({}, 3, 3)",
        "abs(-sqrt({})) * 2 - b / 3",
    ],
)
def test_a_nested_score_grows_by_as_much_at_every_level(nest: str) -> None:
    """Levels that double would make it a hundred thousand times as long."""
    schema = StructType([StructField(name, DoubleType()) for name in "ab"])
    sizes = []
    for depth in (1, 2, 18):
        text = "a"
        for _ in range(depth):
            text = nest.format(text)
        sizes.append(len(str(rank_score(Formula(text), schema))))
    assert sizes[2] == sizes[0] + 17 * (sizes[1] - sizes[0])


@pytest.mark.parametrize(
    "score",
    [
        Formula("a / b"),
        Formula("a / 0"),
        Formula("exp(a)"),
        Formula("1 + log(a)"),
        Formula("a ** 2"),
        Euclidean({"a": 1, "b": 2}),
        WeightedSum({"a": 1.0}, {"a": "running"}),
        Formula("money + a"),
        Formula("absent + a"),
    ],
)
def test_the_rest_is_left_to_python(score: Score) -> None:
    numbers = [StructField(name, DoubleType()) for name in "ab"]
    schema = StructType([*numbers, StructField("money", DecimalType(10, 2))])
    assert rank_score(score, schema) is None


@pytest.mark.spark
def test_names_are_data(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1.0,)], "`a.b` double").withColumnRenamed("a.b", "x`.y")
    assert frame.select(quoted("x`.y")).first() == (1.0,)
