"""Metrics as Prometheus reads them, for its node exporter's textfile collector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from prometheus_client import CollectorRegistry, generate_latest, write_to_textfile
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

COUNTERS = {
    "windows": "answers given",
    "events": "events seen",
    "late": "events too late for one of their windows",
    "before_start": "events before the first window",
    "bad_key": "rows without a usable key",
    "bad_time": "rows without a usable time",
    "bad_score": "rows or keys without a usable score",
    "skipped_windows": "empty windows that were not answered",
    "skipped_files": "files that could not be read",
    "forgotten": "keys that replicas forgot, to stay within their limits",
    "fetched": "remote values asked for",
    "failed": "remote values that did not come",
    "problems": "remote values that did not come or can't be used, by why",
    "bad_values": "remote values that are not a usable number",
    "missed": "answers below the accuracy asked for",
    "nothing_usable": "answers for which the source gave no usable value",
    "out_of_reach": "answers for which a set-point's look-ups were spent, and did not suffice",
    "doubtful": "answers whose estimates contradict the audit",
    "results": "rows of standing queries",
    "changes": "changes of standing queries asked for",
    "bad_changes": "changes of standing queries refused",
    "rows": "rows that Spark read",
    "state_written": "bytes of state written",
    "state_came": "bytes of reduced events that came to the shards",
    "state_kept": "shards that found their monitor in the worker",
    "state_caught_up": "shards that found an older one, and what it had missed",
    "state_rebuilt": "shards whose monitor was built from the state",
}
"""Summed since the watch began; each becomes ``topwater_<name>_total``."""

GAUGES = {
    "batch": "number of the last micro-batch",
    "candidates": "most items remembered after an answer",
    "queries": "standing queries",
    "references": "objects that standing queries refer to",
    "precision": "estimated precision at k, mean of the last answers",
    "ndcg": "estimated nDCG at k, mean of the last answers",
    "audited": "precision at k by look-ups drawn at random, mean of the last answers",
    "state_bytes": "size of the state of all shards",
    "state_memory": "memory of the state store",
    "batch_ms": "duration of the last micro-batch",
    "closing_ms": "duration of answering the windows of the last micro-batch",
    "rows_per_second": "rows processed a second in the last micro-batch",
}
"""As of the last micro-batch that reported them; each becomes ``topwater_<name>``."""

_UNITS = {
    "state_memory": ("state_memory_bytes", 1.0),
    "batch_ms": ("batch_seconds", 0.001),
    "closing_ms": ("closing_seconds", 0.001),
}
"""Prometheus wants base units, named: what such a figure is called there, and its factor."""

Labels: TypeAlias = tuple[tuple[str, str], ...]


class Exposition(Collector):
    """Sums and last values, per query, and per ranking of a query that has several.

    Examples
    --------
    >>> exposition = Exposition()
    >>> for _ in range(2):
    ...     exposition.add("bids", "7f", {"events": 5, "precision": None})
    >>> print(exposition.text(), end="")
    # HELP topwater_events_total events seen
    # TYPE topwater_events_total counter
    topwater_events_total{id="7f",query="bids"} 10.0
    """

    def __init__(self) -> None:
        self._sums: dict[str, Counter[Labels]] = {}
        self._last: dict[str, dict[Labels, float]] = {}
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def add(
        self, query: str, identifier: str, figures: Mapping[str, Any], ranking: str = ""
    ) -> None:
        """Take in what a micro-batch did."""
        whose: Labels = (("query", query), ("id", identifier))
        if ranking:  # a label without a value is no label
            whose += (("ranking", ranking),)
        for name in COUNTERS:
            if name in figures and name != "problems":
                self._sums.setdefault(name, Counter())[whose] += figures[name]
        for problem, keys in figures.get("problems", {}).items():
            self._sums.setdefault("problems", Counter())[*whose, ("problem", problem)] += keys
        for name in GAUGES:
            if figures.get(name) is not None:
                self._last.setdefault(name, {})[whose] = figures[name]

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """All of it, for the registry."""
        for name in filter(self._sums.__contains__, COUNTERS):
            family = CounterMetricFamily(f"topwater_{name}", COUNTERS[name])
            for whose, total in self._sums[name].items():
                family.add_sample(f"topwater_{name}_total", dict(whose), total)
            yield family
        for name in filter(self._last.__contains__, GAUGES):
            exposed, factor = _UNITS.get(name, (name, 1.0))
            gauge = GaugeMetricFamily(f"topwater_{exposed}", GAUGES[name])
            for whose, value in self._last[name].items():
                gauge.add_sample(f"topwater_{exposed}", dict(whose), value * factor)
            yield gauge

    def text(self) -> str:
        """All of it, as it is written."""
        return generate_latest(self._registry).decode()

    def write(self, path: Path) -> None:
        """Replace a file as a whole: a reader sees the old text or the new one."""
        write_to_textfile(str(path), self._registry)
