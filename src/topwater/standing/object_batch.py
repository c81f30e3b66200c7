"""A batch of objects as columns, in whatever form it comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from topwater.errors import BatchError, QueryError
from topwater.model import BoolArray, FloatArray, IntArray, KeyArray
from topwater.monitor.columns import as_table, times_of
from topwater.standing.arrays import as_numbers
from topwater.windows import FARTHEST

_TIMES = "use timestamps, texts in ISO 8601, or integers as milliseconds since 1970"


class ObjectBatch(NamedTuple):
    """Columns of one length.

    Attributes
    ----------
    columns
        The attributes, as numbers; NaN where there is none.
    keys
        The objects' names, if they have some.
    times, timely
        In milliseconds, if they are given; and which of them are times.
    """

    columns: list[FloatArray]
    keys: KeyArray | None
    times: IntArray | None
    timely: BoolArray


def read_objects(names: Sequence[str], objects: Any) -> ObjectBatch:
    """The columns of these names, and ``key`` and ``time`` where they are given.

    Raises
    ------
    QueryError
        If a column is missing, or another length than the others have.
    BatchError
        If it is not a batch.

    Examples
    --------
    >>> found = read_objects(["x"], {"x": [1, None], "time": ["1970-01-01T00:00:01Z", "x"]})
    >>> found.columns[0].tolist(), found.times.tolist(), found.timely.tolist()
    ([1.0, nan], [1000, 0], [True, False])
    """
    given = objects if isinstance(objects, Mapping) else _columns_of(objects)
    missing = [name for name in names if name not in given]
    if missing:
        raise QueryError(
            f"the objects have no {missing[0]!r}",
            field="objects",
            fix=f"give each of: {', '.join(names)}",
        )
    columns = {name: as_numbers(given[name]) for name in names}
    many = len(columns[names[0]])
    keys = np.asarray(given["key"]) if "key" in given else None
    times, timely = None, np.ones(many, np.bool_)
    if "time" in given:
        times, timely = _times(given["time"])
    lengths: dict[str, Any] = {**columns, "key": keys, "time": times}
    for name, column in lengths.items():
        if column is not None and column.shape != (many,):
            raise QueryError(
                f"has {column.size} values for {many} objects",
                field=name,
                fix="give one for each object",
            )
    return ObjectBatch([*columns.values()], keys, times, timely)


def _columns_of(objects: Any) -> dict[str, Any]:
    """The columns of a table of any library."""
    table = as_table(objects)
    return {name: table.column(name).to_numpy() for name in table.column_names}


def _times(given: Any) -> tuple[IntArray, BoolArray]:
    """Times in milliseconds, and which of them are times."""
    ticks = np.asarray(given)
    if ticks.dtype.kind in "iuf" and ticks.ndim == 1:
        near = (ticks > -FARTHEST) & (ticks < FARTHEST)
        return np.where(near, ticks, 0).astype(np.int64), near
    try:
        column = pa.array(given)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise BatchError(f"the times can't be read: {error}", fix=_TIMES) from error
    return times_of(column, "time")
