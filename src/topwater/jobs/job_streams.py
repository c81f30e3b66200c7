"""The streams of a job: settings of :mod:`topwater.streams`, and what a query in RSP-QL adds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topwater.errors import QueryError
from topwater.jobs.job_file import Written
from topwater.jobs.job_text import Place
from topwater.jobs.sinks import Sink
from topwater.streams import StreamSettings, stream_settings
from topwater.streams.kinds import KINDS
from topwater.streams.schema import columns
from topwater.streams.setting_tables import kind_of
from topwater.validation import path_of, require_known
from topwater.validation.addresses import path_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS = {".nt": "ntriples", ".nq": "nquads", ".jsonl": "jsonld"}
"""How lines are written, by the ending of a file."""

_MAPPED = ("subject", "predicates", "time", "namespace", "iris")


@dataclass(frozen=True, slots=True)
class JobStream:
    """A stream, and how its rows are triples, if a query in RSP-QL reads rows.

    Attributes
    ----------
    settings
        Where events come from.
    mapped
        The settings of :class:`topwater.spark.Mapped`.
    """

    settings: StreamSettings
    mapped: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, str]:
        """The columns and their types, as far as they are known before Spark starts."""
        told = self.settings
        if told.rdf:
            return {"time": "timestamp", "value": "string"}
        if not told.schema:
            return {}
        given = {"topic": "string", "arrived": "timestamp"}
        added = {getattr(told, f"{name}_column", ""): kind for name, kind in given.items()}
        return columns(told.schema) | {name: kind for name, kind in added.items() if name}

    def open(self, spark: SparkSession, *, once: bool) -> DataFrame:
        """The rows: a table if it is read once."""
        from topwater.spark import stream

        return stream(spark, self.settings, once=once)

    def open_rdf(self, spark: SparkSession, *, once: bool) -> Any:
        """What :func:`topwater.spark.rspql` takes."""
        from topwater.spark import Mapped, Rdf

        rows = self.open(spark, once=once)
        if self.settings.rdf:
            return Rdf(rows, format=self.settings.format)  # type: ignore[arg-type]
        return Mapped(rows, **self.mapped)


def stream_of(
    written: Written, place: Place, given: Any, sink: Sink, *, rdf: bool = False
) -> JobStream:
    """The settings of a stream, checked.

    Parameters
    ----------
    written, place
        The file, and where in it they stand.
    given
        The table.
    sink
        What is kept on the way is kept next to its checkpoint.
    rdf
        Whether a query in RSP-QL reads it.
    """
    if not isinstance(given, Mapping):
        raise written.error("must be a table", place, 'write kind = "files", path = "folder"')
    told = dict(given)
    if (kind := kind_of(told)) is not None:
        told["kind"] = kind
    with written.blamed(*place):
        mapped = _mapped(told.pop("mapped", None)) if rdf else {}
        if rdf:
            told = _with_format(told, written.base)
    known = _names(told.get("kind"))
    if known:
        written.require_known(place, told, ["kind", *known])
    if "spool" in known and "spool" not in told and sink.checkpoint:
        # Of several streams, each has its own.
        told["spool"] = "-".join([sink.checkpoint, "spool", *(_plain(n) for n in place[1:])])
    with written.blamed(*place):
        settings = stream_settings(told, written.base, where=".".join(place))
        if rdf and not settings.rdf and not mapped:
            raise QueryError(
                f"{settings.format} is not RDF, and nothing says what its columns mean",
                field="mapped",
                fix='write mapped = {subject = "user", predicates = {":says" = "text"}}',
            )
    return JobStream(settings, mapped)


def _names(kind: Any) -> list[str]:
    """The settings of a kind; none if there is no such kind."""
    return [each.name for each in fields(KINDS[kind])] if kind in [*KINDS] else []


def _plain(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_")


def _mapped(given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not {"subject", "predicates"} <= set(given):
        raise QueryError(
            "must name the subject and the predicates",
            field="mapped",
            fix='write mapped = {subject = "user", predicates = {":says" = "text"}}',
        )
    require_known(given, _MAPPED, "mapped")
    return dict(given)


def _with_format(told: dict[str, Any], base: Path) -> dict[str, Any]:
    """Files of RDF need only say where they are: their ending says the rest."""
    path = told.get("path")
    kind = told.setdefault("kind", "files")
    if "format" in told or kind not in ("files", "replay") or not isinstance(path, str):
        return told
    ending = _ending(base / path)
    names = {"pattern": f"*{ending}"} if (base / path).is_dir() else {}
    return {"format": FORMATS[ending], **names, **told}


def _ending(place: Path) -> str:
    """The ending that says how lines are written."""
    path_of(str(place), "path")
    with path_errors(place, "path"):
        names = [place] if place.is_file() else sorted(place.iterdir())
    found = {each.suffix for each in names if each.suffix in FORMATS}
    if len(found) != 1:
        kinds = ", ".join(f"*{each}" for each in FORMATS)
        raise QueryError(
            f"{place} has files of {len(found)} kinds that can be read",
            field="path",
            fix=f"give a folder with files of one kind: {kinds}; or say format and pattern",
        )
    return found.pop()
