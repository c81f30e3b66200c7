"""What the page is fed: one record per window, in plain values that a browser can't misread.

Keys become text, since a browser would round whole numbers beyond 2⁵³; NaN and infinity become
None. ``docs/live.md`` describes the fields.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, TypeAlias

from topwater.errors import QueryError
from topwater.live.item_rows import fields_of, group_of, is_ours
from topwater.model import Answer, Counts, Freshness
from topwater.validation import mapping_of

Record: TypeAlias = dict[str, Any]

LONGEST = 500
"""Of a text, how many characters are shown."""

MOST_ROWS, MOST_LOOK_UPS = 2_000, 500
"""Of a window, how many rows and look-ups are sent: a budget without a limit reads every key."""

_MEASURES = ("score", "remote", "confidence")
_TIMES = ("time", "age")
_ROW = {"rank", "label", "key", "values", "cells", "assumed", *_MEASURES, *_TIMES}
_COUNTS = [each.name for each in fields(Counts)]
_FRESHNESS = [each.name for each in fields(Freshness)]
_WHOLE = 2**53
_FIX = "see the section on the feed in docs/live.md"


@dataclass(frozen=True, slots=True)
class Truth:
    """How right an answer was, where that is known.

    Attributes
    ----------
    precision, ndcg
        Precision@k and nDCG@k against the true ranking.
    """

    precision: float
    ndcg: float


def record_of(
    given: Answer | Mapping[str, Any],
    *,
    truth: Truth | None = None,
    rivals: Mapping[str, Truth] | None = None,
) -> Record:
    """The record of an answer, or a record made by hand, checked.

    Raises
    ------
    QueryError
        If a field is missing, unknown or not what it should be.

    Examples
    --------
    >>> made = {"window": {"start": 0, "end": 60_000}, "rows": [{"rank": 1, "label": "ann"}]}
    >>> record_of(made)["rows"][0]["label"]
    'ann'
    """
    given = given.to_dict() if isinstance(given, Answer) else given
    plain = dict(mapping_of(given, "record", _FIX))
    for name in _NOT_SHOWN:
        plain.pop(name, None)
    if truth is not None:
        plain["truth"] = asdict(truth)
    if rivals is not None:
        plain["rivals"] = {name: asdict(each) for name, each in rivals.items()}
    if unknown := sorted(map(str, set(plain) - set(_FIELDS))):
        raise QueryError("no such field in a record", field=unknown[0], fix=_FIX)
    if "window" not in plain:
        raise QueryError("is missing", field="window", fix=_FIX)
    record: Record = {}
    for name, read in _FIELDS.items():
        if plain.get(name) is None:
            continue
        try:
            record[name] = read(plain[name])
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
            raise QueryError(f"can't be read: {error}", field=name, fix=_FIX) from None
    return {"rows": [], **record}


def records_of_rows(rows: Iterable[Mapping[str, Any]], score: str = "") -> list[Record]:
    """The records of rows as Spark gives them, of ``topk`` or of ``rspql``: one per window.

    Parameters
    ----------
    rows
        Rows of whole windows. Times are milliseconds, datetimes or ISO 8601.
    score
        For rows of ``rspql``: the variable by which bars are drawn; by default the only one that
        is a number.

    Raises
    ------
    QueryError
        If there is no column ``window_end``.
    """
    windows: dict[tuple[int, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("kind", "answer") not in ("answer", "window", "item"):
            continue
        if row.get("window_end") is None:
            raise QueryError(
                "is missing: these rows are not answers",
                field="window_end",
                fix="show what topk() or rspql() gave, with its columns",
            )
        group = group_of(row) if is_ours(row) else row.get("group")
        windows.setdefault((millis(row["window_end"]), str(group)), []).append(row)
    return [_of_window(windows[place], score) for place in sorted(windows)]


def _of_window(rows: list[Mapping[str, Any]], score: str) -> Record:
    first = rows[0]
    if is_ours(first):
        told = fields_of(rows)
        items, columns = told.pop("rows"), told.pop("columns")
        ends = {name: first[name] for name in ("window_start", "window_end") if name in first}
        record = _of_answer({**ends, **told})
        record["rows"] = [_present(row, _ROW | {"label"}) for row in items]
        record |= {"columns": columns} if columns else {}
        return record_of(record)
    ranked = sorted((row for row in rows if row.get("rank") is not None), key=_rank)
    record = _of_answer(first)
    names = _variables(rows)
    if names:
        numbers = [name for name in names if _all_numbers(ranked, name)]
        score = score or (numbers[0] if len(numbers) == 1 else "")
        record["columns"] = names
        record["rows"] = [_of_solution(row, names, score) for row in ranked]
    else:
        record["rows"] = [_present(row, _ROW) | _with_texts(row) for row in ranked]
    return record_of(record)


def _of_answer(first: Mapping[str, Any]) -> Record:
    """What is said of a window as a whole."""
    record = {name: first[name] for name in _OF_ANSWER if first.get(name) is not None}
    record["window"] = {
        "start": millis(first.get("window_start", first["window_end"])),
        "end": millis(first["window_end"]),
    }
    record["counts"] = {name: first[name] for name in _COUNTS if first.get(name) is not None}
    if first.get("fetched") is not None:
        record["freshness"] = {name: first.get(name) for name in _FRESHNESS}
    return record


def _variables(rows: list[Mapping[str, Any]]) -> list[str]:
    """The columns that are not those of ``topk``, and then also those that only share a name."""
    names = dict.fromkeys(name for row in rows for name in row)
    if names.keys() <= _COLUMNS:
        return []
    shared = {"key", "label", "score", "remote"}
    if not any(isinstance(row.get("values"), list) for row in rows):
        shared.add("values")
    return [name for name in names if name in shared or name not in _COLUMNS]


def _of_solution(row: Mapping[str, Any], names: list[str], score: str) -> dict[str, Any]:
    told = [row.get(name) for name in names]
    texts = (each for each in told if isinstance(each, str))
    label = row.get("key") or next(texts, row["rank"])
    own = {"label": label, "cells": told, "score": row.get(score)}
    return _present(row, {"rank", "time", "age", "confidence", "assumed"}) | own


def _present(row: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """Some columns of a row, as far as they have a value."""
    cells = {name: row[name] for name in names if row.get(name) is not None}
    return cells | {"time": millis(cells["time"])} if "time" in cells else cells


def _with_texts(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the stream said, if texts are among it."""
    texts = row.get("texts")
    if not texts:
        return {}
    both = zip(row["values"], texts, strict=True)
    return {"values": [number if text is None else text for number, text in both]}


