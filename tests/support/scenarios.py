"""Streams with everything in them that goes wrong, and how each host answers a query over them."""

from __future__ import annotations

import itertools
import os
import pickle
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import cloudpickle
from pyspark.sql import Row

from topwater import Answer, TopKQuery, run, sliding, tumbling
from topwater.model import Fetched
from topwater.monitor import Monitor, build_monitor
from topwater.monitor.joint_ranking import has_joint_ranking
from topwater.monitor.shard_monitors import ShardedMonitor
from topwater.monitor.shards import divided_among
from topwater.remote.known_changes import Steps
from topwater.remote.replay import Replay
from topwater.scoring import Formula
from topwater.spark.chunk_map import CHUNKS
from topwater.spark.compat import arrow_schema
from topwater.spark.joint_processor import JointProcessor
from topwater.spark.packed_rows import FIGURES, TOLD, merged, packed_schema
from topwater.spark.processor import STATE, MonitorProcessor
from topwater.spark.shard_placement import PLACE
from topwater.spark.stage_one import partial_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.tws_tester import TwsTester

    from topwater.model import KeyArray

# Spark's workers can't import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

START = 1_000_000
SECONDS = 100
KEYS = 24
FAR = 4_070_908_800_000
"""The year 2099."""

SCHEMAS = {
    kind: f"time timestamp, key {kind}, value double, other double, team string"
    for kind in ("bigint", "string")
}
_REMOTE: dict[str, Any] = {"remote": "followers", "budget": 3, "spare": 4}
_SUMS = {"recent": "last(value)", "total": "sum(value)", "n": "count"}
_JOINS: dict[str, Any] = {
    "take": {"n": "count", "by": "last(team)", "v": "sum(value)"},
    "score": "n * followers * trust + v / 8",
    "where": "stock > 2 and trust > 0.3",
    "refresh": [
        {"remote": ["followers", "stock", "maker"], "from": "shop", "per": {"30 s": 25}},
        {"remote": "trust", "from": "teams", "key": "by", "cost": 3, "default": 0.5},
    ],
    "budget": {"cost": 6, "per": {"20 s": 16}},
}
QUERIES: dict[str, dict[str, Any]] = {
    "each": {"score": "value"},
    "each-smallest": {"score": Formula("value - other", order="smallest"), "late": "use"},
    "count": {"take": {"n": "count"}, "score": "n", "window": tumbling("10s", start=START)},
    "last-and-sum": {"take": _SUMS, "score": "total + recent / 8 + n"},
    "mean": {"take": {"v": "mean(value)", "top": "max(other)"}, "score": "v + top", "late": "use"},
    "groups": {"score": "value", "group_by": "team"},
    "groups-sum": {"take": {"v": "sum(value)"}, "score": "v", "group_by": "team"},
    "worth": {"take": {"n": "count"}, "score": "n * followers", "refresh": _REMOTE},
    "lru": {
        "take": {"n": "count", "v": "sum(value)"},
        "score": "n + v + followers",
        "refresh": {**_REMOTE, "policy": "lru", "budget": {"fetches": 3, "accuracy": 0.9}},
    },
    "listed": {
        "take": {"v": "last(value)"},
        "score": "v + followers",
        "list": "panes+n",
        "refresh": _REMOTE,
    },
    "groups-worth": {
        "take": {"n": "count"},
        "score": "n * followers",
        "refresh": _REMOTE,
        "group_by": "team",
    },
    "joins": _JOINS,
    "groups-joins": {
        **_JOINS,
        "group_by": "team",
        "budget": {"cost": 8, "per": {"20 s": 30}, "over": "all"},
    },
}


@dataclass(frozen=True, slots=True)
class Scenario:
    """A query, and the files of events that it is asked of: one file for each micro-batch."""

    query: TopKQuery
    files: tuple[pa.Table, ...]
    keys: str
    known: int = KEYS

    @property
    def source(self) -> Any:
        """The remote side: the same each time."""
        if self.query.joins is not None:
            return {"shop": Shop(), "teams": Teams()}
        if self.query.single is None:
            return None
        kind = Flaky if self.query.single.policy == "lru" else Replay
        return remote_side(kind, self.known)


def scenario(
    name: str,
    seed: int,
    *,
    files: int = 6,
    rows: int = 600,
    keys: str = "",
    distinct: int = KEYS,
    unit: float = 0.25,
) -> Scenario:
    """One of QUERIES over a random stream in random cuts.

    Values are multiples of ``unit``. If that is a power of two, sums don't depend on the order
    in which they are made.
    """
    rng = np.random.default_rng([seed, *name.encode()])
    plain: dict[str, Any] = {
        "key": "key",
        "time": "time",
        "k": 3,
        "window": sliding("12s", "5s", start=START),
    }
    query = TopKQuery(**(plain | {"lateness": "2s"} | QUERIES[name]))
    kind = "bigint" if query.refresh is not None else keys or ("bigint", "string")[seed % 2]
    events = stream(rng, rows, kind, distinct, unit)
    cuts = [0, *np.sort(rng.integers(1, rows, files - 1)).tolist(), rows]
    parts = [events.slice(a, b - a) for a, b in itertools.pairwise(cuts)]
    return Scenario(query, tuple(parts), kind)


