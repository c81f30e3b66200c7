"""How a job runs: the table ``[spark]``, and the table ``[live]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from topwater.jobs.job_file import Written
from topwater.monitor.shards import require_buckets
from topwater.validation import (
    checked_call,
    flag_of,
    listening_of,
    mapping_of,
    millis,
    text_of,
    texts_of,
    whole_of,
)

T = TypeVar("T")


@checked_call()
@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSettings:
    """What Spark is told.

    Parameters
    ----------
    master
        Where it runs; all cores of this machine by default.
    shards
        How many state partitions share the work.
    idle
        How long after an event happened it may still come; a stream that falls silent then has
        its windows answered all the same.
    late_rows
        Whether what came too late goes to the sink as well.
    metrics
        Where metrics go: an address that Prometheus scrapes, as ``"http://127.0.0.1:9464"``; or
        a file, for its textfile collector if it ends in ``.prom``, else with one JSON object for
        each micro-batch.
    packages
        Maven coordinates of more that Spark needs.
    settings
        More of Spark's own settings.
    """

    master: str = ""
    shards: int = 1
    idle: str | int | None = None
    late_rows: bool = False
    metrics: str = ""
    packages: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        require_buckets(whole_of(self.shards, "shards", 1))
        flag_of(self.late_rows, "late_rows")
        if self.idle is not None:
            millis(self.idle, field="idle")
        for name in ("master", "metrics"):
            if getattr(self, name) != "":
                text_of(getattr(self, name), name)
        if self.metrics.startswith("http:"):
            listening_of(self.metrics, "metrics")
        if self.packages:
            texts_of(self.packages, "packages", 'write ["group:name:version"]')
        mapping_of(self.settings, "settings", 'write {"spark.executor.memory" = "2g"}')

    @property
    def conf(self) -> dict[str, str]:
        """Spark's own settings, as text."""
        return {name: str(value) for name, value in self.settings.items()}


@checked_call()
@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSettings:
    """The live page of a run.

    Parameters
    ----------
    port
        On 127.0.0.1; 0 for any that is free. A page that is open finds the next run by it.
    title
        What stands above; by default the name of the job.
    """

    port: int = 8787
    title: str = ""

    def __post_init__(self) -> None:
        whole_of(self.port, "port", 0, 65_535)
        if self.title != "":
            text_of(self.title, "title")


def settings_of(made: type[T], written: Written, table: str) -> T:
    """The settings in a table of a file."""
    given = written.table(table)
    written.require_known((table,), given, [each.name for each in fields(made)])  # type: ignore[arg-type]
    with written.blamed(table):
        plain: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in given.items()
        }
        return made(**plain)
