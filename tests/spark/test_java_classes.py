"""Our classes in Java."""

from __future__ import annotations

import importlib.util
import os
import threading
import zipfile
from io import BytesIO
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.errors import PySparkAttributeError

from topwater.spark import java_classes
from topwater.spark.java_classes import jar, loaded, within_reach

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    """The script that makes the jar."""
    spec = importlib.util.spec_from_file_location("build_jar", ROOT / "scripts" / "build_jar.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def classes_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist() if name.endswith(".class")}


def test_the_jar_is_made_of_the_sources_beside_it(builder: ModuleType) -> None:
    _, sources = builder.made_by()
    assert builder.fingerprint().startswith(sources), "run make jar"
    there = classes_of(builder.JAR.read_bytes())
    whole = {Path(name).stem for name in there if "$" not in name}
    assert whole == {path.stem for path in builder.sources()}


def test_the_compiler_makes_the_same_classes_again(builder: ModuleType) -> None:
    number, (made_by, _) = builder.compiler(), builder.made_by()
    if number == 0 and "TOPWATER_JAVAC" not in os.environ:
        pytest.skip("there is no javac to compare with")
    assert number, "TOPWATER_JAVAC says that there is one"
    made, there = builder.compiled(), classes_of(builder.JAR.read_bytes())
    assert made.keys() == there.keys()
    if number != made_by:
        pytest.skip(
            f"javac {number} may write other bytes than javac {made_by}, which made the jar"
        )
    assert made == there, "run make jar"
    assert builder.packed(made, number) == builder.JAR.read_bytes()


def test_a_jar_has_no_times_and_an_order(builder: ModuleType) -> None:
    some = {"topwater/B.class": b"b", "topwater/A.class": b"a"}
    content = builder.packed(some, 17)
    assert content == builder.packed(dict(sorted(some.items())), 17)
    with zipfile.ZipFile(BytesIO(content)) as file:
        assert file.namelist() == [builder.MANIFEST, "topwater/A.class", "topwater/B.class"]
        assert {each.date_time for each in file.infolist()} == {builder.LONG_AGO}


@pytest.mark.spark
@pytest.mark.parametrize("name", ["Sieve", "Partials"])
def test_a_class_is_loaded_once(spark: SparkSession, name: str) -> None:
    made = loaded(spark, name)
    assert made.getName() == f"topwater.{name}"
    assert loaded(spark.newSession(), name) is made


def test_threads_that_ask_at_once_add_one_jar(monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[str] = []
    loader = SimpleNamespace(loadClass=lambda name: name)
    spark: Any = SimpleNamespace(
        sparkContext=SimpleNamespace(applicationId="an application"), sql=added.append
    )
    monkeypatch.setattr(java_classes, "_classes", {})
    monkeypatch.setattr(java_classes, "_added", set())
    monkeypatch.setattr("topwater.spark.compat.class_loader", lambda _: loader)
    threads = [threading.Thread(target=loaded, args=(spark, "Sieve")) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert added == [f"ADD JAR '{jar()}'"]
    assert loaded(spark, "Partials") == "topwater.Partials"
    assert len(added) == 1


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
