"""Keys of all types that there are, with the types of Arrow that hold them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from topwater.model import KeyColumn, KeyForm

TYPES = {
    "text": pa.string(),
    "whole": pa.int64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "instant": pa.timestamp("us", "UTC"),
    "local": pa.timestamp("us"),
    "decimal(2)": pa.decimal128(38, 2),
}
_FEW = st.characters(codec="utf-8") | st.sampled_from(
    "\x00\x01\x02\x03\x04\x7f\ud7ff\U0010ffff'\",;|"
)
_MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": st.text(_FEW, max_size=4),
    "whole": st.integers(-12, 12) | st.integers(-(2**63), 2**63 - 1),
    "boolean": st.booleans(),
    "date": st.dates(),
    "instant": _MOMENTS.map(lambda moment: moment.replace(tzinfo=UTC)),
    "local": _MOMENTS,
    "decimal(2)": st.integers(-(10**38) + 1, 10**38 - 1).map(
        lambda whole: Decimal((int(whole < 0), tuple(map(int, str(abs(whole)))), -2))
    ),
}


@st.composite
def keyed(draw: st.DrawFn, most: int = 3) -> tuple[KeyForm, list[Any]]:
    """A form, and keys of it: tuples, where it has several columns."""
    kinds = draw(st.lists(st.sampled_from([*TYPES]), min_size=1, max_size=most))
    form = KeyForm(tuple(KeyColumn(f"c{at}", kind) for at, kind in enumerate(kinds)))
    rows = draw(st.lists(st.tuples(*(VALUES[kind] for kind in kinds)), max_size=8))
    return form, rows if form.composite else [row[0] for row in rows]


def table_of(form: KeyForm, keys: list[Any], **others: Any) -> pa.Table:
    """Such keys as columns of a table, with others beside them."""
    columns: dict[str, Any] = {}
    for at, (name, kind) in enumerate(form.columns):
        values = [key[at] if form.composite else key for key in keys]
        columns[name] = pa.array(values, TYPES[kind])
    return pa.table(columns | others)


DAY = date(2026, 11, 18)
