"""How the demo's stream is laid out for Spark; that it is answered, the command's test shows."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq

from topwater.model import Answer, Window
from topwater_lab.demo.scene import Scene
from topwater_lab.demo.spark_answers import _drain, _stream

if TYPE_CHECKING:
    from pathlib import Path


def test_each_minute_is_a_file_and_the_oldest_comes_first(tmp_path: Path) -> None:
    spark, scene, folder = Mock(), Scene(windows=3), tmp_path / "mentions"
    _stream(spark, scene, folder)
    paths = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    assert [path.name for path in paths] == sorted(path.name for path in paths)
    written, given = [pq.read_table(path) for path in paths], list(scene.batches())
    assert len(written) == len(given) > 3
    assert pa.concat_tables(written).equals(pa.concat_tables(given))
    reader = spark.readStream.schema
    reader.assert_called_once_with("time timestamp, user bigint")
    reader.return_value.option.assert_called_once_with("maxFilesPerTrigger", 1)
    reader.return_value.option.return_value.parquet.assert_called_once_with(str(folder))


def test_what_arrived_is_given_out_once_and_in_order() -> None:
    arrived: queue.SimpleQueue[Answer] = queue.SimpleQueue()
    assert list(_drain(arrived)) == []
    answers = [Answer(Window(index, 0, 60_000), ()) for index in (1, 0)]
    for each in answers:
        arrived.put(each)
    assert list(_drain(arrived)) == answers
    assert list(_drain(arrived)) == []
