"""Folders as Spark's file systems see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from topwater.spark.folders import (
    copy,
    exchange,
    is_there,
    move,
    names_in,
    read_text,
    remove,
    whole_address,
    write_text,
)

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


@pytest.mark.spark
def test_files_are_written_copied_moved_and_removed(spark: SparkSession, tmp_path: Path) -> None:
    write_text(spark, f"{tmp_path}/a/one", "käse")
    copy(spark, f"{tmp_path}/a", f"{tmp_path}/b/c")
    write_text(spark, f"{tmp_path}/a/one", "two\nlines")
    assert read_text(spark, f"{tmp_path}/b/c/one") == "käse"
    assert read_text(spark, f"{tmp_path}/a/one") == "two\nlines"
    with pytest.raises(OSError, match="can't rename"):
        move(spark, f"{tmp_path}/a", f"{tmp_path}/b")
    move(spark, f"{tmp_path}/a", f"{tmp_path}/d/e")
    assert names_in(spark, f"{tmp_path}/d/e") == ["one"]
    remove(spark, f"{tmp_path}/d")
    remove(spark, f"{tmp_path}/d")
    assert not is_there(spark, f"{tmp_path}/d")
    assert whole_address(spark, str(tmp_path)) == f"file:{tmp_path}"


def test_two_folders_are_exchanged_in_one_step_or_not_at_all(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert not exchange("s3a://bucket/one", "s3a://bucket/other")
    assert not exchange(str(tmp_path / "one"), str(tmp_path / "nowhere"))
    if exchange(str(tmp_path / "one"), str(tmp_path / "other")):
        assert (tmp_path / "one" / "other").exists()
        assert (tmp_path / "other" / "one").exists()
    else:
        assert (tmp_path / "one" / "one").exists()
