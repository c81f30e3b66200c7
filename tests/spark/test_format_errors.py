"""What Spark does not accept, in words that say what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException

from topwater.errors import EnvironmentProblem, QueryError
from topwater.spark import stream
from topwater.spark.format_errors import format_errors

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.parametrize("once", [True, False])
def test_a_format_that_is_not_there_is_told_with_its_package(
    spark: SparkSession, once: bool
) -> None:
    with pytest.raises(EnvironmentProblem, match="has no format delta") as caught:
        stream(spark, {"format": "delta", "path": "in"}, once=once)
    assert "io.delta:delta-spark_" in caught.value.fix


@pytest.mark.spark
@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"table": "nowhere"}, "table", "knows no table nowhere"),
        ({"table": "lake.db.nowhere"}, "table", "lake.db.nowhere"),
        ({"kind": "spark", "format": "parquet", "path": "nowhere"}, "format", "nowhere"),
        ({"format": "jdbc", "options": {"url": "jdbc:x:y"}}, "format", "read as a stream"),
    ],
)
def test_what_can_not_be_read(
    spark: SparkSession, tmp_path: Path, given: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(QueryError) as caught:
        stream(spark, given)
    assert caught.value.field == field
    assert words in caught.value.problem
    assert "SQLSTATE" not in caught.value.problem
    assert caught.value.fix


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        ("[DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG] x", EnvironmentProblem,
         "not its settings"),
        ("java.lang.NoSuchMethodError: 'x y.z()'", EnvironmentProblem, "of another version"),
        ("Data source jdbc does not support streamed writing.", QueryError, "written as a stream"),
        ("[SOME_THING.ELSE] It is odd. SQLSTATE: 0A000\nplan", QueryError, "It is odd."),
    ],
)  # fmt: skip
def test_what_spark_says_of_sinks(said: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words) as caught, format_errors("delta"):
        raise AnalysisException(said)
    assert caught.value.fix  # type: ignore[attr-defined]
    assert "SQLSTATE" not in str(caught.value)


def test_other_errors_stay_as_they_are() -> None:
    with pytest.raises(OSError, match="disk"), format_errors("delta"):
        raise OSError("the disk is full")
