"""Answers ↔ rows of a DataFrame.

Inside, one row stands for one window, with a list per column of the answer: Python makes few
objects, and Java turns the lists into rows.
"""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

from topwater.model import Answer, Counts, Freshness, LookUp, Window
from topwater.model import Row as AnswerRow
from topwater.monitor.grouped import GROUP
from topwater.monitor.shards import merge_for
from topwater.monitor.window_answer import ShardAnswer
from topwater.query.keyed_query import forms_of
from topwater.replica.offers import Offer
from topwater.scoring.aggregates import LABEL
from topwater.spark.extra_columns import (
    NO_EXTRAS,
    TEXTS,
    Extras,
    both_of,
    numbers_of,
    packed_extras,
    packed_late_texts,
    remotes_of,
    with_texts,
)
from topwater.spark.key_expressions import key_outside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import Column, DataFrame

    from topwater.model import Key, KeyForm
    from topwater.query import TopKQuery

COUNTS = [field.name for field in fields(Counts)]
FRESHNESS = [field.name for field in fields(Freshness)]
_FRESH_TYPES = dict.fromkeys(FRESHNESS, "bigint") | {
    "precision": "double",
    "ndcg": "double",
    "missed": "boolean",
    "nothing_usable": "boolean",
    "out_of_reach": "boolean",
    "audited": "double",
    "audited_low": "double",
    "audited_high": "double",
    "doubtful": "boolean",
    "noisy": "boolean",
}
_CELLS = {
    "key": "{key}",
    "score": "double",
    "time": "bigint",
    "values": "array<double>",
    "remote": "double",
    "age": "bigint",
    "confidence": "double",
    "assumed": "string",
}
_LOOK_UP = {"key": "{key}", "before": "double", "after": "double", "ok": "boolean"}
_SAID = "said"
ANSWER, LATE, FIGURES, NOTICES = "answer", "late", "figures", "notices"
"""Kinds of rows. Users never see figures, which are for the metrics, nor notices of changes, which
go from a shard to the stage behind all shards."""


def packed_schema(key_type: str, group_type: str) -> str:
    """The columns of the rows inside: one per window."""
    cells = ", ".join(
        f"`{name}` array<{kind.format(key=key_type)}>" for name, kind in _CELLS.items()
    )
    fresh = ", ".join(f"{name} {kind}" for name, kind in _FRESH_TYPES.items())
    counts = ", ".join(f"{name} bigint" for name in COUNTS)
    look_up = ",".join(f"{name}:{kind.format(key=key_type)}" for name, kind in _LOOK_UP.items())
    return (
        f"kind string, `group` {group_type}, window_start bigint, window_end bigint, {cells}, "
        f"exact boolean, candidates bigint, {fresh}, {counts}, problems map<string,bigint>, "
        f"looked_up array<struct<{look_up}>>, tuned array<string>, "
        "notices map<string,bigint>, figures map<string,bigint>, offer binary, extras string"
    )


def packed(answer: Answer, query: TopKQuery) -> dict[str, Any]:
    """An answer as one row of such columns."""
    several = query.joins is not None
    fresh = dict.fromkeys(FRESHNESS) if answer.freshness is None else asdict(answer.freshness)
    return {
        "kind": ANSWER,
        "group": answer.group,
        "window_start": answer.window.start,
        "window_end": answer.window.end,
        **{name: [getattr(row, name) for row in answer.rows] for name in _CELLS},
        "values": [
            numbers_of(row.values) if query.label_names else list(row.values) for row in answer.rows
        ],
        "exact": answer.exact,
        "candidates": answer.candidates,
        **fresh,
        **asdict(answer.counts),
        # Null and not empty, so that metrics gather only what there is.
        "problems": dict(answer.problems) or None,
        # Those of several sources have keys of different types.
        "looked_up": []
        if several
        else [{name: getattr(each, name) for name in _LOOK_UP} for each in answer.looked_up],
        "tuned": list(answer.tuned) or None,
        "notices": dict(answer.notices) or None,
        "figures": None,
        "offer": _offer_of(answer),
        "extras": packed_extras(answer, query),
    }


