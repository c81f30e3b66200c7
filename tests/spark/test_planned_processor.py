"""What is sent to Spark in place of a processor: light to plan with, and equal where it works."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorHandleState

from tests.support.scenarios import answered_locally, read_stream, run_to_the_end, scenario, written
from topwater.spark import answers_from, topk
from topwater.spark.planned_processor import PlannedProcessor, planned
from topwater.spark.processor import STATE, MonitorProcessor
from topwater.spark.rspql_output import Changes
from topwater.spark.state_writer import StoringProcessor

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ALONE = """
import pickle, sys
sys.modules["topwater"] = sys.modules["pandas"] = sys.modules["numpy"] = None  # can't be imported
planned = pickle.loads(sys.stdin.buffer.read())
from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorHandleState

class Client:
    handle_state = StatefulProcessorHandleState.PRE_INIT

class Handle:
    _statefulProcessorApiClient = Client()
    def getValueState(self, name, form): print("value", name, form.simpleString())
    def getMapState(self, name, key, form): print("map", name, form.simpleString())

planned.init(Handle())
planned.close()
"""


class Client:
    def __init__(self, state: StatefulProcessorHandleState) -> None:
        self.handle_state = state


class Handle:
    """What Spark gives a processor, in a task or where a query is planned."""

    def __init__(self, state: StatefulProcessorHandleState) -> None:
        self._statefulProcessorApiClient = Client(state)
        self.asked: list[str] = []

    def getValueState(self, name: str, *_: Any) -> None:
        self.asked.append(name)

    def getMapState(self, name: str, *_: Any) -> None:
        self.asked.append(name)


def sent(processor: Any) -> PlannedProcessor:
    packed = cloudpickle.dumps(planned(processor))  # type: ignore[no-untyped-call]
    found: PlannedProcessor = pickle.loads(packed)  # noqa: S301
    return found


def test_where_a_query_is_planned_nothing_of_topwater_is_loaded() -> None:
    packed = cloudpickle.dumps(planned(MonitorProcessor("{}")))  # type: ignore[no-untyped-call]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", ALONE], input=packed, capture_output=True, env=environment
    )
    assert run.stderr.decode() == ""
    assert run.stdout.decode().splitlines() == [
        "value monitor struct<snapshot:binary,shard:int,shards:int,origin:string,name:string>",
        "map chunks struct<chunk:binary>",
    ]


@pytest.mark.parametrize(
    ("processor", "variables"),
    [
        (MonitorProcessor("{}"), [STATE, "chunks"]),
        (StoringProcessor(joint=False), [STATE, "chunks"]),
        (Changes("istream", []), ["before"]),
    ],
)
def test_it_declares_what_the_processor_opens(processor: Any, variables: list[str]) -> None:
    handle = Handle(StatefulProcessorHandleState.PRE_INIT)
    sent(processor).init(handle)  # type: ignore[arg-type]
    assert handle.asked == variables


def test_in_a_task_the_processor_itself_begins() -> None:
    handle = Handle(StatefulProcessorHandleState.CREATED)
    stand_in = sent(MonitorProcessor("{}"))
    stand_in.init(handle)  # type: ignore[arg-type]
    assert handle.asked == [STATE]  # the map is opened when it is needed
    assert isinstance(stand_in._working, MonitorProcessor)
    stand_in.close()


@pytest.mark.spark
def test_answers_are_those_of_this_process(spark: SparkSession, tmp_path: Path) -> None:
    each = scenario("count", 3, files=2, rows=100)
    events = read_stream(spark, written(tmp_path / "in", each.files, 0), each.keys)
    rows = topk(events, each.query, give="both")
    found = run_to_the_end(rows, str(tmp_path / "checkpoint"), str(tmp_path / "sink"))
    got = [(one.window, one.rows) for one in answers_from(found, each.query)]
    assert got == [(one.window, one.rows) for one in answered_locally(each)]
