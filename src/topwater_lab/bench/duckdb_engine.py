"""The job in DuckDB's SQL."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from topwater_lab.bench.peer_job import (
    Answers,
    Form,
    Job,
    by_window,
    columns,
    each_window,
    skimmed,
    tree,
)


class DuckDB:
    """DuckDB on all cores, over tables of its own in memory.

    Panes: both maxima of k in one aggregation, or the k-th score per pane and a join with it.
    Windows: each row spread over its windows and aggregated, one top-k per window, or a framed
    aggregate, which DuckDB computes with a segment tree.
    """

    forms = (
        Form("pairs+spread", each_window),
        Form("threshold+spread", each_window),
        Form("threshold+limits", skimmed, most_slides=31),
        Form("threshold+frames", tree),
    )

    def __init__(self) -> None:
        import duckdb

        self.threads = os.cpu_count() or 1
        self._connection = duckdb.connect(config={"threads": self.threads})
        self._connection.execute("SET preserve_insertion_order = false")
        self._job: Job | None = None

    def load(self, job: Job) -> None:
        """Copy both parts into tables of DuckDB's own, which it scans faster than ours."""
        import pyarrow as pa

        self._job = job
        for name, part in (("held", job.held), ("fresh", job.fresh)):
            self._connection.register("loading", pa.table(columns(part)))
            self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS FROM loading")

    def query(self, form: str) -> Any:
        """Run one query, to an Arrow table."""
        return self._connection.sql(self.sql(form)).to_arrow_table()

    def sql(self, form: str) -> str:
        """The query as text."""
        if self._job is None:
            raise ValueError("nothing is loaded")
        panes, windows = form.split("+")
        point, slides = self._job.point, self._job.slides
        if point.k >= point.step:
            panes = "whole"
        best = f"WITH best AS MATERIALIZED (FROM held UNION ALL {_REDUCTIONS[panes]})"
        parts = range(slides) if windows == "limits" else (0,)
        back = point.panes - 1
        merges = (
            _MERGES[windows].format(k=point.k, back=back, last=slides - 1, w=w, end=w + back)
            for w in parts
        )
        return best.format(k=point.k) + " UNION ALL ".join(merges)

    def answers(self, result: Any) -> Answers:
        """Lists per window, or rows, as columns."""
        window = result["w"].to_numpy()
        score, key = result["score"].combine_chunks(), result["key"].combine_chunks()
        if hasattr(score, "flatten") and hasattr(score, "offsets"):
            window = np.repeat(window, np.diff(score.offsets.to_numpy()))
            score, key = score.flatten(), key.flatten()
        return by_window(window, score.to_numpy(), key.to_numpy())


_REDUCTIONS = {
    "whole": "SELECT pane, score, key FROM fresh",
    "pairs": """
        SELECT pane, unnest(max(score, {k})) AS score, unnest(arg_max(key, score, {k})) AS key
        FROM fresh GROUP BY pane""",
    "threshold": """
        SELECT pane, score, key FROM fresh JOIN (
            SELECT pane, list_min(max(score, {k})) AS lowest FROM fresh GROUP BY pane
        ) USING (pane) WHERE score >= lowest""",
}

_MERGES = {
    "limits": """
        (SELECT {w} AS w, score, key FROM best WHERE pane BETWEEN {w} AND {end}
        ORDER BY score DESC LIMIT {k})""",
    "spread": """
        SELECT w, max(score, {k}) AS score, arg_max(key, score, {k}) AS key FROM (
            SELECT unnest(range(greatest(0, pane - {back}), least({last}, pane) + 1)) AS w,
                score, key
            FROM best
        ) GROUP BY w""",
    "frames": """
        SELECT pane - {back} AS w, any_value(scores) AS score, any_value(keys) AS key FROM (
            SELECT pane, max(score, {k}) OVER frame AS scores,
                arg_max(key, score, {k}) OVER frame AS keys
            FROM best
            WINDOW frame AS (ORDER BY pane RANGE BETWEEN {back} PRECEDING AND CURRENT ROW)
        ) WHERE pane >= {back} GROUP BY pane""",
}