def _offer_of(answer: Answer) -> bytes | None:
    if not isinstance(answer, ShardAnswer) or answer.offer is None:
        return None
    return answer.offer.pack()


def packed_figures(figures: dict[str, int]) -> dict[str, Any]:
    """What is reported of a micro-batch, as one row of such columns."""
    return _nothing() | {"kind": FIGURES, "figures": figures}


def packed_notices(portion: bytes) -> dict[str, Any]:
    """Notices of changes on their way to the stage behind, as one row of such columns."""
    return _nothing() | {"kind": NOTICES, "offer": portion}


def _nothing() -> dict[str, Any]:
    others = ["kind", "group", "window_start", "window_end", "exact", "candidates", "problems"]
    more = ["looked_up", "tuned", "notices", "figures", "offer", "extras"]
    return dict.fromkeys([*others, *FRESHNESS, *COUNTS, *_CELLS, *more])


def packed_late(table: pa.Table, query: TopKQuery) -> Iterator[dict[str, Any]]:
    """Reduced rows that came too late, as one row of such columns for each group."""
    if query.group_by is None:
        yield _packed_late(table, query)
        return
    for group in pc.unique(table.column(GROUP)):
        mine = table.filter(pc.equal(table.column(GROUP), group))
        yield _packed_late(mine, query) | {"group": group.as_py()}


def _packed_late(table: pa.Table, query: TopKQuery) -> dict[str, Any]:
    rows = table.num_rows
    empty: dict[str, Any] = dict.fromkeys(
        ["group", "window_start", "window_end", "exact", "candidates"]
    )
    lists: dict[str, list[Any]] = {name: [None] * rows for name in _CELLS}
    lists["key"] = table.column("key").to_pylist()
    lists["time"] = table.column("time").to_pylist()
    if "score" in table.column_names:
        score = table.column("score")
        # Inside, larger always ranks higher.
        score = pc.negate(score) if query.score.order == "smallest" else score
        lists["score"] = score.to_pylist()
    columns = [_late_values(table, name, query) for name in query.names_taken]
    values = list(zip(*columns, strict=True)) or [()] * rows
    lists["values"] = [numbers_of(row) for row in values]
    return {
        **empty,
        "kind": LATE,
        **lists,
        **dict.fromkeys(FRESHNESS),
        **dict.fromkeys(COUNTS, 0),
        "problems": None,
        "looked_up": [],
        "tuned": None,
        "notices": None,
        "figures": None,
        "offer": None,
        "extras": packed_late_texts(values),
    }


def _late_values(table: pa.Table, name: str, query: TopKQuery) -> list[float | str | None]:
    """What the stream contributed to rows by one name: numbers, or texts."""
    if name in query.label_names and LABEL + name in table.column_names:
        labels: list[float | str | None] = table.column(LABEL + name).to_pylist()
        return labels
    numbers: list[float | str | None] = _aggregate_values(table, name).to_pylist()
    return numbers


def _aggregate_values(table: pa.Table, name: str) -> pa.ChunkedArray:
    """What a partial aggregate says; that of a mean is a sum and a number of events."""
    column = table.column(name)
    events = f"{name}#"
    return pc.divide(column, table.column(events)) if events in table.column_names else column


