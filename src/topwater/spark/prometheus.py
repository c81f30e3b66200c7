"""Metrics by Prometheus' conventions: what is exposed of each query, and under which names."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

from prometheus_client import CollectorRegistry, generate_latest, write_to_textfile
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

COUNTERS = {
    "windows": ("windows", "answers given"),
    "events": ("events", "events seen"),
    "late": ("late_events", "events too late for one of their windows"),
    "before_start": ("events_before_start", "events before the first window"),
    "bad_key": ("bad_key_rows", "rows without a usable key"),
    "bad_time": ("bad_time_rows", "rows without a usable time"),
    "bad_score": ("bad_score_rows", "rows or keys without a usable score"),
    "skipped_windows": ("skipped_windows", "empty windows that were not answered"),
    "skipped_files": ("skipped_files", "files that could not be read"),
    "forgotten": ("forgotten_keys", "keys that replicas forgot, to stay within their limits"),
    "ranked": ("ranked_rows", "rows of answers"),
    "known": ("known_rows", "rows of answers whose remote value was known when they were made"),
    "fetched": ("look_ups", "remote values asked for"),
    "failed": ("failed_look_ups", "remote values that did not come"),
    "bad_values": ("unusable_values", "remote values that are not a usable number"),
    "problems": ("look_up_problems", "remote values that did not come or can't be used, by why"),
    "cost": ("look_up_cost", "what look-ups cost, in the unit of the budget"),
    "missed": ("missed_windows", "answers below the accuracy asked for"),
    "nothing_usable": ("nothing_usable_windows", "answers without any usable value of the source"),
    "out_of_reach": ("out_of_reach_windows", "answers for which a set-point's look-ups fell short"),
    "doubtful": ("doubtful_windows", "answers whose estimates contradict the audit"),
    "results": ("results", "rows of standing queries"),
    "changes": ("changes", "changes of standing queries asked for"),
    "bad_changes": ("refused_changes", "changes of standing queries refused"),
    "rows": ("rows", "rows that Spark read"),
    "state_written": ("state_written_bytes", "bytes of state written"),
    "state_came": ("state_received_bytes", "bytes of reduced events that came to the shards"),
    "state_kept": ("monitors_kept", "shards that found their monitor in the worker"),
    "state_caught_up": ("monitors_caught_up", "shards whose monitor took in what it had missed"),
    "state_rebuilt": ("monitors_rebuilt", "shards whose monitor was built from the state"),
}
"""Summed since the watch began; each becomes ``topwater_<name>_total``."""

GAUGES = {
    "batch": ("batch", "number of the last micro-batch", 1.0),
    "candidates": ("candidates", "most items remembered after an answer", 1.0),
    "queries": ("standing_queries", "standing queries", 1.0),
    "references": ("references", "objects that standing queries refer to", 1.0),
    "precision": ("precision", "estimated precision at k, mean of the last answers", 1.0),
    "ndcg": ("ndcg", "estimated nDCG at k, mean of the last answers", 1.0),
    "audited": ("audited_precision", "precision at k by look-ups drawn at random", 1.0),
    "left": ("quota_left", "what is left of a quota, in its unit", 1.0),
    "state_bytes": ("state_bytes", "size of the state of all shards", 1.0),
    "state_memory": ("state_memory_bytes", "memory of the state store", 1.0),
    "value_age_ms": ("value_age_seconds", "age of the oldest remote value in an answer", 0.001),
    "window_end": (
        "window_end_timestamp_seconds",
        "end of the last window that was answered, in seconds since 1970",
        0.001,
    ),
}
"""As of the last micro-batch that reported them; with the factor that makes them base units."""

HISTOGRAMS = {
    "batch_ms": ("batch_duration_seconds", "how long micro-batches took"),
    "closing_ms": ("closing_duration_seconds", "how long the slowest shard took to answer windows"),
    "delay_ms": ("answer_delay_seconds", "how long after its end a window's answer was there"),
}
BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0)
"""Of the histograms' buckets, in seconds."""

_LABELS = {
    "fetched": ("source", "asked"),
    "failed": ("source", "unanswered"),
    "problems": ("problem", "problems"),
    "left": ("quota", "left"),
}
"""What is exposed by one label more, and which figure of a micro-batch has the parts."""

Labels: TypeAlias = tuple[str, ...]


