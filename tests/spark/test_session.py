"""The session: its settings, its manners, and what :func:`require` says of other sessions."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest
from pyspark import SparkContext

from topwater.errors import EnvironmentProblem
from topwater.spark import require, session
from topwater.spark.run_folder import run_folder
from topwater.spark.session import (
    _environment,
    _first_words,
    _Ours,
    _require_protobuf,
    _stop_java,
    not_of_py4j,
)
from topwater.spark.session_settings import HERE

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

PROVIDER = "spark.sql.streaming.stateStore.providerClass"


@pytest.mark.spark
def test_it_has_what_topwater_needs(spark: SparkSession) -> None:
    require(spark)
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "1"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.sparkContext.pythonExec == os.environ.get("PYSPARK_PYTHON", sys.executable)


@pytest.mark.spark
def test_an_active_session_is_returned(spark: SparkSession) -> None:
    assert session("another") is spark


@pytest.mark.spark
def test_a_session_without_rocksdb_is_refused(spark: SparkSession) -> None:
    good = spark.conf.get(PROVIDER)
    assert good is not None
    spark.conf.unset(PROVIDER)
    try:
        with pytest.raises(EnvironmentProblem) as caught:
            require(spark)
    finally:
        spark.conf.set(PROVIDER, good)
    assert f'spark.conf.set("{PROVIDER}"' in caught.value.fix


def test_an_old_protobuf_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # By its name in sys.modules: the function of the same name hides the module.
    monkeypatch.setattr(sys.modules["topwater.spark.session"], "version", lambda _: "6.33.4")
    with pytest.raises(EnvironmentProblem, match=r"6\.33\.4 is installed") as caught:
        _require_protobuf()
    assert caught.value.fix == 'pip install "protobuf>=6.33.5"'


def test_the_environment_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPWATER_A", "before")
    monkeypatch.delenv("TOPWATER_B", raising=False)
    with _environment({"TOPWATER_A": "inside", "TOPWATER_B": "inside"}):
        assert os.environ["TOPWATER_A"] == os.environ["TOPWATER_B"] == "inside"
    assert os.environ["TOPWATER_A"] == "before"
    assert "TOPWATER_B" not in os.environ


def test_the_log_tells_why_java_failed(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text(
        "Error: of old\nWARNING: incubator\nError: could not find libjvm.so\nError: bye\n"
    )
    assert _first_words(log, start=14) == ": Error: could not find libjvm.so"


class Context:
    """A Spark context, as far as it can be stopped."""

    def __init__(self) -> None:
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True


def test_at_exit_only_what_was_started_here_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever merely used a folder of ours keeps the context, and the Java, of their own."""
    ours, theirs, java = Context(), Context(), MagicMock()
    monkeypatch.setattr(SparkContext, "_active_spark_context", theirs)
    monkeypatch.setattr(SparkContext, "_gateway", MagicMock())
    for context in (None, ours):
        monkeypatch.setattr(_Ours, "context", context)
        monkeypatch.setattr(_Ours, "java", None if context is None else java)
        _stop_java()
        assert not theirs.stopped
        assert not java.shutdown.called
    assert not SparkContext._gateway.shutdown.called  # type: ignore[union-attr]
    monkeypatch.setattr(SparkContext, "_active_spark_context", ours)
    _stop_java()
    assert ours.stopped
    assert java.shutdown.called


def test_a_folder_alone_registers_nothing_that_stops_spark(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    registered: list[Any] = []
    monkeypatch.setattr("atexit.register", lambda hook, *_: registered.append(hook))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = run_folder.__wrapped__()
    assert folder.parent == tmp_path
    assert [hook.__module__ for hook in registered] == [run_folder.__module__]


def test_what_others_log_is_let_through() -> None:
    def record(path: str) -> logging.LogRecord:
        return logging.LogRecord("root", logging.ERROR, path, 1, "text", (), None)

    assert not not_of_py4j(record("/site-packages/py4j/java_gateway.py"))
    assert not_of_py4j(record("/home/me/job.py"))


def test_a_task_of_a_local_session_is_tried_again() -> None:
    """In Spark's ``local[*]`` a Python worker that is killed ends the query."""
    assert re.fullmatch(r"local\[\*,[2-9]\]", HERE)


BROKEN = """
import sys
from topwater.errors import EnvironmentProblem
from topwater.spark import session
try:
    session(conf={"spark.driver.extraJavaOptions": "-XX:MaxHeapFreeRatio=500"})
except EnvironmentProblem as error:
    print(error.problem)
"""


@pytest.mark.spark
def test_a_java_that_does_not_start_is_reported(tmp_path: Path) -> None:
    """A process of its own: this one has its Java already."""
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", BROKEN],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        timeout=60,
    )
    assert run.stdout.startswith("Java could not start Spark: ")
    assert "MaxHeapFreeRatio" in run.stdout
    assert run.stderr == ""
    assert list(tmp_path.iterdir()) == []
