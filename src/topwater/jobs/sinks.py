"""Where answers go: anything that Spark writes as a stream, or files of ours, or a function.

``format`` and ``table`` are Spark's own: its sink writes, and keeps its promise (decision 53). The
kinds of files are ours, written by micro-batch to ``PATH/batch=N``, each as a whole: a micro-batch
that runs again after a crash takes the place of the first attempt, so every window is there once,
for every reader. The checkpoint is ``PATH/_checkpoint`` unless another one is named: who removes
the folder begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from topwater.errors import QueryError
from topwater.jobs.python_names import loaded
from topwater.jobs.trigger import AVAILABLE_NOW, trigger_of
from topwater.private_files import open_private
from topwater.redaction import shown_path, shown_settings
from topwater.streams.spark_formats import option_texts
from topwater.streams.spark_stream import require_one
from topwater.validation import (
    choice_of,
    nearest,
    require_given,
    require_known,
    text_of,
    texts_of,
)
from topwater.validation.addresses import REMOTE, path_errors
from topwater.validation.checkpoints import SINK_LOG, last_number, require_continued

FILES = ("parquet", "json", "csv", "orc")
SPARK = "spark"
KINDS = ("console", *FILES, "kafka", "python", SPARK)
BATCH = "batch"
"""By this the folders of micro-batches are told apart; the live page knows it, too."""

_NEEDED = {**dict.fromkeys(FILES, ("path",)), "kafka": ("servers", "topic"), "python": ("object",)}
_ALLOWED = {
    **dict.fromkeys(FILES, ("path", "options", "partition_by")),
    "kafka": ("servers", "topic", "options"),
    SPARK: ("format", "table", "path", "options", "partition_by"),
    "python": ("object",),
    "console": (),
}
GIVE = ("both", "items", "windows")
"""Which rows a sink gets."""
_OTHERS = ("options", "partition_by", "trigger")
"""Settings that are not plain text, or are read elsewhere."""
_FORMATS = ("avro", "bigquery", "delta", "hudi", "iceberg", "jdbc", "mongodb", "noop", "text")
"""Well-known formats of Spark that are not kinds of ours."""
_BY_BATCH = ("jdbc",)
"""Formats that Spark writes tables to, and no streams: each micro-batch is added as a table."""
_LOGGED = (*FILES, "avro", "text")
_ONCE = ("delta", "iceberg")
_PASSING = ("console", "memory", "noop")
"""Formats that keep nothing for a later run."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sink:
    """Where answers go, besides the terminal.

    Parameters
    ----------
    kind
        ``console`` for nowhere else; ``parquet``, ``json``, ``csv`` or ``orc`` for files, by
        micro-batch; ``kafka``; ``python`` for a function. With a ``format`` or a ``table`` it is
        ``spark``, and need not be written.
    path
        The folder of the files, or what the format wants as a path.
    checkpoint
        The folder where Spark keeps how far it came; with a path it is ``PATH/_checkpoint`` if
        none is named. Without one a second run begins anew.
    servers, topic
        Of Kafka.
    format
        Any format that Spark writes, as ``delta``, if the session has it.
    table
        A table of a catalog, as ``"cat.db.answers"``, which Spark makes if there is none; with
        ``format``, in this format.
    partition_by
        Columns by which files or the table are divided.
    object
        Of ``python``: ``"file.py:function"``, which is given the rows of a micro-batch as a
        DataFrame, and its number.
    give
        Which rows: ``"items"``, ``"windows"``, or ``"both"``, told apart by ``kind``.
    trigger
        The time between micro-batches, as ``"5 seconds"``; or ``"available_now"``, to end when
        all that is there was read, as ``--once`` does.
    options
        More options of the format; a ``${NAME}`` is the environment variable NAME.
    """

    kind: str = "console"
    path: str = ""
    checkpoint: str = ""
    servers: str = ""
    topic: str = ""
    format: str = ""
    table: str = ""
    partition_by: tuple[str, ...] = ()
    object: str = ""
    give: str = "both"
    trigger: str = ""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    base: Path = field(default=Path(), repr=False)

    @staticmethod
    def of(given: Mapping[str, Any], base: Path) -> Sink:
        """Settings as they stand in a file, checked."""
        kind = _kind(given)
        allowed = ("kind", "checkpoint", "trigger", "give", *_ALLOWED[kind])
        require_known(given, allowed, of=kind)
        require_given(given, _NEEDED.get(kind, ()), of=kind)
        plain = (name for name in allowed if name in given and name not in _OTHERS)
        named = {name: text_of(given[name], name) for name in plain} | {"kind": kind}
        for name in ("path", "checkpoint"):
            if name in named and not REMOTE.match(named[name]):
                named[name] = str((base / named[name]).absolute())
        if kind in FILES or (kind == SPARK and "path" in named):
            named.setdefault("checkpoint", f"{named['path']}/_checkpoint")
        return Sink(
            **named,
            trigger=given.get("trigger", ""),
            partition_by=_columns(given.get("partition_by", ())),
            options=option_texts(given.get("options", {}), elsewhere=kind == "kafka"),
            base=base,
        )

    def __post_init__(self) -> None:
        choice_of(self.give, GIVE, "give")
        trigger_of(self.trigger)
        if self.kind == "python":
            loaded(self.object, self.base)
        if self.kind == SPARK:
            self._check_spark()
        if not any(map(REMOTE.match, (self.path, self.checkpoint))):
            self.require_continued()

    def _check_spark(self) -> None:
        require_one(self.format, self.table, self.path)
        if self.format == "kafka":
            raise QueryError(
                "needs rows of its own form", field="format", fix='write kind = "kafka"'
            )
        if not self.checkpoint and self.format not in _PASSING:
            raise QueryError(
                "is missing: without one, a second run would write its windows again",
                field="checkpoint",
                fix='name a folder to keep how far it came: checkpoint = "state"',
            )

    @property
    def started(self) -> bool:
        """Whether the checkpoint, if it is on this machine, was used already."""
        # A micro-batch that did not come to its end counts: it runs again, and writes again.
        return (
            bool(self.checkpoint) and last_number(_names(f"{self.checkpoint}/offsets")) is not None
        )

    @property
    def ends(self) -> bool:
        """Whether a run ends by itself, when all that is there was read."""
        return trigger_of(self.trigger) == trigger_of(AVAILABLE_NOW)

    @property
    def holds_tables(self) -> bool:
        """Whether all windows of what is there may be written at once, with nothing to go on."""
        return not self.checkpoint and self.kind != SPARK

    @property
    def streamed(self) -> bool:
        """Whether Spark's own sink writes; else each micro-batch is given to a function."""
        return self.kind == "kafka" or (self.kind == SPARK and self.format not in _BY_BATCH)

    @property
    def promise(self) -> str:
        """How often a window is written, in words; nothing if none is."""
        if self.kind in FILES:
            return "each window once"
        if self.kind == "python":
            return "after a crash it is called again, with the same number"
        if self.kind == "kafka" or self.format in _BY_BATCH:
            return "each window at least once: after a crash one may be written again"
        if self.kind != SPARK or self.format in _PASSING:
            return ""
        if self.format in _ONCE:
            return "each window once"
        if self.table and not self.format:
            return "each window once, if the table is of files, Delta or Iceberg"
        if self.format in _LOGGED:
            return f"each window once, for readers that go by {SINK_LOG}, as Spark does"
        return f"each window as often as Spark's sink for {self.format} says"

    @property
    def packages(self) -> tuple[str, ...]:
        """The Maven coordinates that the session needs."""
        if self.kind != "kafka":
            return ()
        from topwater.streams import KafkaStream

        return KafkaStream(servers=self.servers, topics=(self.topic,), schema="a int").packages

    def __repr__(self) -> str:
        return shown_settings(self)

    def __str__(self) -> str:
        """What it is, in a few words."""
        if self.kind == "kafka":
            return f"Kafka, topic {self.topic} at {shown_path(self.servers)}"
        if self.kind == "python":
            return f"the function {self.object}"
        if self.table:
            return f"the table {self.table}{self.format and f', {self.format}'}"
        name = self.format or self.kind
        return f"{name} in {shown_path(self.path)}" if self.path else name

    def require_continued(self, names: Callable[[str], Iterable[str]] | None = None) -> None:
        """Raise if the folder of answers and the checkpoint do not belong together.

        Parameters
        ----------
        names
            Gives the names in a folder; by default in one of this machine.
        """
        logged = self.kind == SPARK and self.format in _LOGGED and self.path
        if self.kind not in FILES and not logged:
            return
        names = names or _names
        there = list(names(self.path))
        numbers = [name.removeprefix(f"{BATCH}=") for name in there if name.startswith(f"{BATCH}=")]
        if logged:
            if numbers and SINK_LOG not in there:
                raise QueryError(
                    f'{self.path} was written with kind = "{self.format}", and Spark\'s readers '
                    "would see only what comes now",
                    field="path",
                    fix="write to another folder; this one keeps its windows",
                )
            return  # the rest is checked when Spark starts
        if SINK_LOG in there:
            raise QueryError(
                f"{self.path} was written by Spark's own sink, and readers go by its {SINK_LOG}",
                field="path",
                fix="write to another folder; this one keeps its windows",
            )
        require_continued(
            self.path,
            self.checkpoint,
            written=last_number(numbers),
            planned=last_number(names(f"{self.checkpoint}/offsets")),
        )

    def explain(self, text: str) -> None:
        """Leave beside the files what they answer, for later readers."""
        from topwater.live.folder import EXPLAINED

        files = self.kind in FILES or (self.path and self.format in (*_LOGGED, *_ONCE))
        if files and not REMOTE.match(self.path):
            Path(self.path).mkdir(parents=True, exist_ok=True)
            with open_private(Path(self.path) / EXPLAINED) as file:
                file.write(text.encode())


def _kind(given: Mapping[str, Any]) -> str:
    """A kind of ours, or ``spark``; for a format in its place the error says how to write it."""
    if "kind" not in given:
        return SPARK if "format" in given or "table" in given else "console"
    kind = given["kind"]
    if isinstance(kind, str) and (
        kind in _FORMATS or not (kind in KINDS or nearest(kind, KINDS) or not kind.isidentifier())
    ):
        raise QueryError(
            f"{kind!r} is unknown",
            field="kind",
            fix=f'for a format of Spark write format = "{kind}" in place of kind; '
            f"or use one of: {', '.join(KINDS)}",
        )
    return choice_of(kind, KINDS, "kind")


def _columns(given: Any) -> tuple[str, ...]:
    if given == ():
        return ()
    listed = [given] if isinstance(given, str) else given
    return texts_of(listed, "partition_by", 'write partition_by = ["window_start"]')


def _names(folder: str) -> list[str]:
    with path_errors(folder, "path"):
        return [each.name for each in Path(folder).glob("*")]


SETTINGS = tuple(each.name for each in fields(Sink) if each.name != "base")
