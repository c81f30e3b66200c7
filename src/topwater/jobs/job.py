"""A job: a query, its streams, its remote side, and where the answers go; all checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topwater.jobs.job_file import Written
from topwater.jobs.job_streams import JobStream
from topwater.jobs.remote_side import is_example
from topwater.jobs.run_settings import LiveSettings, SparkSettings, settings_of
from topwater.jobs.sinks import Sink
from topwater.query import TopKQuery

if TYPE_CHECKING:
    from topwater.rspql import Plan

ONE = ""
"""The name of the only stream, and of the only source, of a query that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What ``topwater run`` runs.

    Attributes
    ----------
    written
        What the file says.
    query
        What is answered.
    plan
        Of a query in RSP-QL.
    files
        Static data, by name.
    streams, services
        By name; a query that is not in RSP-QL has one stream, named ``""``, and so is the only
        source where it has no name.
    sink, spark, live
        Where answers go, and how it runs.
    """

    written: Written
    query: TopKQuery
    plan: Plan | None
    streams: Mapping[str, JobStream]
    services: Mapping[str, Any] = field(repr=False)
    sink: Sink
    spark: SparkSettings
    live: LiveSettings
    files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """That of its file, without the ending."""
        return self.written.path.stem

    @property
    def packages(self) -> tuple[str, ...]:
        """The Maven coordinates that the session needs, each once."""
        streams = [name for each in self.streams.values() for name in each.settings.packages]
        return tuple(dict.fromkeys([*self.spark.packages, *streams, *self.sink.packages]))

    @property
    def needs_example(self) -> bool:
        """Whether the example service is asked."""
        return any(is_example(each) for each in self.services.values())

    @property
    def wants_live(self) -> bool:
        """Whether the job itself asks for a live page."""
        return "live" in self.written.said


def sink_of(written: Written) -> Sink:
    """The table ``[sink]``."""
    with written.blamed("sink"):
        return Sink.of(written.table("sink"), written.base)


def job_of(
    written: Written,
    query: TopKQuery,
    plan: Plan | None,
    streams: Mapping[str, JobStream],
    services: Mapping[str, Any],
    sink: Sink,
) -> Job:
    """A job with the settings that all jobs have."""
    spark = settings_of(SparkSettings, written, "spark")
    if plan is not None and spark.late_rows:
        raise written.error(
            "a query in RSP-QL has no late rows", ("spark", "late_rows"), "leave it out"
        )
    if sink.give != "both" and plan is not None:
        raise written.error(
            "a query in RSP-QL has rows of one form", ("sink", "give"), "leave it out"
        )
    if sink.give != "both" and spark.late_rows:
        raise written.error(
            "what came too late is neither an item of a window nor a window",
            ("sink", "give"),
            'write give = "both", or leave late_rows out',
        )
    return Job(
        written=written,
        query=query,
        plan=plan,
        streams=streams,
        services=services,
        sink=sink,
        spark=spark,
        live=settings_of(LiveSettings, written, "live"),
    )
