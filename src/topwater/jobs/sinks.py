"""Where answers go: files, Kafka, anything that Spark writes, a function, or nowhere but here.

Files are written by micro-batch, to ``PATH/batch=N``, each as a whole: a micro-batch that runs
again after a crash takes the place of the first attempt, so every window is there once, for every
reader. The checkpoint is ``PATH/_checkpoint`` unless another one is named: who removes the folder
begins anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topwater.errors import QueryError
from topwater.jobs.python_names import loaded
from topwater.private_files import open_private
from topwater.redaction import shown_path, shown_settings
from topwater.validation import (
    choice_of,
    mapping_of,
    nearest,
    require_given,
    require_known,
    text_of,
)
from topwater.validation.addresses import REMOTE, path_errors
from topwater.validation.checkpoints import SINK_LOG, last_number, require_continued

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FILES = ("parquet", "json", "csv", "orc")
KINDS = ("console", *FILES, "kafka", "spark", "python")
BATCH = "batch"
"""By this the folders of micro-batches are told apart; the live page knows it, too."""

_NEEDED = {
    **dict.fromkeys(FILES, ("path",)),
    "kafka": ("servers", "topic"),
    "spark": ("format",),
    "python": ("object",),
}
_ALLOWED = {
    **dict.fromkeys(FILES, ("path", "options")),
    "kafka": ("servers", "topic", "options"),
    "spark": ("format", "path", "options"),
    "python": ("object",),
    "console": (),
}
_FORMATS = ("avro", "bigquery", "delta", "hudi", "iceberg", "jdbc", "mongodb", "noop", "text")
"""Well-known formats of Spark that are not kinds of ours."""
_NESTED = ("array", "map", "struct")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sink:
    """Where answers go, besides the terminal.

    Parameters
    ----------
    kind
        ``console`` for nowhere else; ``parquet``, ``json``, ``csv`` or ``orc`` for files;
        ``kafka``; ``spark`` for another ``format`` that Spark can append to; ``python`` for a
        function.
    path
        The folder of the files, or what the format wants as a path.
    checkpoint
        The folder where Spark keeps how far it came. Without one, and without files, a second
        run begins anew.
    servers, topic
        Of Kafka.
    format
        Of ``spark``: as ``delta`` or ``jdbc``, if the session has it.
    object
        Of ``python``: ``"file.py:function"``, which is given the rows of a micro-batch as a
        DataFrame, and its number.
    options
        More options of the format.
    """

    kind: str = "console"
    path: str = ""
    checkpoint: str = ""
    servers: str = ""
    topic: str = ""
    format: str = ""
    object: str = ""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    base: Path = field(default=Path(), repr=False)

    @staticmethod
    def of(given: Mapping[str, Any], base: Path) -> Sink:
        """Settings as they stand in a file, checked."""
        kind = _kind(given.get("kind", "console"))
        allowed = ("kind", "checkpoint", *_ALLOWED[kind])
        require_known(given, allowed, of=kind)
        require_given(given, _NEEDED.get(kind, ()), of=kind)
        named = {name: text_of(given[name], name) for name in allowed if _is_text(name, given)}
        for name in ("path", "checkpoint"):
            if name in named and not REMOTE.match(named[name]):
                named[name] = str((base / named[name]).absolute())
        if kind in FILES:
            named.setdefault("checkpoint", f"{named['path']}/_checkpoint")
        return Sink(**named, options=_options(given.get("options", {})), base=base)

    def __post_init__(self) -> None:
        if self.kind == "python":
            loaded(self.object, self.base)
        if not any(map(REMOTE.match, (self.path, self.checkpoint))):
            self.require_continued()

    @property
    def started(self) -> bool:
        """Whether the checkpoint, if it is on this machine, was used already."""
        # A micro-batch that did not come to its end counts: it runs again, and writes again.
        return (
            bool(self.checkpoint) and last_number(_names(f"{self.checkpoint}/offsets")) is not None
        )

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
        return f"{self.format or self.kind} in {shown_path(self.path)}" if self.path else self.kind

    def require_continued(self, names: Callable[[str], Iterable[str]] | None = None) -> None:
        """Raise if the folder of answers and the checkpoint do not belong together.

        Parameters
        ----------
        names
            Gives the names in a folder; by default in one of this machine.
        """
        if self.kind not in FILES:
            return
        names = names or _names
        there = list(names(self.path))
        if SINK_LOG in there:
            raise QueryError(
                f"{self.path} was written by start(), and readers go by its {SINK_LOG}",
                field="path",
                fix="write to another folder; this one keeps its windows",
            )
        numbers = (name.removeprefix(f"{BATCH}=") for name in there if name.startswith(f"{BATCH}="))
        require_continued(
            self.path,
            self.checkpoint,
            written=last_number(numbers),
            planned=last_number(names(f"{self.checkpoint}/offsets")),
        )

    def write(self, batch: DataFrame, number: int) -> None:
        """Write the rows of a micro-batch."""
        if self.kind in FILES:
            rows = _flat(batch) if self.kind == "csv" else batch
            options = {"header": "true"} if self.kind == "csv" else {}
            writer = rows.write.mode("overwrite").options(**{**options, **self.options})
            writer.format(self.kind).save(f"{self.path}/{BATCH}={number}")
        elif self.kind == "kafka":
            from topwater.spark.kafka import with_variables

            rows = batch.selectExpr("to_json(struct(*)) AS value")
            writer = rows.write.format("kafka").option("kafka.bootstrap.servers", self.servers)
            writer.option("topic", self.topic).options(**with_variables(self.options)).save()
        elif self.kind == "spark":
            writer = batch.write.mode("append").format(self.format).options(**self.options)
            writer.save(self.path or None)
        elif self.kind == "python":
            loaded(self.object, self.base)(batch, number)

    def explain(self, text: str) -> None:
        """Leave beside the files what they answer, for later readers."""
        from topwater.live.folder import EXPLAINED

        if self.kind in FILES and not REMOTE.match(self.path):
            Path(self.path).mkdir(parents=True, exist_ok=True)
            with open_private(Path(self.path) / EXPLAINED) as file:
                file.write(text.encode())


def _kind(given: Any) -> str:
    """A kind of ours; for another format of Spark's the error says how to write it."""
    other = isinstance(given, str) and re.fullmatch(r"[\w.]{2,60}", given)
    if other and (given in _FORMATS or not (given in KINDS or nearest(given, KINDS))):
        raise QueryError(
            f"{given!r} is unknown",
            field="kind",
            fix=f'for a format of Spark write kind = "spark" and format = "{given}"; '
            f"or use one of: {', '.join(KINDS)}",
        )
    return choice_of(given, KINDS, "kind")


def _is_text(name: str, given: Mapping[str, Any]) -> bool:
    return name in given and name != "options"


def _options(given: Any) -> dict[str, str]:
    table = mapping_of(given, "options", "write options = {a = 1}")
    plain = {name: v if isinstance(v, str) else json.dumps(v) for name, v in table.items()}
    return {str(name): value for name, value in plain.items()}


def _names(folder: str) -> list[str]:
    with path_errors(folder, "path"):
        return [each.name for each in Path(folder).glob("*")]


def _flat(rows: DataFrame) -> DataFrame:
    """Lists and maps as JSON: CSV has neither."""
    nested = [column.name for column in rows.schema if column.dataType.typeName() in _NESTED]
    shown = [
        f"to_json(`{name}`) AS `{name}`" if name in nested else f"`{name}`" for name in rows.columns
    ]
    return rows.selectExpr(*shown)


SETTINGS = tuple(each.name for each in fields(Sink) if each.name != "base")
