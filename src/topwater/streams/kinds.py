"""The settings of streams that are read from files, or by a user's own code; and all kinds."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from topwater.errors import QueryError
from topwater.streams.network_settings import KafkaStream, MqttStream, SocketStream
from topwater.streams.schema import columns
from topwater.streams.spark_stream import SparkStream
from topwater.streams.stream_settings import RDF, ROWS, StreamSettings
from topwater.validation import checked_call, flag_of, number_of, path_of, text_of, whole_of


@checked_call(of="files")
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FilesStream(StreamSettings):
    """A folder to which files may come, each complete when it appears; or one file.

    Parameters
    ----------
    path
        The folder or the file, on this machine or anywhere that Spark reads from.
    pattern
        Which names to read, as ``"*.jsonl"``.
    max_files_per_trigger
        How many files make up a micro-batch at most.
    header
        Whether CSV files begin with a line of names.
    """

    kind: ClassVar[str] = "files"
    places: ClassVar[tuple[str, ...]] = ("path",)
    formats: ClassVar[tuple[str, ...]] = (*ROWS, *RDF)
    bounded: ClassVar[bool] = True

    path: str
    pattern: str = ""
    max_files_per_trigger: int | None = None
    header: bool = True

    def check(self) -> None:
        """The path is there."""
        path_of(self.path, "path")
        if self.pattern:
            text_of(self.pattern, "pattern")
        if self.max_files_per_trigger is not None:
            whole_of(self.max_files_per_trigger, "max_files_per_trigger", 1)
        flag_of(self.header, "header")


@checked_call(of="replay")
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReplayStream(StreamSettings):
    """Recorded files, played again at their own pace or any other.

    Parameters
    ----------
    path
        A file, or a folder whose files are played in the order of their names.
    pattern
        Which names to play.
    time
        The column that says when an event happened.
    speed
        How many seconds of the recording pass in a second; ``0`` or ``"max"`` for as fast as it
        goes.
    rows_per_batch
        How many events make up a micro-batch at most.
    shift_to_now
        Move all times by the same amount, so that the recording begins now.
    header
        Whether CSV files begin with a line of names.
    """

    kind: ClassVar[str] = "replay"
    places: ClassVar[tuple[str, ...]] = ("path",)
    formats: ClassVar[tuple[str, ...]] = (*ROWS, *RDF)
    bounded: ClassVar[bool] = True

    path: str
    pattern: str = "*"
    time: str = "time"
    speed: float | Literal["max"] = 1.0
    rows_per_batch: int = 100_000
    shift_to_now: bool = False
    header: bool = True

    @property
    def pace(self) -> float:
        """The speed as a number; 0 is without limit."""
        return 0.0 if self.speed == "max" else float(self.speed)

    def check(self) -> None:
        """The path is there, the time is a column, and the speed a number."""
        path_of(self.path, "path")
        text_of(self.pattern, "pattern")
        if self.speed != "max":
            fix = 'write 1 for the pace of the recording, or "max" for as fast as it goes'
            number_of(self.speed, "speed", least=0, fix=fix)
        whole_of(self.rows_per_batch, "rows_per_batch", 1)
        flag_of(self.shift_to_now, "shift_to_now")
        flag_of(self.header, "header")
        names = columns(self.schema) if self.schema else {}
        if names and names.get(self.time) not in ("timestamp", "timestamp_ltz", "bigint", "long"):
            raise QueryError(
                f"{self.time!r} is not a column of type timestamp or bigint",
                field="time",
                fix=f"name one of the schema's: {', '.join(names)}",
            )


@checked_call(of="python")
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PythonStream(StreamSettings):
    """A Python data source of the user's own.

    Parameters
    ----------
    source
        Its class: ``"sensors.py:Sensors"`` or ``"package.module:Sensors"``.
    options
        What it is given.
    format
        ``rows`` if it gives the columns of ``schema``, or of its own; another if its column
        ``value`` is to be read.
    """

    kind: ClassVar[str] = "python"
    places: ClassVar[tuple[str, ...]] = ("source",)
    formats: ClassVar[tuple[str, ...]] = ("rows", "json", "csv", *RDF)
    bounded: ClassVar[bool] = True

    source: str
    format: str = "rows"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def needs_schema(self) -> bool:
        """A data source tells its own."""
        return self.format not in ("rows", *RDF)

    @property
    def place(self) -> tuple[str, str]:
        """The file or the module, and the name of the class."""
        module, _, name = self.source.rpartition(":")
        return module, name

    def check(self) -> None:
        """The file or the module is there."""
        text_of(self.source, "source")
        module, name = self.place
        if not module or not name.isidentifier():
            raise QueryError(
                f"{self.source!r} names no class", field="source", fix="write sensors.py:Sensors"
            )
        if module.endswith(".py"):
            path_of(module, "source")
        elif not _importable(module):
            raise QueryError(
                f"there is no module {module}", field="source", fix="install it, or give a file"
            )


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


KINDS: Mapping[str, type[Any]] = {
    made.kind: made
    for made in (
        FilesStream,
        KafkaStream,
        MqttStream,
        SocketStream,
        ReplayStream,
        PythonStream,
        SparkStream,
    )
}
