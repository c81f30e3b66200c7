"""Where events come from: the settings of a stream, checked before Spark starts.

>>> stream_settings({"kind": "socket", "url": "tcp://localhost", "schema": "a int", "spool": "s"})
Traceback (most recent call last):
    ...
topwater.errors.QueryError: stream.url: tcp://localhost has no port
  fix: write tcp://HOST:PORT

:func:`topwater.spark.stream` makes a streaming DataFrame of them.
"""

from topwater.streams.kinds import FilesStream, PythonStream, ReplayStream
from topwater.streams.network_settings import KafkaStream, MqttStream, SocketStream
from topwater.streams.setting_tables import stream_settings
from topwater.streams.spark_stream import SparkStream
from topwater.streams.stream_settings import StreamSettings

__all__ = [
    "FilesStream",
    "KafkaStream",
    "MqttStream",
    "PythonStream",
    "ReplayStream",
    "SocketStream",
    "SparkStream",
    "StreamSettings",
    "stream_settings",
]
