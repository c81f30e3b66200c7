"""How values travel to the workers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from pyspark import SparkFiles

from topwater.spark import shipping
from topwater.spark.shipping import opened, parcel


def test_a_small_value_travels_by_itself_and_is_opened_once() -> None:
    spark = Mock()
    sent = parcel({"keys": [1, 2]}, spark)
    assert isinstance(sent, bytes)
    assert opened(sent) == {"keys": [1, 2]}
    assert opened(sent) is opened(sent), "its connections outlive a batch"
    spark.sparkContext.addFile.assert_not_called()


def test_a_class_of_a_notebook_travels_too() -> None:
    class Local:
        answer = 42

    assert opened(parcel(Local(), Mock())).answer == 42


def test_a_large_value_travels_as_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shipping, "run_folder", lambda: tmp_path)
    spark, value = Mock(), bytes(300_000)
    name = parcel(value, spark)
    assert isinstance(name, str)
    assert name.startswith("topwater-parcel-")
    assert parcel(value, spark) == name != parcel(bytes(300_001), spark)
    spark.sparkContext.addFile.assert_any_call(str(tmp_path / name))
    monkeypatch.setattr(SparkFiles, "get", lambda sent: str(tmp_path / sent))
    assert opened(name) == value


def test_over_spark_connect_it_is_a_file_of_the_session(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shipping, "run_folder", lambda: tmp_path)
    sent: list[str] = []
    spark: Any = SimpleNamespace(
        addArtifacts=lambda path, *, file: sent.append(path) if file else 0
    )
    name = parcel(bytes(300_002), spark)
    assert sent == [str(tmp_path / str(name))]
    session = tmp_path / "files" / "a session"
    session.mkdir(parents=True)
    (tmp_path / str(name)).rename(session / str(name))
    monkeypatch.setattr(SparkFiles, "get", lambda sent: str(tmp_path / "files" / sent))
    assert opened(name) == bytes(300_002)