def stream(
    rng: np.random.Generator, rows: int, kind: str, distinct: int = KEYS, unit: float = 0.25
) -> pa.Table:
    """Events out of order, some of them late, bad or of the year 2099; many ties."""
    times = np.sort(rng.integers(-2_000, SECONDS * 1_000, rows))
    times -= rng.integers(0, 1_800, rows) + np.where(rng.random(rows) < 0.06, 9_000, 0)
    times += START
    times[rows // 2] = FAR
    keys = np.minimum(rng.geometric(0.12, rows), distinct) - 1
    values = rng.integers(0, 24, (2, rows)) * unit
    values[0, rng.random(rows) < 0.02] = np.nan
    values[1, rng.random(rows) < 0.02] = np.inf
    named = keys if kind == "bigint" else [f"käse-{key}" for key in keys]
    teams = np.array(["red", "blue", "green", None])[rng.choice(4, rows, p=[0.5, 0.3, 0.15, 0.05])]
    return pa.table(
        {
            "time": _some(rng, pa.array(times * 1_000, pa.timestamp("us", "UTC"))),
            "key": _some(rng, pa.array(named, pa.int64() if kind == "bigint" else pa.string())),
            "value": values[0],
            "other": values[1],
            "team": pa.array(teams, pa.string()),
        }
    )


def _some(rng: np.random.Generator, column: pa.Array) -> pa.Array:
    """A column with a few nulls."""
    return pc.if_else(pa.array(rng.random(len(column)) < 0.02), None, column)


class Flaky(Replay):
    """Some keys fail for some time, in two ways."""

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        got = super().fetch(keys, deadline)
        state = (keys + self.now // 10_000) % 5
        why = np.array(["server", "timeout"], object)[np.minimum(state, 1)]
        return replace(got, values=np.where(state > 1, got.values, np.nan), ok=state > 1, why=why)


class Changing:
    """A source whose values follow from the key and the time."""

    punctual = True
    now = 0

    def seek(self, now: int) -> None:
        self.now = now


class Shop(Changing):
    """Several values with one look-up, one of them text; some keys fail, some have no values."""

    names = ("followers", "stock", "maker")
    text_names = ("maker",)

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        turn = keys * 7 + self.now // 9_000 * (keys % 4)
        some = turn % 11 != 3
        columns: dict[str, Any] = {
            "followers": np.where(some, turn % 40 / 4 + 1, np.nan),
            "stock": np.where(some, turn % 9, np.nan),
            "maker": np.array([f"Käser {each % 3}" if each % 2 else None for each in turn], object),
        }
        ok = turn % 13 != 5
        why = np.where(ok, "", "server").astype(object)
        return replace(Fetched.of_columns(columns, ok), why=why)


class Teams(Changing):
    """A number for each team."""

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        turns = np.array([len(key) + self.now // 15_000 for key in keys.tolist()], np.int64)
        return Fetched(turns % 5 / 4, np.ones(len(keys), bool))


def remote_side(kind: type[Replay] = Replay, distinct: int = KEYS) -> Replay:
    """Every key's value changes several times."""
    rng = np.random.default_rng(11)
    times = np.concatenate([np.zeros(distinct), rng.integers(0, SECONDS * 1_000, distinct * 4)])
    keys = np.concatenate([np.arange(distinct), rng.integers(0, distinct, distinct * 4)])
    steps = Steps.of(START + times.astype(np.int64), keys, rng.integers(1, 40, len(keys)) / 4)
    return kind(steps)


def answered_locally(each: Scenario) -> list[Answer]:
    """By :func:`topwater.run`; without the windows that only the end of the stream closes."""
    monitor = build_monitor(each.query, source=each.source)
    return _closed(monitor, list(run(each.query, each.files, monitor=monitor)))


def answered_in_shards(each: Scenario, shards: int) -> list[Answer]:
    """By as many monitors in this process."""
    monitor = ShardedMonitor(each.query, shards, source=each.source)
    found: list[Answer] = []
    for batch in each.files:
        monitor.ingest(batch)
        found += monitor.close_until(monitor.watermark or 0)
    return found


def snapshots(each: Scenario, shards: int) -> dict[int, bytes]:
    """What each shard remembers at the end, if after every file it is built anew."""
    states: dict[int, bytes] = {}
    for batch in each.files:
        monitor = ShardedMonitor(each.query, shards, states, source=each.source)
        monitor.ingest(batch)
        monitor.close_until(monitor.watermark or 0)
        states = monitor.snapshots()
    return states


def _closed(monitor: Monitor, answers: list[Answer]) -> list[Answer]:
    watermark = monitor.watermark
    assert watermark is not None
    return [answer for answer in answers if answer.window.end < watermark]


class Bench:
    """The stages of Spark's host one after the other, without Java.

    Parameters
    ----------
    each
        What is asked.
    shards
        How many.
    rng
        Cuts each file among tasks, and lets them finish in any order.
    """

    def __init__(self, each: Scenario, shards: int, rng: np.random.Generator) -> None:
        self._each, self._shards = each, divided_among(each.query, shards)
        self._rng = rng
        self._schema = _arrow_schema(each.keys, several=each.query.joins is not None)
        self._run = str(rng.random())
        self._tester = self._started(MonitorProcessor)
        joint = has_joint_ranking(each.query, shards)
        self._ranking = self._started(JointProcessor) if joint else None
        self.rows: list[dict[str, Any]] = []

    def run(self, files: Iterable[pa.Table]) -> None:
        for file in files:
            found = self._stateful(self._reduced(file))
            if self._ranking is not None:
                self._rng.shuffle(found)
                found = self._ranked(found)
            elif self._shards > 1 and self._each.query.group_by is None:
                self._rng.shuffle(found)
                batch = pa.RecordBatch.from_pylist(found, schema=self._schema)
                (out,) = merged(self._each.query, iter([batch]))
                found = [row for row in out.to_pylist() if row["kind"] != FIGURES]
                for row in found:
                    if row[TOLD] is not None:
                        row[TOLD]["problems"] = dict(row[TOLD]["problems"])
            self.rows += found

    def restart(self, *, same_worker: bool | None = None) -> None:
        """Go on with nothing but the state; or in the same worker, with what it has kept."""
        if not (self._rng.random() < 0.5 if same_worker is None else same_worker):
            self._run = str(self._rng.random())
        before, self._tester = self._tester, self._started(MonitorProcessor)
        for shard in range(self._shards):
            hand_over(before, self._tester, shard)
        if self._ranking is not None:
            old, self._ranking = self._ranking, self._started(JointProcessor)
            hand_over(old, self._ranking, 0)

    def _started(self, processor: type[MonitorProcessor]) -> TwsTester:
        from pyspark.sql.streaming.tws_tester import TwsTester  # not in Spark 4.1

        query, source = self._each.query.to_json(), pickle.dumps(self._each.source)
        return TwsTester(
            processor(query, shards=self._shards, source=source, late=True, run=self._run)
        )

    def _ranked(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        assert self._ranking is not None
        told = [Row(**row, **{PLACE: 0}) for row in rows]
        found = [row.asDict() for row in self._ranking.test(0, told)] if told else []
        return [row for row in found if row["kind"] != FIGURES]

    def _reduced(self, file: pa.Table) -> list[Row]:
        """What up to three tasks make of a file, each of which reads it in up to two parts."""
        cuts = np.sort(self._rng.integers(0, file.num_rows + 1, 3))
        bounds = [0, *cuts.tolist(), file.num_rows]
        rows = []
        for at, (start, end) in enumerate(itertools.pairwise(bounds)):
            if start < end:
                part = file.slice(start, end - start)
                batch = partial_rows(self._each.query, part, self._shards, at // 2, at % 2)
                rows += [Row(**row) for row in batch.to_pylist()]
        self._rng.shuffle(rows)
        return rows

    def _stateful(self, rows: list[Row]) -> list[dict[str, Any]]:
        found = []
        for shard in sorted({row.shard for row in rows}):
            mine = [row for row in rows if row.shard == shard]
            found += [row.asDict() for row in self._tester.test(shard, mine)]
        return [row for row in found if row["kind"] != FIGURES]


def hand_over(before: TwsTester, after: TwsTester, key: int) -> None:
    """The state of one key."""
    if (state := before.peekValueState(STATE, key)) is not None:
        after.updateValueState(STATE, key, state)
        after.updateMapState(CHUNKS, key, before.peekMapState(CHUNKS, key))


def written(folder: Path, files: Sequence[pa.Table], first: int = 0) -> str:
    """One file per micro-batch, in this order; ``first`` is the number of the first of them."""
    folder.mkdir(exist_ok=True)
    for number, table in enumerate(files, first):
        # Spark must not see a file before it is whole.
        path = folder / f".{number}"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
        path.rename(folder / f"{number:04}.parquet")
    return str(folder)


def read_stream(spark: SparkSession, folder: str, keys: str) -> DataFrame:
    """Such files as a stream, one in each micro-batch."""
    return spark.readStream.schema(SCHEMAS[keys]).option("maxFilesPerTrigger", 1).parquet(folder)


def run_to_the_end(rows: DataFrame, checkpoint: str, sink: str) -> pa.Table:
    """Go on until the input ends; all rows in the sink."""
    running = (
        rows.writeStream.format("parquet")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start(sink)
    )
    running.awaitTermination()
    return rows.sparkSession.read.parquet(sink).toArrow()


def _arrow_schema(keys: str, *, several: bool) -> pa.Schema:
    """What Spark makes of the rows inside."""
    return arrow_schema(packed_schema(keys, "string", several=several))
