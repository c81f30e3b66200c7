"""What the user told Spark, before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from topwater.spark.user_defaults import is_submitted, read_defaults, user_defaults

if TYPE_CHECKING:
    from pathlib import Path

FILE = r"""
# defaults of this site
spark.master            spark://host:7077
spark.ui.enabled=false
spark.executor.memory : 2g
spark.driver.extraJavaOptions -Da=1 \
    -Db=2
spark.local.dir=C:\\temp
! not ours
hadoop.x=y
"""


def test_a_file_of_defaults_is_read_as_java_reads_it(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(FILE)
    assert read_defaults({"SPARK_CONF_DIR": str(tmp_path)}) == {
        "spark.master": "spark://host:7077",
        "spark.ui.enabled": "false",
        "spark.executor.memory": "2g",
        "spark.driver.extraJavaOptions": "-Da=1 -Db=2",
        "spark.local.dir": r"C:\temp",
    }
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.x 1")
    assert read_defaults({"SPARK_HOME": str(tmp_path)}) == {"spark.x": "1"}
    assert read_defaults({"SPARK_CONF_DIR": str(tmp_path / "no")}) == {}


def test_options_win_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.master a\nspark.y 1\nspark.z 1")
    (tmp_path / "other.conf").write_text("spark.z 3")
    options = "--master local[3] --conf spark.y=2=3 -c 'spark.x=a b' --packages=g:n:1 --name n"
    environment = {"SPARK_CONF_DIR": str(tmp_path), "PYSPARK_SUBMIT_ARGS": f"{options} --verbose"}
    options_found = {
        "spark.master": "local[3]",
        "spark.y": "2=3",
        "spark.x": "a b",
        "spark.jars.packages": "g:n:1",
        "spark.app.name": "n",
    }
    assert read_defaults(environment) == {"spark.z": "1", **options_found}
    environment["PYSPARK_SUBMIT_ARGS"] += f" --properties-file {tmp_path / 'other.conf'} pyspark"
    assert read_defaults(environment) == {"spark.z": "3", **options_found}


def test_without_spark_submit_nothing_is_asked_of_java(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.x=1 pyspark-shell")
    assert user_defaults() == {"spark.x": "1"}
    assert not is_submitted()
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert is_submitted()