class Durations:
    """How many of some durations were below each bound, and their sum."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._sum += seconds

    def add_to(self, family: HistogramMetricFamily, labels: dict[str, str]) -> None:
        """Put them into a metric, each bucket with all that is in those below."""
        total = 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self._counts, strict=True):
            total += count
            family.add_sample(f"{family.name}_bucket", labels | {"le": bound}, float(total))
        family.add_sample(f"{family.name}_count", labels, float(total))
        family.add_sample(f"{family.name}_sum", labels, self._sum)


class Exposition(Collector):
    """Sums, last values and distributions, per query, and per ranking of one that has several.

    Its methods may be called from any thread.

    Examples
    --------
    >>> exposition = Exposition()
    >>> for _ in range(2):
    ...     exposition.add("bids", "7f", {"late": 5, "precision": None})
    >>> print(exposition.text().partition("# HELP topwater_late_events_total")[2], end="")
     events too late for one of their windows
    # TYPE topwater_late_events_total counter
    topwater_late_events_total{id="7f",query="bids"} 10.0
    """

    def __init__(self) -> None:
        self._sums: dict[str, dict[Labels, float]] = {}
        self._last: dict[str, dict[Labels, float]] = {}
        self._durations: dict[str, dict[Labels, Durations]] = {}
        self._running: dict[Labels, float] = {}
        self._failures: Counter[Labels] = Counter()
        self._seen: dict[Labels, float] = {}
        self._lock = threading.Lock()
        self._registry = CollectorRegistry()
        self._registry.register(self)

    @property
    def registry(self) -> CollectorRegistry:
        """What a server of ``prometheus_client`` reads."""
        return self._registry

    def add(
        self, query: str, identifier: str, figures: Mapping[str, Any], ranking: str = ""
    ) -> None:
        """Take in what a micro-batch did."""
        whose = (query, identifier, ranking)
        with self._lock:
            self._running[query, identifier] = 1.0
            self._failures[query, identifier] += 0  # a counter that begins at 1 has no increase
            for name in COUNTERS:
                for labels, count in _parts(name, whose, figures):
                    sums = self._sums.setdefault(name, {})
                    sums[labels] = sums.get(labels, 0.0) + count
            for name in GAUGES:
                for labels, value in _parts(name, whose, figures):
                    self._last.setdefault(name, {})[labels] = value
            for name in HISTOGRAMS:
                if figures.get(name) is not None and _happened(name, figures):
                    each = self._durations.setdefault(name, {}).setdefault(whose, Durations())
                    each.add(figures[name] / 1_000)

    def see(self, query: str, identifier: str, at: float) -> None:
        """Note that a query gave a sign of life, in seconds since 1970."""
        with self._lock:
            self._seen[query, identifier] = at

    def end(self, query: str, identifier: str, *, failed: bool) -> None:
        """Note that a query ended."""
        with self._lock:
            self._running[query, identifier] = 0.0
            self._failures[query, identifier] += int(failed)

    def collect(self) -> Iterator[Metric]:
        """All of it, for the registry."""
        with self._lock:
            yield from [*self._lives(), *self._counters(), *self._gauges(), *self._histograms()]

    def _lives(self) -> Iterator[Metric]:
        yield InfoMetricFamily("topwater", "the version", {"version": version("topwater")})
        about = {
            "running": ("whether a query runs: 0 once it has ended", self._running),
            "last_seen_timestamp_seconds": ("when a query last gave a sign of life", self._seen),
        }
        for name, (words, values) in about.items():
            if values:
                yield _filled(GaugeMetricFamily(f"topwater_{name}", words), _QUERY, values)
        if self._failures:
            family = CounterMetricFamily("topwater_failures", "ends of a query by an error")
            yield _filled(family, _QUERY, self._failures)

    def _counters(self) -> Iterator[Metric]:
        for name in filter(self._sums.__contains__, COUNTERS):
            exposed, words = COUNTERS[name]
            family = CounterMetricFamily(f"topwater_{exposed}", words)
            yield _filled(family, _label_names(name), self._sums[name])

    def _gauges(self) -> Iterator[Metric]:
        for name in filter(self._last.__contains__, GAUGES):
            exposed, words, factor = GAUGES[name]
            family = GaugeMetricFamily(f"topwater_{exposed}", words)
            yield _filled(family, _label_names(name), self._last[name], factor)

    def _histograms(self) -> Iterator[Metric]:
        for name in filter(self._durations.__contains__, HISTOGRAMS):
            exposed, words = HISTOGRAMS[name]
            family = HistogramMetricFamily(f"topwater_{exposed}", words)
            for whose, each in self._durations[name].items():
                each.add_to(family, _labelled(_WHOSE, whose))
            yield family

    def text(self) -> str:
        """All of it, as it is written."""
        return generate_latest(self._registry).decode()

    def write(self, path: Path) -> None:
        """Replace a file as a whole: a reader sees the old text or the new one."""
        write_to_textfile(str(path), self._registry)


_QUERY = ("query", "id")
_WHOSE = (*_QUERY, "ranking")


def _label_names(name: str) -> Labels:
    return (*_WHOSE, _LABELS[name][0]) if name in _LABELS else _WHOSE


def _parts(name: str, whose: Labels, figures: Mapping[str, Any]) -> list[tuple[Labels, float]]:
    """A figure with its labels; by source where there are several, else that of the only one."""
    if name in _LABELS:
        parts = figures.get(_LABELS[name][1])
        if parts is not None:
            return [((*whose, part), value) for part, value in parts.items()]
        whose = (*whose, "")
    value = figures.get(name)
    return [] if value is None else [(whose, value)]


def _happened(name: str, figures: Mapping[str, Any]) -> bool:
    """A micro-batch that ends no window has closed none in no time."""
    return name != "closing_ms" or bool(figures.get("windows"))


def _filled(
    family: CounterMetricFamily | GaugeMetricFamily,
    names: Labels,
    values: Mapping[Labels, float],
    factor: float = 1.0,
) -> Metric:
    total = "_total" if isinstance(family, CounterMetricFamily) else ""
    for labels, value in values.items():
        family.add_sample(f"{family.name}{total}", _labelled(names, labels), value * factor)
    return family


def _labelled(names: Labels, labels: Labels) -> dict[str, str]:
    """Labels by name; a query with one ranking does not name it."""
    found = dict(zip(names, labels, strict=True))
    return (
        found if found.get("ranking", "-") else {n: v for n, v in found.items() if n != "ranking"}
    )
