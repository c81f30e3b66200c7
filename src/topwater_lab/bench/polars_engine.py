"""The job in Polars' expressions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from topwater_lab.bench.core_grid import Point
from topwater_lab.bench.peer_job import (
    Answers,
    Form,
    Job,
    all_windows,
    by_window,
    columns,
    each_window,
    skimmed,
)


class Polars:
    """Polars on all cores.

    Panes: grouped by a column known to be sorted, or cut out one by one. Windows: the rows of a
    window cut out, as they lie together; a dynamic group-by; or each row spread over its windows.
    """

    forms = (
        Form("groups+slices", skimmed, most_slides=4_095),
        Form("slices+slices", skimmed, most_slides=255),
        Form("groups+dynamic", all_windows),
        Form("groups+spread", each_window),
    )

    def __init__(self) -> None:
        import polars

        self.threads = polars.thread_pool_size()
        self._job: Job | None = None
        self._held = self._fresh = polars.DataFrame()

    def load(self, job: Job) -> None:
        """Wrap the columns; nothing is copied but the panes' numbers."""
        import polars as pl

        self._job = job
        self._held, self._fresh = (
            pl.DataFrame(columns(part)).with_columns(pl.col("pane").set_sorted())
            for part in (job.held, job.fresh)
        )

    def query(self, form: str) -> Any:
        """Run one query, to a DataFrame."""
        import polars as pl

        if self._job is None:
            raise ValueError("nothing is loaded")
        panes, windows = form.split("+")
        best = self._fresh
        if self._job.point.k < self._job.point.step:
            best = self._grouped() if panes == "groups" else self._cut()
        merge = {"slices": self._slices, "dynamic": self._dynamic, "spread": self._spread}
        return merge[windows](pl.concat([self._held, best], rechunk=False))

    def answers(self, result: Any) -> Answers:
        """Structs per window, or rows, as columns."""
        if "best" in result.columns:
            result = result.explode("best").unnest("best")
        window, score, key = (result[name].to_numpy() for name in ("w", "score", "key"))
        return by_window(window, score, key)

    def _grouped(self) -> Any:
        import polars as pl

        best = pl.struct("score", "key").top_k(self._k).alias("best")
        # Sorting the few groups is far cheaper than having the order maintained.
        groups = self._fresh.lazy().group_by("pane").agg(best).sort("pane")
        return groups.explode("best").unnest("best").collect()

    def _cut(self) -> Any:
        import polars as pl

        step = len(self._fresh) // self._slides
        parts = (self._fresh.slice(start, step) for start in range(0, len(self._fresh), step))
        return pl.concat([part.top_k(self._k, by="score") for part in parts], rechunk=False)

    def _slices(self, best: Any) -> Any:
        import polars as pl

        best = best.rechunk()
        return pl.concat(list(self._sliced(best)), rechunk=False)

    def _sliced(self, best: Any) -> Iterator[Any]:
        import polars as pl

        point = self._point
        for w in range(self._slides):
            part = best.slice(w * point.per_pane, point.panes * point.per_pane)
            yield part.top_k(self._k, by="score").select(pl.lit(w).alias("w"), "score", "key")

    def _dynamic(self, best: Any) -> Any:
        import polars as pl

        groups = best.lazy().with_columns(pl.col("pane").set_sorted().cast(pl.Int64).alias("w"))
        windows = groups.group_by_dynamic("w", every="1i", period=f"{self._point.panes}i")
        tops = windows.agg(pl.struct("score", "key").top_k(self._k).alias("best"))
        return tops.filter((pl.col("w") >= 0) & (pl.col("w") < self._slides)).collect(
            engine="streaming"
        )

    def _spread(self, best: Any) -> Any:
        import polars as pl

        first = pl.max_horizontal(pl.lit(0), pl.col("pane") - (self._point.panes - 1))
        last = pl.min_horizontal(pl.lit(self._slides - 1), pl.col("pane"))
        rows = best.lazy().with_columns(pl.int_ranges(first, last + 1).alias("w")).explode("w")
        return (
            rows.group_by("w").agg(pl.struct("score", "key").top_k(self._k).alias("best")).collect()
        )

    @property
    def _loaded(self) -> Job:
        if self._job is None:
            raise ValueError("nothing is loaded")
        return self._job

    @property
    def _point(self) -> Point:
        return self._loaded.point

    @property
    def _k(self) -> int:
        return self._loaded.point.k

    @property
    def _slides(self) -> int:
        return self._loaded.slides
