"""Our classes in Java."""

from __future__ import annotations

from importlib import resources
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.errors import PySparkAttributeError

from topwater.spark.java_classes import FILES, loaded, within_reach

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.mark.spark
@pytest.mark.parametrize("name", ["Sieve", "Partials"])
def test_a_class_is_made_once(spark: SparkSession, name: str) -> None:
    made = loaded(spark, name)
    assert made.getName() == f"topwater.{name}"
    assert loaded(spark.newSession(), name) is made


@pytest.mark.spark
def test_java_is_within_reach(spark: SparkSession) -> None:
    assert within_reach(spark.range(1))


def test_it_is_not_behind_spark_connect() -> None:
    class Remote:
        def __getattr__(self, name: str) -> Any:
            raise PySparkAttributeError(
                errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": name}
            )

    assert not within_reach(cast("DataFrame", SimpleNamespace(sparkSession=Remote())))


def test_every_file_belongs_to_a_class() -> None:
    there = {each.name for each in resources.files("topwater.spark").iterdir()}
    known = {file for files in FILES.values() for file in files}
    assert {name for name in there if name.endswith(".java")} == known
