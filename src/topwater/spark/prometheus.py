"""Metrics in the text form that Prometheus reads, for its node exporter's textfile collector."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

COUNTERS = {
    "windows": "answers given",
    "events": "events seen",
    "late": "events too late for one of their windows",
    "before_start": "events before the first window",
    "bad_key": "rows without a usable key",
    "bad_time": "rows without a usable time",
    "bad_score": "rows or keys without a usable score",
    "skipped_windows": "empty windows that were not answered",
    "fetched": "remote values asked for",
    "failed": "remote values that did not come",
    "problems": "remote values that did not come, by what went wrong",
    "bad_values": "remote values that are no usable number",
    "missed": "answers below the accuracy asked for",
    "results": "rows of standing queries",
    "changes": "changes of standing queries asked for",
    "bad_changes": "changes of standing queries refused",
    "rows": "rows that Spark read",
}
"""Summed since the watch began; each becomes ``topwater_<name>_total``."""

GAUGES = {
    "batch": "number of the last micro-batch",
    "candidates": "most items remembered after an answer",
    "queries": "standing queries",
    "references": "objects that standing queries refer to",
    "precision": "estimated precision at k, mean of the last answers",
    "ndcg": "estimated nDCG at k, mean of the last answers",
    "state_bytes": "size of the packed state of all shards",
    "state_memory": "memory of the state store in bytes",
    "batch_ms": "duration of the last micro-batch in milliseconds",
    "rows_per_second": "rows processed a second in the last micro-batch",
}
"""As of the last micro-batch that told them; each becomes ``topwater_<name>``."""


class Exposition:
    """Sums and last values, per query.

    Examples
    --------
    >>> exposition = Exposition()
    >>> for _ in range(2):
    ...     exposition.add("bids", "7f", {"events": 5, "precision": None})
    >>> print(exposition.text(), end="")
    # HELP topwater_events_total events seen
    # TYPE topwater_events_total counter
    topwater_events_total{query="bids",id="7f"} 10
    """

    def __init__(self) -> None:
        self._found: dict[str, dict[str, float]] = {}

    def add(self, query: str, identifier: str, figures: Mapping[str, Any]) -> None:
        """Take in what a micro-batch did."""
        whose = f'query="{_escaped(query)}",id="{_escaped(identifier)}"'
        labels = f"{{{whose}}}"
        for name in COUNTERS:
            if name in figures and name != "problems":
                series = self._found.setdefault(name, {})
                series[labels] = series.get(labels, 0) + figures[name]
        for problem, keys in figures.get("problems", {}).items():
            series = self._found.setdefault("problems", {})
            at = f'{{{whose},problem="{_escaped(problem)}"}}'
            series[at] = series.get(at, 0) + keys
        for name in GAUGES:
            if figures.get(name) is not None:
                self._found.setdefault(name, {})[labels] = figures[name]

    def text(self) -> str:
        """All of it, in Prometheus' form."""
        lines: list[str] = []
        for names, kind, ending in ((COUNTERS, "counter", "_total"), (GAUGES, "gauge", "")):
            for name, told in names.items():
                if name in self._found:
                    full = f"topwater_{name}{ending}"
                    lines += [f"# HELP {full} {told}", f"# TYPE {full} {kind}"]
                    lines += [f"{full}{at} {value}" for at, value in self._found[name].items()]
        return "".join(f"{line}\n" for line in lines)

    def write(self, path: Path) -> None:
        """Replace a file as a whole: whoever reads it sees the old text or the new one."""
        # The collector reads every file that ends in .prom.
        part = path.with_name(f".{path.name}.{os.getpid()}")
        part.write_text(self.text(), encoding="utf-8")
        part.replace(path)


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
