"""Rows of windows and of items, with the columns that users named, as the fields of a record.

The place of a column says what it is: groups stand between the window's end and the rank, keys
between the rank and the score, and what the stream and the remote side said between the time and
``exact``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_FIGURES = "figures"
_LAST = ("exact", "precision", "ndcg")
_NOT_GROUPS = {"kind", "rank", "score", "time", _FIGURES, *_LAST}
_OF_VALUE = ("age", "confidence", "assumed")


def is_ours(row: Mapping[str, Any]) -> bool:
    """Whether a row is a window, or an item of one."""
    if row.get("kind") in ("window", "item"):
        return True
    names = list(row)
    if not all(name in names for name in ("window_end", "rank", "score", "time", "exact")):
        return False
    return set(_between(names, "exact", None)) <= {*_LAST, _FIGURES}


def group_of(row: Mapping[str, Any]) -> Any:
    """The group of a row: one value, or the values of its columns; None without groups."""
    found = [row[name] for name in _groups(list(row))]
    return found if len(found) > 1 else next(iter(found), None)


def fields_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the rows of one window say, by the names that answers have for it."""
    whole = next((row for row in rows if row.get("kind") == "window"), rows[0])
    ranked = sorted((row for row in rows if row.get("rank") is not None), key=_rank)
    figures = dict(whole.get(_FIGURES) or {})
    found = {name: whole[name] for name in _LAST if whole.get(name) is not None} | figures
    group = group_of(whole)
    if group is not None:
        found["group"] = group
    keys = _names(ranked, "rank", "score")
    said = [name for name in _names(ranked, "time", "exact") if name not in _LAST]
    remotes = [each for each in said if f"{each}_assumed" in said or f"{each}_age" in said]
    beside = {f"{each}_{what}" for each in remotes for what in _OF_VALUE}
    columns = [*keys, "score", *(name for name in said if name not in beside)]
    one = remotes[0] if len(remotes) == 1 else ""
    found["columns"] = columns if ranked else []
    found["rows"] = [_row(row, keys, columns, one) for row in ranked]
    return found


def _row(
    row: Mapping[str, Any], keys: Sequence[str], columns: Sequence[str], remote: str
) -> dict[str, Any]:
    label = [row.get(name) for name in keys]
    told = {name: row.get(f"{remote}_{name}") for name in _OF_VALUE} if remote else {}
    told |= {"remote": row.get(remote)} if remote else {}
    return {
        "rank": row["rank"],
        "label": label if len(label) > 1 else next(iter(label), None),
        "cells": [row.get(name) for name in columns],
        "score": row.get("score"),
        "time": row.get("time"),
    } | {name: each for name, each in told.items() if each is not None}


def _groups(names: Sequence[str]) -> list[str]:
    found = []
    for name in _between(names, "window_end", None):
        if name in _NOT_GROUPS:
            break
        found.append(name)
    return found


def _names(rows: Iterable[Mapping[str, Any]], first: str, last: str) -> list[str]:
    """The columns between two others. In JSON a row has no columns whose value is missing."""
    return [*dict.fromkeys(name for row in rows for name in _between(list(row), first, last))]


def _between(names: Sequence[str], first: str, last: str | None) -> Sequence[str]:
    start = names.index(first) + 1 if first in names else len(names)
    return names[start : names.index(last) if last in names else len(names)]


def _rank(row: Mapping[str, Any]) -> int:
    return int(row["rank"])
