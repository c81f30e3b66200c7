"""In which table of a job a setting stands, for those who looked for it in another."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from topwater import remote
from topwater.jobs.run_settings import LiveSettings, SparkSettings
from topwater.jobs.sinks import SETTINGS
from topwater.query import TopKQuery
from topwater.replica import Budget, RefreshSettings
from topwater.streams.kinds import KINDS
from topwater.validation import setting_names
from topwater.windows import Windows

_SOURCES = (remote.http, remote.sql, remote.redis)


@functools.cache
def tables() -> Mapping[str, tuple[str, ...]]:
    """The settings of each table of a job, those of all kinds."""
    streams = [name for kind in KINDS.values() for name in setting_names(kind)]
    sources = [name for kind in _SOURCES for name in setting_names(kind)]
    return {
        # A job has one remote value, whose budget stands with it.
        "query": tuple(name for name in setting_names(TopKQuery) if name != "budget"),
        "query.refresh": tuple(setting_names(RefreshSettings)),
        "query.refresh.budget": tuple(setting_names(Budget)),
        "query.window": tuple(setting_names(Windows)),
        "stream": ("kind", *dict.fromkeys(streams)),
        "source": ("kind", *dict.fromkeys(sources)),
        "sink": SETTINGS,
        "spark": tuple(setting_names(SparkSettings)),
        "live": tuple(setting_names(LiveSettings)),
    }


def place_of(name: str, table: str) -> str:
    """Where a setting that a table lacks belongs: ``"query.refresh.budget"``; empty if nowhere.

    Tables inside that table come first. One that the table has for another kind stays there.

    Examples
    --------
    >>> place_of("budget", "query"), place_of("shards", "query"), place_of("colour", "query")
    ('query.refresh.budget', 'spark.shards', '')
    """
    if name in tables().get(table, ()):
        return ""
    found = [other for other, names in tables().items() if name in names and other != table]
    found.sort(key=lambda other: not other.startswith(f"{table}."))
    return f"{found[0]}.{name}" if found else ""