def _rank(row: Mapping[str, Any]) -> int:
    return int(row["rank"])


def _all_numbers(rows: list[Mapping[str, Any]], name: str) -> bool:
    return bool(rows) and all(isinstance(row.get(name), int | float) for row in rows)


def millis(value: Any) -> int:
    """A time in milliseconds since 1970; a datetime without a zone is local, as Spark gives it."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return round(value.timestamp() * 1_000) if isinstance(value, datetime) else int(value)


def _text(value: Any) -> str:
    """What is shown of a value; of a key of several columns, its parts."""
    parts = value.values() if isinstance(value, Mapping) else value
    several = isinstance(value, list | tuple | Mapping)
    text = ", ".join(map(str, parts)) if several else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _number(value: Any) -> float | int | None:
    """A number that a browser reads as the same; None for what is none."""
    if value is None:
        return None
    if isinstance(value, int):  # a whole number stays one
        return value if abs(value) <= _WHOLE else float(value)
    value = float(value)
    return value if math.isfinite(value) else None


def _cell(value: Any) -> float | int | str | None:
    exact = isinstance(value, float) or (isinstance(value, int) and abs(value) <= _WHOLE)
    return _number(value) if value is None or exact else _text(value)


def _numbers(given: Mapping[str, Any]) -> dict[str, Any]:
    return {_text(name): _number(value) for name, value in given.items()}


def _window(given: Mapping[str, Any]) -> dict[str, int]:
    return {name: millis(given[name]) for name in ("start", "end")}


def _row(given: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := sorted(set(given) - _ROW - {"remotes"}):
        raise ValueError(f"a row has no {unknown[0]!r}")
    row: dict[str, Any] = {"rank": int(given["rank"])}
    label = given.get("label", given.get("key"))
    row["label"] = "" if label is None else _text(label)
    row |= {name: _number(given[name]) for name in (*_MEASURES, *_TIMES) if name in given}
    if given.get("assumed") is not None:
        row["assumed"] = _text(given["assumed"])
    if given.get("values"):
        row["values"] = [
            _text(each) if isinstance(each, str) else _number(each) for each in given["values"]
        ]
    if given.get("cells"):
        row["cells"] = [_cell(each) for each in given["cells"]]
    return row


def _look_up(given: Mapping[str, Any]) -> dict[str, Any]:
    before, after = (_number(given.get(name)) for name in ("before", "after"))
    return {
        "label": _text(given["key"] if "key" in given else given["label"]),
        "before": before,
        "after": after,
        "ok": bool(given.get("ok", True)),
    }


def _truths(given: Mapping[str, Any]) -> dict[str, Any]:
    return {_text(name): _numbers(each) for name, each in given.items()}


_NOT_SHOWN = ("key_columns", "group_columns", "spent", "left", "notices")
"""What an answer says beside, where keys or groups are tuples, several values are looked up, or
changes are pushed."""

_FIELDS: dict[str, Any] = {
    "window": _window,
    "group": _text,
    "rows": lambda rows: [_row(each) for each in rows[:MOST_ROWS]],
    "columns": lambda names: [_text(each) for each in names],
    "triples": lambda lines: str(lines) if isinstance(lines, str) else "\n".join(map(str, lines)),
    "exact": bool,
    "candidates": _number,
    "counts": _numbers,
    "freshness": _numbers,
    "problems": lambda told: _numbers(dict(told)),
    "looked_up": lambda told: [_look_up(each) for each in told[:MOST_LOOK_UPS]],
    "tuned": lambda told: [_text(each) for each in told],
    "truth": _numbers,
    "rivals": _truths,
    "at": int,
}
"""How each field of a record is read."""

_OF_ANSWER = ("group", "triples", "exact", "candidates", "problems", "looked_up", "tuned")
_COLUMNS = {
    "kind", "window_start", "window_end", *_ROW, *_OF_ANSWER, *_COUNTS, *_FRESHNESS,
    "texts", "remotes", "spent", "left", "notices",
}  # fmt: skip
