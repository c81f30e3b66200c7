"""A query in RSP-QL as a DataFrame.

::

    streams ──► match, in Arrow ──► topk ──► what the query shows ──► what is new, or gone
    (text or    (binding tables)             (variables or triples)   (ISTREAM, DSTREAM)
     columns)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql import DataFrame

from topwater.spark.topk import answer_frame
from topwater.validation import checked_call

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import Path

    from pyspark.sql import SparkSession

    from topwater.protocols import Source
    from topwater.rspql import Plan
    from topwater.rspql.rdf.event_format import Format


@checked_call()
@dataclass(frozen=True, slots=True)
class Rdf:
    """A stream of events written as RDF: each row has a time and a text.

    Parameters
    ----------
    events
        The stream.
    text, time
        The columns; the time is a timestamp, or milliseconds since 1970.
    format
        ``"ntriples"``: any number of triples. ``"nquads"``: the statements of a row that share a
        graph are an event of their own. ``"jsonld"``: one JSON document; a context that would
        have to be loaded from elsewhere makes it unreadable.
    """

    events: DataFrame
    text: str = "value"
    time: str = "time"
    format: Format = "ntriples"


@checked_call()
@dataclass(frozen=True, slots=True)
class Mapped:
    """A stream of rows, each an event: a subject, and a triple for each column that is not null.

    Parameters
    ----------
    events
        The stream.
    subject
        The column that names the subject.
    predicates
        The column of each predicate, by its IRI, or by its name with a prefix of the query.
    time
        The column with the time.
    namespace
        What stands before each subject to make it an IRI.
    iris
        Columns of text whose values are IRIs. All others are literals.
    """

    events: DataFrame
    subject: str
    predicates: Mapping[str, str]
    time: str = "time"
    namespace: str = ""
    iris: Collection[str] = ()


Stream: TypeAlias = DataFrame | Rdf | Mapped
Registered: TypeAlias = "str | Mapping[str, Any] | Source"


@checked_call()
def rspql(
    spark: SparkSession,
    text: str | Plan,
    *,
    streams: Mapping[str, Stream],
    services: Mapping[str, Registered] | None = None,
    allow: Iterable[str] = (),
    files: Mapping[str, str | Path] | None = None,
    shards: int = 1,
    idle: int | str | timedelta | None = None,
) -> DataFrame:
    """What a query in RSP-QL answers, as rows.

    Parameters
    ----------
    spark
        The session; see :func:`topwater.spark.settings`.
    text
        The query, or its plan.
    streams
        By the names that the query has for them, with its prefixes or in full: :class:`Rdf`,
        :class:`Mapped`, or a DataFrame with N-Triples in the column ``value`` and the time in
        the column ``time``.
    services
        By the names in ``SERVICE``: the address of a SPARQL endpoint, a mapping with that as
        ``"url"`` and settings of :func:`topwater.remote.sparql` (``rate``, ``headers``, …), or
        any source, whose keys are then the IRIs of the join variable. A mapping with the
        ``"kind"`` ``"http"`` or ``"sql"`` has settings of :func:`topwater.remote.source`, and
        asks by what follows its ``"namespace"`` in these IRIs.
    allow
        Names in ``SERVICE`` that are themselves addresses, and may be asked.
    files
        By the IRIs in ``FROM``: paths of files of RDF on this machine (``.ttl``, ``.nt`` or
        ``.rdf``), which are read when this is called and joined with each solution. No other file
        is read, and none is fetched.
    shards, idle
        As for :func:`topwater.spark.topk`.

    Returns
    -------
    DataFrame
        For ``SELECT`` a column for each variable: numbers, IRIs as they are, other terms as
        N-Triples writes them; and the columns of :func:`topwater.spark.topk` that say of the
        answer which window it is for, how fresh and how exact. For ``CONSTRUCT`` one row for each
        window, with lines of N-Triples in the column ``triples``. With ``ISTREAM`` only what was
        not in the window before, with ``DSTREAM`` what was in it and is gone.

    Raises
    ------
    QueryError
        If the query can't be read, a stream, a service or a file is not registered, or a column is
        missing or of the wrong type; before anything starts.
    """
    # Here, so that only those who use RSP-QL wait for its parser.
    from topwater.rspql.registration import data_of, plan_of, source_of
    from topwater.spark.rspql_output import shown_rows
    from topwater.spark.rspql_streams import bindings_of, opened
    from topwater.spark.rspql_windows import in_true_time, whole_windows

    plan, asked = plan_of(text, services, allow, files)
    source = source_of(plan, asked)
    data = data_of(plan, files)
    if plan.by_window:
        bindings = whole_windows(spark, plan, opened(spark, plan, streams), data, idle)
        idle = None
    else:
        bindings = bindings_of(spark, plan, streams, data)
    answers = answer_frame(
        bindings, plan.query(), source, shards=shards, idle=idle, origin=plan.origin
    )
    return shown_rows(in_true_time(answers, plan) if plan.by_window else answers, plan)
