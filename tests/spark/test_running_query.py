"""A query that runs says what to do about what ended it, and what it waits for in vain."""

from __future__ import annotations

import logging
import shutil
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest
from pyspark.errors import StreamingQueryException

from tests.support.observed import query, read, source, write
from topwater.spark import running_query, start, topk
from topwater.spark.running_query import RunningQuery, source_folders

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

BUSY = "Job aborted: Python worker failed to connect back."


def made(monkeypatch: pytest.MonkeyPatch, there: dict[str, bool], **java: Any) -> RunningQuery:
    monkeypatch.setattr(running_query, "is_there", lambda _, folder: there[folder])
    jsq = MagicMock(**java)
    jsq.status.return_value.json.return_value = '{"message": "Waiting for data to arrive"}'
    return RunningQuery(jsq, MagicMock(), tuple(there))


def test_a_known_error_is_raised_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = made(monkeypatch, {}, **{"awaitTermination.side_effect": _error(BUSY)})
    with pytest.raises(StreamingQueryException, match="connect back") as caught:
        failing.awaitTermination()
    [note] = caught.value.__notes__
    assert "the machine is too busy" in note
    with pytest.raises(StreamingQueryException):
        failing.awaitTermination()
    assert caught.value.__notes__ == [note]


def test_an_error_that_is_not_known_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = made(monkeypatch, {}, **{"processAllAvailable.side_effect": _error("odd")})
    with pytest.raises(StreamingQueryException) as caught:
        failing.processAllAvailable()
    assert not hasattr(caught.value, "__notes__")


def _error(text: str) -> StreamingQueryException:
    return StreamingQueryException(text)


def test_a_folder_that_is_gone_is_told_once_and_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    there = {"/in": True}
    waits = iter([False, False, False, False, True])

    def wait(_: int) -> bool:
        there["/in"] = len(caplog.messages) == 1 and there["/in"] is False
        return next(waits)

    waiting = made(monkeypatch, there, **{"awaitTermination.side_effect": wait})
    with caplog.at_level(logging.WARNING, "topwater"):
        assert waiting.awaitTermination() is None
    gone, back = caplog.messages[:2]
    assert gone == "/in is gone; the query waits until it is there again"
    assert back == "/in is there again; new files in it are read"


def test_the_status_names_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"/in": True}
    waiting = made(monkeypatch, there)
    assert waiting.status["message"] == "Waiting for data to arrive"
    there["/in"] = False
    assert waiting.status["message"] == "Waiting for /in, which is gone"


def test_a_timeout_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = made(monkeypatch, {"/in": True}, **{"awaitTermination.return_value": False})
    assert waiting.awaitTermination(0.01) is False
    ended = made(monkeypatch, {"/in": True}, **{"awaitTermination.return_value": True})
    assert ended.awaitTermination(5) is True


@pytest.mark.spark
def test_the_folders_of_a_real_query(spark: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "in", [])
    rows = topk(read(spark, folder), query(), source(), shards=2, idle="1s")
    assert source_folders(rows) == [folder]
    other = topk(read(spark, write(tmp_path / "more[1]", [])), query(), source())
    assert source_folders(other) == []
    started = start(rows, to="noop", checkpoint=tmp_path / "state", trigger="1 hour")
    assert isinstance(started, RunningQuery)
    assert started.missing_folders() == []
    shutil.rmtree(folder)
    assert started.status["message"] == f"Waiting for {folder}, which is gone"
    assert started.awaitTermination(0.1) is False
    started.stop()
