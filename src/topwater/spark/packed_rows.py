"""Answers ↔ rows inside: one row stands for one window, with a list per column of its items.

Python makes few objects, and Java turns the lists into the rows that users see. What is said of a
window as a whole is in one structure, which Spark carries, or drops, as one column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from topwater.model import Answer, Counts, Freshness, LookUp, Window
from topwater.model import Row as AnswerRow
from topwater.monitor.grouped import GROUP
from topwater.monitor.shards import merge_for
from topwater.monitor.window_answer import ShardAnswer
from topwater.replica.offers import Offer
from topwater.scoring.aggregates import LABEL
from topwater.spark.answer_metrics import window_figures
from topwater.spark.extra_columns import (
    numbers_of,
    packed_extras,
    packed_late_texts,
    told_look_up,
    with_texts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topwater.query import TopKQuery

COUNTS = [field.name for field in fields(Counts)]
FRESHNESS = [field.name for field in fields(Freshness)]
ESTIMATES = ["precision", "ndcg"]
"""Of the freshness, what each item's row repeats."""

_FLAG, _WHOLE, _NUMBER, _TEXT = BooleanType(), LongType(), DoubleType(), StringType()
_TOLD_TYPES: dict[str, DataType] = dict.fromkeys(FRESHNESS, _WHOLE) | {
    "missed": _FLAG,
    "nothing_usable": _FLAG,
    "out_of_reach": _FLAG,
    "audited": _NUMBER,
    "audited_low": _NUMBER,
    "audited_high": _NUMBER,
    "doubtful": _FLAG,
    "noisy": _FLAG,
}
CELLS = ["key", "score", "time", "values", "remote", "age", "confidence", "assumed"]
"""What a list is of: a cell for each item of the window."""

_LOOK_UP = ["key", "before", "after", "ok"]
TOLD = "told"
"""The column with what is said of a window as a whole."""

ANSWER, LATE, FIGURES, NOTICES = "answer", "late", "figures", "notices"
"""Kinds of rows. Users never see figures, which are for the metrics, nor notices of changes, which
go from a shard to the stage behind all shards."""

"""Put before the reason of a problem, among figures."""


def packed_schema(key_type: str, group_type: str, *, several: bool = False) -> StructType:
    """The columns of the rows inside: one per window.

    Parameters
    ----------
    key_type, group_type
        ``"bigint"`` or ``"string"``.
    several
        Whether there are several remote values.
    """
    key, group = (_WHOLE if each == "bigint" else _TEXT for each in (key_type, group_type))
    cells: dict[str, DataType] = {
        "key": key,
        "score": _NUMBER,
        "time": _WHOLE,
        "values": ArrayType(_NUMBER),
        "remote": _NUMBER,
        "age": _WHOLE,
        "confidence": _NUMBER,
        "assumed": _TEXT,
    }
    columns: dict[str, DataType] = {
        "kind": _TEXT,
        "group": group,
        "window_start": _WHOLE,
        "window_end": _WHOLE,
        **{name: ArrayType(cells[name]) for name in CELLS},
        "exact": _FLAG,
        **dict.fromkeys(ESTIMATES, _NUMBER),
        TOLD: _told_schema(key, several=several),
        FIGURES: MapType(_TEXT, _NUMBER),
        "offer": BinaryType(),
        "extras": _TEXT,
    }
    return _struct(columns)


def _told_schema(key: DataType, *, several: bool) -> StructType:
    counts = MapType(_TEXT, _WHOLE)
    look_up: dict[str, DataType] = {"key": key, "before": _NUMBER, "after": _NUMBER, "ok": _FLAG}
    if several:  # Those of several sources have keys of different types.
        look_up = {"source": _TEXT, **look_up, "key": _TEXT}
    fresh = {name: kind for name, kind in _TOLD_TYPES.items() if name not in ESTIMATES}
    of_several = {"spent": _NUMBER, "left": MapType(_TEXT, _NUMBER)} if several else {}
    return _struct(
        {
            "candidates": _WHOLE,
            **fresh,
            **dict.fromkeys(COUNTS, _WHOLE),
            "problems": counts,
            "looked_up": ArrayType(_struct(look_up)),
            **of_several,
            "tuned": ArrayType(_TEXT),
            "notices": counts,
        }
    )


def _struct(columns: Mapping[str, DataType]) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


