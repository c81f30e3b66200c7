"""Folders as Spark's file systems see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from topwater.spark.folders import is_there, names_in

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_names_in_a_folder_that_may_not_be_there(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b=1").touch()
    assert sorted(names_in(spark, str(tmp_path))) == ["a", "b=1"]
    assert names_in(spark, f"file:{tmp_path}/nowhere") == []
    assert is_there(spark, str(tmp_path / "a"))
    assert not is_there(spark, str(tmp_path / "nowhere"))
