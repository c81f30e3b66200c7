"""What the settings of all streams have."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from topwater.errors import QueryError
from topwater.redaction import shown_settings
from topwater.streams.schema import columns
from topwater.validation import choice_of, shown

RDF = ("ntriples", "nquads", "jsonld")
ROWS = ("json", "csv", "parquet")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StreamSettings:
    """What all streams have.

    Parameters
    ----------
    schema
        The columns, in Spark's words: ``"user string, at timestamp"``. RDF needs none: its
        columns are ``time`` and ``value``, as :class:`topwater.spark.Rdf` wants them.
    format
        How an event is written: ``json``, ``csv`` or ``parquet``; or RDF, as ``ntriples``,
        ``nquads`` or ``jsonld``.
    """

    kind: ClassVar[str] = ""
    places: ClassVar[tuple[str, ...]] = ()
    """The settings that are paths."""
    formats: ClassVar[tuple[str, ...]] = ("json", *RDF)
    """What ``format`` may be; anything if there is none."""
    bounded: ClassVar[bool] = False
    """Whether what is there can be read as a table."""

    schema: str = ""
    format: str = "json"

    def __repr__(self) -> str:
        return shown_settings(self)

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.default == "" and not isinstance(given := getattr(self, each.name), str):
                raise QueryError(
                    f"must be text, not {shown(given)}", field=each.name, fix="write it in quotes"
                )
        if self.formats:
            choice_of(self.format, self.formats, "format")
        if self.rdf and self.schema:
            raise QueryError(
                f"{self.format} has the columns time and value",
                field="schema",
                fix="leave it out",
            )
        if self.schema:
            columns(self.schema)
        elif not self.rdf and self.needs_schema:
            raise QueryError(
                "is missing", field="schema", fix='write schema = "user string, at timestamp"'
            )
        self.check()

    @property
    def rdf(self) -> bool:
        """Whether the columns are those of :class:`topwater.spark.Rdf`."""
        return self.format in RDF

    @property
    def needs_schema(self) -> bool:
        """Whether the columns must be given."""
        return self.format != "parquet"

    @property
    def packages(self) -> tuple[str, ...]:
        """The Maven coordinates that the session needs."""
        return ()

    def check(self) -> None:
        """Check the settings that only this kind has."""