def packed(answer: Answer, query: TopKQuery) -> dict[str, Any]:
    """An answer as one row of such columns."""
    fresh = dict.fromkeys(FRESHNESS) if answer.freshness is None else asdict(answer.freshness)
    several = query.joins is not None
    return {
        "kind": ANSWER,
        "group": answer.group,
        "window_start": answer.window.start,
        "window_end": answer.window.end,
        **{name: [getattr(row, name) for row in answer.rows] for name in CELLS},
        "values": [
            numbers_of(row.values) if query.label_names else list(row.values) for row in answer.rows
        ],
        "exact": answer.exact,
        **{name: fresh.pop(name) for name in ESTIMATES},
        TOLD: {
            "candidates": answer.candidates,
            **fresh,
            **asdict(answer.counts),
            "problems": dict(answer.problems),
            "looked_up": [
                told_look_up(each, query)
                if several
                else {name: getattr(each, name) for name in _LOOK_UP}
                for each in answer.looked_up
            ],
            **({"spent": answer.spent, "left": dict(answer.left)} if several else {}),
            "tuned": list(answer.tuned) or None,
            "notices": dict(answer.notices) or None,
        },
        FIGURES: None,
        "offer": _offer_of(answer),
        "extras": packed_extras(answer, query),
    }


def _offer_of(answer: Answer) -> bytes | None:
    if not isinstance(answer, ShardAnswer) or answer.offer is None:
        return None
    return answer.offer.pack()


def packed_figures(figures: Mapping[str, float]) -> dict[str, Any]:
    """What is reported of a micro-batch, as one row of such columns."""
    return _nothing(FIGURES) | {FIGURES: {name: float(each) for name, each in figures.items()}}


def packed_notices(portion: bytes) -> dict[str, Any]:
    """Notices of changes on their way to the stage behind, as one row of such columns."""
    return _nothing(NOTICES) | {"offer": portion}


def _nothing(kind: str) -> dict[str, Any]:
    first = ["kind", "group", "window_start", "window_end"]
    rest = ["exact", *ESTIMATES, TOLD, FIGURES, "offer", "extras"]
    return dict.fromkeys([*first, *CELLS, *rest]) | {"kind": kind}


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
    lists: dict[str, list[Any]] = {name: [None] * rows for name in CELLS}
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
    return _nothing(LATE) | lists | {"extras": packed_late_texts(values)}


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
    answers = [merge_for(query, windows[end]) for end in sorted(windows)]
    found = [packed(answer, query) for answer in answers]
    found += [row for row in rows if row["kind"] != ANSWER]
    if answers:
        found.append(packed_figures(window_figures(answers)))
    yield pa.RecordBatch.from_pylist(found, schema=parts[0].schema)


def answer_of_packed(row: Mapping[str, Any], query: TopKQuery) -> ShardAnswer:
    """What a shard said of a window, from the row that :func:`packed` made."""
    cells = zip(*(row[name] for name in CELLS), strict=True)
    rows = tuple(AnswerRow(rank, *each) for rank, each in enumerate(cells, 1))
    told = row[TOLD]
    return ShardAnswer(
        window=window_of(row["window_start"], row["window_end"], query),
        rows=with_texts(rows, row["extras"]),
        exact=row["exact"],
        **of_figures(told, {name: row[name] for name in ESTIMATES}),
        offer=None if row["offer"] is None else Offer.unpack(bytes(row["offer"])),
    )


def of_figures(told: Mapping[str, Any], estimates: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a window as a whole, as an answer has it. Arrow gives a map as pairs."""
    counts = {name: told[name] or 0 for name in COUNTS}
    fresh = {name: told[name] for name in FRESHNESS if name not in ESTIMATES}
    known = {name: each for name, each in {**fresh, **estimates}.items() if each is not None}
    return {
        "candidates": told["candidates"],
        "counts": Counts(**counts),
        "freshness": None if told["fetched"] is None else Freshness(**known),
        "problems": tuple(sorted(dict(told["problems"] or ()).items())),
        "looked_up": tuple(LookUp(**each) for each in told["looked_up"] or ()),
        "spent": told.get("spent"),
        "left": tuple(dict(told.get("left") or ()).items()),
        "tuned": tuple(told["tuned"] or ()),
        "notices": tuple(sorted(dict(told["notices"] or ()).items())),
    }


def window_of(start: int, end: int, query: TopKQuery) -> Window:
    """The window with these ends."""
    return Window((start - query.window.start) // query.window.step, start, end)
