"""A recording of the remote side: what ``record`` wrote, or any table of keys, times and values."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from topwater.errors import BatchError, QueryError
from topwater.model import Fetched, KeyArray
from topwater.monitor.columns import keys_of, times_of
from topwater.remote import Replay, recorded
from topwater.remote.known_changes import Steps
from topwater.validation import suggestion
from topwater.validation.addresses import path_errors

_FIX = "give a file that `record` wrote, or *.csv, *.csv.gz or *.parquet"


class PartlyKnown(Replay):
    """A replayed remote side that does not know every key of the stream."""

    def __init__(self, remote: Steps) -> None:
        super().__init__(remote)
        self._known = remote.distinct

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys`` now; none of those that the recording does not have."""
        known = np.flatnonzero(np.isin(keys, self._known))
        got = super().fetch(np.asarray(keys)[known], deadline)
        return Fetched.nothing(len(keys)).put(known, got)


class Names(NamedTuple):
    """How the columns of a table are named."""

    key: str
    value: str
    time: str | None


def values_from(path: Path, names: Names) -> Steps:
    """What the remote side said over time, by a file.

    Parameters
    ----------
    path
        Lines that the setting ``record`` of a source wrote, or a table.
    names
        The table's columns. If it has but one more than key and value, that one is the time.

    Raises
    ------
    QueryError
        If it can't be read, or holds no value.
    """
    with path_errors(path, "recording"):
        if path.name.endswith((".csv", ".csv.gz", ".parquet")):
            return _steps(_table(path), path, names)
        return recorded(path)


def _table(path: Path) -> pa.Table:
    try:
        if path.suffix == ".parquet":
            return pq.read_table(path)
        return pa_csv.read_csv(str(path))
    except pa.ArrowException as error:
        raise QueryError(
            f"{path} can't be read: {str(error).splitlines()[0]}", field="recording", fix=_FIX
        ) from None


def _steps(table: pa.Table, path: Path, names: Names) -> Steps:
    key, value = _named(table, names.key, path), _named(table, names.value, path)
    left = [name for name in table.column_names if name not in (key, value)]
    at = left[0] if len(left) == 1 else _named(table, names.time or "at", path)
    try:
        times, dated = times_of(table.column(at).combine_chunks(), at)
        keys = keys_of(table, key, "key")
        values = table.column(value).cast(pa.float64()).to_numpy()
    except (BatchError, pa.ArrowException) as error:
        raise QueryError(f"{path}: {error}", field="recording", fix=_FIX) from None
    good = dated & np.asarray(keys.is_valid())
    if not good.any():
        raise QueryError(f"{path} has no value in it", field="recording", fix=_FIX)
    # A read sees what lies strictly before its time; here it should see what was said then.
    return Steps.of(times[good] - 1, keys.to_numpy(zero_copy_only=False)[good], values[good])


def _named(table: pa.Table, name: str, path: Path) -> str:
    if name in table.column_names:
        return name
    raise QueryError(
        f"{path} has no column {name!r}",
        field="recording",
        fix=suggestion(name, table.column_names),
    )
