"""Columns of keys of any type → one column of keys as they are inside: see :class:`KeyForm`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topwater.errors import BatchError
from topwater.model import KeyColumn, KeyForm
from topwater.model.key_form import BETWEEN, DAYS, MICROS, NEGATIVE, POSITIVE, RAISED, UNKNOWN
from topwater.monitor.columns import named_column, readable, require_column

_MOST_DIGITS = 38
_TEXT = pa.large_string()
_PER_MICRO = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}
_SIGNS = {True: pa.array(["", *NEGATIVE], _TEXT), False: pa.array(["", *POSITIVE], _TEXT)}
_FIX = "keys are text, integers up to 64 bits, dates, timestamps, decimals or booleans"


def form_of(table: pa.Table, names: Sequence[str], role: str) -> KeyForm:
    """What the columns of a key hold, by their types.

    Raises
    ------
    BatchError
        If one is missing, or has a type that can't be a key.

    Examples
    --------
    >>> table = pa.table({"product": ["tea"], "year": [2026]})
    >>> [each.kind for each in form_of(table, ["product", "year"], "key").columns]
    ['text', 'whole']
    """
    return KeyForm(tuple(KeyColumn(name, _kind(table, name, role)) for name in names))


def known(before: KeyForm | None, found: KeyForm, role: str) -> KeyForm:
    """The form of a stream, from what its batches before had and what this one has.

    Raises
    ------
    BatchError
        If a column holds something else than before: these can't be ranked with each other.
    """
    if before is None:
        return found
    for old, new in zip(before.columns, found.columns, strict=True):
        if UNKNOWN not in (old.kind, new.kind) and old != new:
            raise BatchError(
                f"the {role} column {new.name!r} holds {new.in_words}, and held {old.in_words} "
                "before",
                fix="cast it to one type for the whole stream",
            )
    pairs = zip(before.columns, found.columns, strict=True)
    return found.with_kinds(old.kind if new.kind == UNKNOWN else new.kind for old, new in pairs)


def keys_inside(table: pa.Table, form: KeyForm, role: str) -> pa.Array:
    r"""The keys of a table in one column; null where a part is null, or is none that can be.

    Examples
    --------
    >>> table = pa.table({"product": ["tea", None, "tea"], "year": [2026, 1, -7]})
    >>> keys_inside(table, form_of(table, ["product", "year"], "key"), "key").to_pylist()
    ['tea\x01S2026', None, 'tea\x01N2']
    """
    parts = [_part(named_column(table, column.name, role), column) for column in form.columns]
    if form.counted:
        return parts[0]
    texts = [_number_text(part) if part.type != _TEXT else part for part in parts]
    if not form.composite:
        return texts[0]
    return pc.binary_join_element_wise(*texts, pa.scalar(BETWEEN, _TEXT))


def with_keys_inside(table: pa.Table, key: KeyForm | None, group: KeyForm | None) -> pa.Table:
    """A table with the columns that keys and groups have inside, as far as these are other ones.

    Raises
    ------
    BatchError
        If one of theirs is missing, or holds something else.
    """
    for form, role in ((key, "key"), (group, "group_by")):
        if form is not None and not form.plain and form.column not in table.column_names:
            known(form, form_of(table, form.names, role), role)
            table = table.append_column(form.column, keys_inside(table, form, role))
    return table


def _kind(table: pa.Table, name: str, role: str) -> str:
    if not table.num_columns and not table.num_rows:
        return UNKNOWN  # a list without rows has no columns either
    require_column(table, name, role)
    kind = table.schema.field(name).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    found = next((word for test, word in _KINDS if test(kind)), None)
    if pa.types.is_decimal(kind) and kind.scale >= 0 and kind.precision <= _MOST_DIGITS:
        found = f"decimal({kind.scale})"
    if found is None or pa.types.is_uint64(kind):
        fix = _FIX if not pa.types.is_floating(kind) else f"{_FIX}: cast it to one of them"
        raise BatchError(f"the {role} column {name!r} is of type {kind}", fix=fix)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return "instant"
    return found


_KINDS = (
    (pa.types.is_null, UNKNOWN),
    (pa.types.is_integer, "whole"),
    (pa.types.is_string, "text"),
    (pa.types.is_large_string, "text"),
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_date, "date"),
    (pa.types.is_timestamp, "local"),
)


def _part(column: pa.Array, of: KeyColumn) -> pa.Array:
    """A column as text without the lowest characters, or as whole numbers."""
    if pa.types.is_null(column.type):
        return column.cast(_TEXT if of.kind in ("text", UNKNOWN) else pa.int64())
    if of.kind == "text":
        return _raised(readable(column.cast(_TEXT)))
    if of.kind == "instant" or of.kind == "local":
        return _micros(column)
    if of.scale is not None:
        return _unscaled(column)
    if of.kind == "date":
        return _within(column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64()), DAYS)
    return column.cast(pa.int64())


def _within(numbers: pa.Array, ends: tuple[int, int]) -> pa.Array:
    """Null for days and moments that Python does not know."""
    first, last = ends
    good = pc.and_(pc.greater_equal(numbers, first), pc.less_equal(numbers, last))
    return pc.if_else(good, numbers, None)


def _raised(text: pa.Array) -> pa.Array:
    """Text without the lowest characters. They are hardly ever there."""
    data = text.buffers()[2]
    if data is None or not (np.frombuffer(data, np.uint8) < 3).any():
        return text
    for low, high in RAISED:
        text = pc.replace_substring(text, low, high)
    return text


def _micros(column: pa.Array) -> pa.Array:
    """Microseconds; null for moments between two of them, and for those too far away."""
    times, per = _PER_MICRO[column.type.unit]
    ticks = column.cast(pa.int64())
    if per > 1:
        whole = pc.divide(ticks, per)
        ticks = pc.if_else(pc.equal(pc.multiply(whole, per), ticks), whole, None)
    first, last = MICROS
    return pc.multiply(_within(ticks, (first // times, last // times)), times)


def _unscaled(column: pa.Array) -> pa.Array:
    """The digits of decimals, as whole numbers."""
    wide = column.cast(pa.decimal128(_MOST_DIGITS, column.type.scale))
    whole = pa.decimal128(_MOST_DIGITS, 0)
    return pa.Array.from_buffers(whole, len(wide), wide.buffers(), offset=wide.offset)


def _number_text(numbers: pa.Array) -> pa.Array:
    """Whole numbers as text in the same order."""
    text = numbers.cast(_TEXT)
    below = pc.less(numbers, pa.scalar(0, numbers.type))
    if not pc.any(below).as_py():
        return _signed(text, negative=False)
    digits = pc.utf8_slice_codeunits(text.filter(below), 1)
    lacking = _signed(_lacking(digits), negative=True)
    least = pc.if_else(below, None, text)
    return pc.replace_with_mask(_signed(least, negative=False), pc.fill_null(below, False), lacking)


def _signed(digits: pa.Array, *, negative: bool) -> pa.Array:
    sign = _SIGNS[negative].take(pc.binary_length(digits))
    return pc.binary_join_element_wise(sign, digits, pa.scalar("", _TEXT))


def _lacking(digits: pa.Array) -> pa.Array:
    """What each digit lacks to nine."""
    plain = pa.concat_arrays([digits])
    if not len(plain) or plain.buffers()[2] is None:
        return plain
    data = np.uint8(ord("0") + ord("9")) - np.frombuffer(plain.buffers()[2], np.uint8)
    buffers = [*plain.buffers()[:2], pa.py_buffer(data)]
    return pa.Array.from_buffers(_TEXT, len(plain), buffers, offset=plain.offset)