def unpacked(
    rows: DataFrame,
    query: TopKQuery,
    *,
    late: bool,
    notices: bool = False,
    extras: Extras = NO_EXTRAS,
) -> DataFrame:
    """The rows that users see: one per window and rank."""
    if extras:
        rows = rows.withColumn(_SAID, F.from_json("extras", extras.schema()))
    lists = [F.col(f"`{name}`").alias(name) for name in _CELLS]
    lists += [F.col(_SAID)["rows"].alias(_SAID)] if extras else []
    rest = [name for name in rows.columns if name not in _CELLS]
    flat = rows.select(
        *(F.col(f"`{name}`") for name in rest), F.posexplode_outer(F.arrays_zip(*lists))
    )
    answer = F.col("kind") == ANSWER
    key, group = forms_of(query)
    groups = {} if query.group_by is None else _named(group, F.col("`group`"), "group")
    keys = _named(key, F.col("col.key"), "key")
    shown: list[Column] = [
        *([F.col("kind")] if late else []),
        *groups.values(),
        F.timestamp_millis("window_start").alias("window_start"),
        F.timestamp_millis("window_end").alias("window_end"),
        F.when(answer, F.col("pos") + 1).alias("rank"),
        *(each for name, each in keys.items() if name not in groups),
        F.col("col.score"),
        F.timestamp_millis("col.time").alias("time"),
        *(F.col(f"col.{name}") for name in ("values", "remote", "age", "confidence", "assumed")),
        *(extras.of_row(F.col("col")[_SAID]) if extras else ()),
        *(F.col(name) for name in ("exact", "candidates", *FRESHNESS, *COUNTS)),
        F.coalesce("problems", F.create_map()).alias("problems"),
        (extras.look_ups(F.col(_SAID)) if extras.remotes else _look_ups(key)).alias("looked_up"),
        *(extras.of_window(F.col(_SAID)) if extras else ()),
        F.col("tuned"),
        *([F.coalesce("notices", F.create_map()).alias("notices")] if notices else []),
    ]
    return flat.select(*shown)


def _named(form: KeyForm | None, inside: Column, name: str) -> dict[str, Column]:
    """A key in one column by this name; or its columns, if there are several, by theirs."""
    if form is None:
        return {name: inside.alias(name)}
    found = key_outside(form, inside)
    if not form.composite:
        return {name: found[0].alias(name)}
    return dict(zip(form.names, found, strict=True))


def _look_ups(form: KeyForm | None) -> Column:
    """What was looked up; a key of several columns is a struct of them."""
    looked_up = F.col("looked_up")
    if form is None:
        return looked_up
    return F.transform(looked_up, lambda each: each.withField("key", _one(form, each["key"])))


def _one(form: KeyForm, inside: Column) -> Column:
    found = key_outside(form, inside)
    return F.struct(*found) if form.composite else found[0]


def answers_from(table: pa.Table, query: TopKQuery) -> list[Answer]:
    """The answers that rows of :func:`topwater.spark.topk` stand for, in the order of windows.

    Parameters
    ----------
    table
        Rows of whole windows, for instance ``spark.read.parquet(…).toArrow()``, or
        ``batch.toArrow()`` inside ``foreachBatch``.
    query
        The query that was answered.
    """
    if "kind" in table.column_names:
        table = table.filter(pc.equal(table.column("kind"), ANSWER))
    for name in ("window_start", "window_end", "time"):
        millis = table.column(name).cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
        table = table.set_column(table.column_names.index(name), name, millis)
    windows: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        windows.setdefault((row["window_end"], _group(row, query)), []).append(row)
    return [_answer(windows[key], query) for key in sorted(windows)]


def _group(row: Mapping[str, Any], query: TopKQuery) -> Key | None:
    return _key(row, query.group_by, "group") if query.group_by is not None else None


def _key(row: Mapping[str, Any], columns: str | tuple[str, ...], name: str) -> Key:
    """A key of a row; a moment in UTC, whatever the zone of the session that read it."""
    cells = [row[name]] if isinstance(columns, str) else [row[each] for each in columns]
    parts = [
        each.astimezone(UTC) if isinstance(each, datetime) and each.tzinfo else each
        for each in cells
    ]
    return parts[0] if isinstance(columns, str) else tuple(parts)


