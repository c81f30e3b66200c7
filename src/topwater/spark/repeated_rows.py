"""Rows in which each item repeats what is said of its window: what RSP-QL shows is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from topwater.query.keyed_query import forms_of
from topwater.spark.extra_columns import Extras
from topwater.spark.key_expressions import key_outside
from topwater.spark.packed_rows import ANSWER, CELLS, COUNTS, FRESHNESS, TOLD

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from topwater.query import TopKQuery

_SAID = "said"
_OF_SEVERAL = ("spent", "left")


def repeated(rows: DataFrame, query: TopKQuery, extras: Extras) -> DataFrame:
    """One row per window and rank; a window without items gives one without rank and key."""
    lists = [F.col(name).alias(name) for name in CELLS]
    if extras:
        lists.append(extras.cells().alias(_SAID))
    flat = rows.filter(F.col("kind") == ANSWER).select(
        "window_start",
        "window_end",
        "exact",
        *(name for name in FRESHNESS if name in rows.columns),
        TOLD,
        F.posexplode_outer(F.arrays_zip(*lists)),
    )
    told, several = F.col(TOLD), bool(extras.remotes)
    fresh = [F.col(name) if name in rows.columns else told[name].alias(name) for name in FRESHNESS]
    shown: list[Column] = [
        F.timestamp_millis("window_start").alias("window_start"),
        F.timestamp_millis("window_end").alias("window_end"),
        (F.col("pos") + 1).alias("rank"),
        _key(query).alias("key"),
        F.col("col.score"),
        F.timestamp_millis("col.time").alias("time"),
        *(F.col(f"col.{name}") for name in ("values", "remote", "age", "confidence", "assumed")),
        *(extras.of_row(F.col("col")[_SAID]) if extras else ()),
        F.col("exact"),
        told["candidates"].alias("candidates"),
        *fresh,
        *(told[name].alias(name) for name in (*COUNTS, "problems", "looked_up")),
        *(told[name].alias(name) for name in _OF_SEVERAL if several),
        told["tuned"].alias("tuned"),
    ]
    return flat.select(*shown)


def _key(query: TopKQuery) -> Column:
    """What binds the variable that is ranked: always one column."""
    form, _ = forms_of(query)
    inside = F.col("col.key")
    return inside if form is None else key_outside(form, inside)[0]
