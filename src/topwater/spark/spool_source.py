"""What a client puts into a spool, as a source of Spark's.

The client runs on the driver, in the Python process that Spark keeps for a source. A micro-batch
is a range of the spool's parts, and takes them along to where it is computed: nothing but the
driver needs to reach the spool, or the broker.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from topwater.errors import AFRESH, StateError
from topwater.spark.read_limits import ReadAllAvailable, ReadLimit, require_limits
from topwater.streams import MqttStream, SocketStream, stream_settings
from topwater.streams.spool import Spool, messages
from topwater.streams.spool_feed import Feed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FORMAT = "topwater-spooled"
PARTS_AT_ONCE = 16
"""How many parts, of a MiB or so, make up a micro-batch at most: they pass through the driver."""

Offset: TypeAlias = dict[str, Any]
_COLUMNS = pa.schema(
    [
        ("payload", pa.binary()),
        ("topic", pa.string()),
        ("arrived", pa.timestamp("us", "UTC")),
    ]
)


def spooled(spark: SparkSession, settings: MqttStream | SocketStream) -> DataFrame:
    """Payloads, topics and when they came, after a first connection that shows that it works."""
    require_limits(f"streams from {settings.kind}", "let a broker write files, or use Kafka")
    with Spool(settings.spool) as spool:
        _feed(settings, spool).check()
    spark.dataSource.register(SpooledSource)
    told = json.dumps({"kind": settings.kind, **asdict(settings)})
    return spark.readStream.format(FORMAT).option("settings", told).load()


class SpooledSource(DataSource):
    """Made by :func:`spooled` only."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._settings = options["settings"]

    @classmethod
    def name(cls) -> str:
        """The name to give to ``format``."""
        return FORMAT

    def schema(self) -> str:
        """What is known of a message."""
        return "payload binary, topic string, arrived timestamp"

    def streamReader(self, schema: StructType) -> SpooledReader:  # noqa: ARG002, N802
        """The reader that Spark drives."""
        return SpooledReader(self._settings)


@dataclass(frozen=True)
class Part(InputPartition):
    """What one task reads: a part of the spool."""

    content: bytes


class SpooledReader(DataSourceStreamReader):
    """Offsets are numbers of parts; they also have what the client has counted."""

    def __init__(self, settings: str) -> None:
        self._settings = settings
        self._feed: Feed | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        """What no micro-batch has had."""
        spool = self._started().spool
        return {"spool": spool.id, "part": spool.first}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """All that is there, as far as it fits."""
        return ReadAllAvailable()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: ARG002, N802
        """Where the next micro-batch ends."""
        feed = self._started()
        _require_same(start, feed.spool)
        if feed.problem is not None:
            raise feed.problem
        end = min(feed.spool.seal(), start["part"] + PARTS_AT_ONCE)
        if end <= start["part"]:
            return start
        return {"spool": feed.spool.id, "part": end, **{k: v for k, v in feed.counts.items() if v}}

    def partitions(self, start: Offset, end: Offset) -> Sequence[Part]:
        """The parts of a micro-batch."""
        spool = self._started().spool
        _require_same(end, spool)
        return [Part(spool.part(number)) for number in range(start["part"], end["part"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a part."""
        if not isinstance(partition, Part):
            raise TypeError(f"not a partition of this source: {partition!r}")
        found = list(messages(partition.content))
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([message.payload for message in found], pa.binary()),
                pa.array([message.topic for message in found], pa.string()),
                pa.array([message.arrived * 1000 for message in found], pa.int64()).cast(
                    pa.timestamp("us", "UTC")
                ),
            ],
            schema=_COLUMNS,
        )

    def commit(self, end: Offset) -> None:
        """Spark is done with all before."""
        self._started().spool.remove(end["part"])

    def stop(self) -> None:
        """Go, and let others use the spool."""
        if self._feed is not None:
            self._feed.stop()

    def _started(self) -> Feed:
        if self._feed is None:
            settings = stream_settings(json.loads(self._settings))
            assert isinstance(settings, MqttStream | SocketStream)  # noqa: S101
            self._feed = _feed(settings, Spool(settings.spool))
            self._feed.start()
        return self._feed


def _feed(settings: MqttStream | SocketStream, spool: Spool) -> Feed:
    """The client for some settings; it is loaded only now."""
    if isinstance(settings, SocketStream):
        from topwater.streams.sockets import SocketFeed

        return SocketFeed(settings, spool)
    from topwater.streams.mqtt import MqttFeed

    return MqttFeed(settings, spool)


def _require_same(offset: Offset, spool: Spool) -> None:
    if offset["spool"] != spool.id or not spool.first <= offset["part"] <= spool.sealed:
        raise StateError(
            f"the checkpoint does not belong to the spool {spool.folder}",
            fix=f"use the spool that it was begun with, or {AFRESH}",
        )
