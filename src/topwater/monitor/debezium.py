"""Debezium's envelopes: what a row of a database was, what it is now, and when that happened.

::

    {"before": {…}, "after": {…}, "op": "u", "ts_ms": …, "source": {"ts_ms": …, "table": …}}

They may be wrapped, as ``{"schema": …, "payload": …}``. Created, changed and read rows (c, u, r)
have the values of ``after``; of a deleted one (d) nothing is left. A change of the key is both.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from topwater.model import Millis
from topwater.monitor.columns import named_column
from topwater.monitor.notice_settings import (
    NoticeSettings,
    key_names,
    names_of,
    sources_of,
    used_names,
    value_name,
)
from topwater.query import TopKQuery
from topwater.replica.notices import ALL, LOST, STALE, VALUE
from topwater.windows import FARTHEST

Document: TypeAlias = Mapping[str, Any]

_WIDEST = 2**63


@dataclass(slots=True)
class Envelopes:
    """What envelopes say of one source, row by row.

    Attributes
    ----------
    source
        The source's name.
    keys
        The parts of each key; None for one that is not known.
    times, kinds
        When it happened, and what is said: see :mod:`topwater.replica.notices`.
    values
        By remote names: numbers, and texts where these are only shown.
    """

    source: str
    keys: list[tuple[int | str | None, ...]] = field(default_factory=list)
    times: list[Millis] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    values: dict[str, list[float | str]] = field(default_factory=dict)


class Fields(NamedTuple):
    """Where in a row of a database keys and values stand."""

    key: tuple[str, ...]
    values: Mapping[str, str]
    shown: frozenset[str]
    guessed: bool


def envelopes(
    query: TopKQuery, settings: NoticeSettings, table: pa.Table, tallies: Counter[str]
) -> list[Envelopes]:
    """What a batch of envelopes says of each source."""
    documents = named_column(table, "value", "changes.value").to_pylist()
    keys = _column(table, "key", len(documents))
    named = _column(table, settings.source, len(documents))
    found = {source: Envelopes(source) for source in sources_of(query)}
    fields = {source: _fields(query, settings, source) for source in found}
    for told in found.values():
        told.values = {name: [] for name in fields[told.source].values}
    for text, key_text, name in zip(documents, keys, named, strict=True):
        if text is None:
            tallies["tombstones"] += 1
            continue
        body = _payload(text, "op")
        source = _source_of(body, name, [*found])
        if source is None:
            tallies["bad_source" if body is not None else "bad_value"] += 1
            if body is None:
                _blind(found, key_text, fields, tallies)
            continue
        assert body is not None  # noqa: S101  else it had no source
        _add(found[source], fields[source], body, _payload(key_text, ""), tallies)
    return [told for told in found.values() if told.kinds]


def _fields(query: TopKQuery, settings: NoticeSettings, source: str) -> Fields:
    names = names_of(query, source)
    values = {name: value_name(settings, name, (), alone=False) for name in names}
    key = settings.key or key_names(query, settings, source, ())
    return Fields(key, values, frozenset(names) - used_names(query, source), not settings.key)


def _column(table: pa.Table, name: str, count: int) -> list[Any]:
    if name not in table.column_names:
        return [None] * count
    return list(named_column(table, name, "changes").to_pylist())


def _payload(text: Any, needed: str) -> Document | None:
    """A document without what wraps it; None if it is none."""
    if isinstance(text, Mapping):
        found: Any = text
    else:
        try:
            found = json.loads(text)
        except (TypeError, ValueError, RecursionError):
            return None
    if isinstance(found, Mapping) and isinstance(found.get("payload"), Mapping):
        found = found["payload"]
    if not isinstance(found, Mapping) or (needed and needed not in found):
        return None
    return found


def _source_of(body: Document | None, named: Any, known: Sequence[str]) -> str | None:
    """Of which source an envelope tells; None for one that is not ours."""
    if body is None:
        return None
    if named is None and len(known) == 1:
        return known[0]
    if named is None:
        about = body.get("source")
        named = about.get("table") if isinstance(about, Mapping) else None
    return named if named in known else None


def _blind(
    found: Mapping[str, Envelopes], key: Any, fields: Mapping[str, Fields], tallies: Counter[str]
) -> None:
    """Something changed, and what can't be read: perhaps the key says of what."""
    for source, told in found.items():
        body = _payload(key, "") if len(found) == 1 else None
        parts = _key_of(fields[source], body, None)
        _put(told, parts, None, LOST, {})
    tallies["bad_time"] += 1


