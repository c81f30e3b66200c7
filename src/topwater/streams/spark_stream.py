"""The settings of streams that are read by a format of Spark's, or from a table of its catalogs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from topwater.errors import QueryError
from topwater.streams.spark_formats import option_texts
from topwater.streams.stream_settings import StreamSettings
from topwater.validation import checked_call, text_of

NAME = re.compile(r"[\w.-]{1,200}")
_PARTS = re.compile(r"(?:`[^`]+`|[\w-]+)(?:\.(?:`[^`]+`|[\w-]+)){0,9}")
_WITHOUT_COLUMNS = ("json", "csv")


@checked_call(of="spark")
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SparkStream(StreamSettings):
    """What Spark itself reads: any of its formats, or a table.

    Parameters
    ----------
    format
        A format, as ``"delta"``. The session needs the package that has it.
    table
        In place of a format: a table of a catalog, as ``"cat.db.events"``.
    path
        What the format wants as a path.
    options
        What the format is told, as ``{maxFilesPerTrigger = 10}``. A ``${NAME}`` is the
        environment variable NAME.
    """

    kind: ClassVar[str] = "spark"
    places: ClassVar[tuple[str, ...]] = ("path",)
    formats: ClassVar[tuple[str, ...]] = ()
    bounded: ClassVar[bool] = True

    format: str = ""
    table: str = ""
    path: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def needs_schema(self) -> bool:
        """Tables have one, and most formats."""
        return self.format in _WITHOUT_COLUMNS

    def check(self) -> None:
        """It is said what is read, and only once."""
        if self.rdf:
            raise QueryError(
                f"Spark has no format {self.format}", field="format", fix='write kind = "files"'
            )
        require_one(self.format, self.table, self.path)
        option_texts(self.options)


def require_one(form: str, table: str, path: str = "") -> None:
    """Raise unless there is a format or a table that can be one."""
    if not form and not table:
        raise QueryError(
            "is missing", field="format", fix='write format = "delta", or table = "db.events"'
        )
    if form and not NAME.fullmatch(form):
        raise QueryError(
            f"{form!r} is not a format", field="format", fix='write its name, as "delta"'
        )
    if not table:
        return
    if not _PARTS.fullmatch(text_of(table, "table")):
        raise QueryError(
            f"{table!r} is not the name of a table",
            field="table",
            fix='write "events", "db.events" or "catalog.db.events"; odd names in `…`',
        )
    if path:
        raise QueryError("is one place too many", field="path", fix="give a table or a path")