def _answer(rows: list[dict[str, Any]], query: TopKQuery) -> Answer:
    first = rows[0]
    ranked = sorted((row for row in rows if row["rank"] is not None), key=lambda row: row["rank"])
    # What was written by an earlier version lacks the newest cells.
    cells = [name for name in ("rank", *_CELLS) if name in first and name != "key"]
    key, by = query.key, query.group_by
    return Answer(
        window=_window(first["window_start"], first["window_end"], query),
        rows=tuple(
            AnswerRow(
                key=_key(row, key, "key"),
                **{name: row[name] for name in cells}
                | {"values": both_of(row["values"], row.get(TEXTS)), "remotes": remotes_of(row)},
            )
            for row in ranked
        ),
        exact=first["exact"],
        candidates=first["candidates"],
        counts=_counts(first),
        freshness=_freshness(first),
        group=_group(first, query),
        problems=_problems(first),
        looked_up=tuple(
            each if each.source else replace(each, key=_key(_cells_of(each.key), key, "key"))
            for each in _looked_up(first)
        ),
        spent=first.get("spent"),
        left=tuple(dict(first.get("left") or ()).items()),
        key_columns=key if isinstance(key, tuple) else (),
        group_columns=by if isinstance(by, tuple) else (),
        tuned=tuple(first.get("tuned") or ()),
        notices=_notices(first),
    )


def _notices(row: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Arrow gives a map as pairs; where nobody listens to changes there is none."""
    return tuple(sorted(dict(row.get("notices") or ()).items()))


def _cells_of(key: Any) -> Mapping[str, Any]:
    """The key of a look-up as the cells of a row."""
    return key if isinstance(key, dict) else {"key": key}


def merged(query: TopKQuery, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row per window, from the rows of all its shards in one micro-batch."""
    parts = list(batches)
    if not parts:
        return
    windows: dict[int, list[Answer]] = {}
    rows = [row for part in parts for row in part.to_pylist()]
    for row in rows:
        if row["kind"] == ANSWER:
            windows.setdefault(row["window_end"], []).append(answer_of_packed(row, query))
    found = [packed(merge_for(query, windows[end]), query) for end in sorted(windows)]
    found += [row for row in rows if row["kind"] != ANSWER]
    yield pa.RecordBatch.from_pylist(found, schema=parts[0].schema)


def answer_of_packed(row: Mapping[str, Any], query: TopKQuery) -> ShardAnswer:
    """What a shard said of a window, from the row that :func:`packed` made."""
    cells = zip(*(row[name] for name in _CELLS), strict=True)
    rows = tuple(AnswerRow(rank, *each) for rank, each in enumerate(cells, 1))
    return ShardAnswer(
        window=_window(row["window_start"], row["window_end"], query),
        rows=with_texts(rows, row["extras"]),
        exact=row["exact"],
        candidates=row["candidates"],
        counts=_counts(row),
        freshness=_freshness(row),
        problems=_problems(row),
        looked_up=_looked_up(row),
        tuned=tuple(row["tuned"] or ()),
        notices=_notices(row),
        offer=None if row["offer"] is None else Offer.unpack(bytes(row["offer"])),
    )


def _window(start: int, end: int, query: TopKQuery) -> Window:
    return Window((start - query.window.start) // query.window.step, start, end)


def _counts(row: Mapping[str, Any]) -> Counts:
    """What was written by an earlier version may lack the newest."""
    return Counts(**{name: row.get(name) or 0 for name in COUNTS})


def _freshness(row: Mapping[str, Any]) -> Freshness | None:
    if row["fetched"] is None:
        return None
    return Freshness(**{name: row[name] for name in FRESHNESS if row.get(name) is not None})


def _problems(row: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Arrow gives a map as a list of pairs."""
    return tuple(sorted(row["problems"] or ()))


def _looked_up(row: Mapping[str, Any]) -> tuple[LookUp, ...]:
    """What was written before look-ups were listed has no such column."""
    return tuple(LookUp(**each) for each in row.get("looked_up") or ())