def _add(
    told: Envelopes, fields: Fields, body: Document, key: Document | None, tallies: Counter[str]
) -> None:
    """What one envelope says."""
    op, time = body.get("op"), _time_of(body)
    if op == "m":
        return
    if time is None:
        tallies["bad_time"] += 1
    if op == "t":
        _put(told, _nobody(fields), time, ALL, {})
        return
    before, after = _row(body.get("before")), _row(body.get("after"))
    now = _key_of(fields, key, before if op == "d" else after)
    if op == "d":
        _put(told, now, time, VALUE, {})
    elif op not in ("c", "u", "r") or after is None:
        tallies["bad_value"] += 1
        _put(told, now, time, STALE, {})
    else:
        if before is not None and all(name in before for name in fields.key):
            then = _key_of(fields, None, before)
            if then != now and None not in then:
                _put(told, then, time, VALUE, {})
        values, bad = _values_of(fields, after)
        tallies["bad_value"] += bad
        _put(told, now, time, STALE if bad else VALUE, values)
    tallies["bad_key"] += None in now


def _put(
    told: Envelopes,
    key: tuple[int | str | None, ...],
    time: Millis | None,
    kind: int,
    values: Mapping[str, float | str],
) -> None:
    told.keys.append(key)
    told.times.append(0 if time is None else time)
    told.kinds.append(LOST if time is None else kind)
    for name, column in told.values.items():
        column.append(values.get(name, math.nan))


def _row(given: Any) -> Document | None:
    return given if isinstance(given, Mapping) else None


def _nobody(fields: Fields) -> tuple[None, ...]:
    return (None,) * len(fields.key)


def _key_of(
    fields: Fields, key: Document | None, row: Document | None
) -> tuple[int | str | None, ...]:
    """What is looked up by: by name, in the row, or in its key; all parts of it, or none."""
    for body in (row, key):
        if body is not None and all(name in body for name in fields.key):
            parts = tuple(_part(body[name]) for name in fields.key)
            return _nobody(fields) if None in parts else parts
    if fields.guessed and key is not None and len(key) == len(fields.key) == 1:
        return (_part(next(iter(key.values()))),)
    return _nobody(fields)


def _part(given: Any) -> int | str | None:
    if isinstance(given, str):
        return given
    whole = isinstance(given, int) and not isinstance(given, bool)
    return given if whole and -_WIDEST <= given < _WIDEST else None


def _time_of(body: Document) -> Millis | None:
    """When the row changed: in the database, if that is told, or else as the connector saw it."""
    about = body.get("source")
    for place in (about, body):
        told = place.get("ts_ms") if isinstance(place, Mapping) else None
        if isinstance(told, int) and not isinstance(told, bool) and 0 < told < FARTHEST:
            return told
    return None


def _values_of(fields: Fields, row: Document) -> tuple[dict[str, float | str], bool]:
    """The values of a row, and whether one of them can't be one."""
    found: dict[str, float | str] = {}
    bad = False
    for name, column in fields.values.items():
        if column not in row:
            bad = True
            continue
        value = row[column]
        if name in fields.shown and isinstance(value, str):
            found[name] = value
            continue
        number = _number(value)
        bad |= number is None
        found[name] = math.nan if number is None else number
    return found, bad


def _number(given: Any) -> float | None:
    """A number, also one written as text; NaN for none, None for something else."""
    if given is None:
        return math.nan
    if not isinstance(given, int | float | str):
        return None
    try:
        found = float(given)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None
