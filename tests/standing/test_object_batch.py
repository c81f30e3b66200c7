"""Batches of objects in every form: columns, tables of other libraries, and what is neither."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from topwater.errors import BatchError, QueryError
from topwater.standing.object_batch import read_objects

COLUMNS: dict[str, Any] = {"x": [1.0, 2.5], "key": ["a", "b"], "time": [7, 8], "other": [0, 0]}


@pytest.mark.parametrize(
    "objects",
    [COLUMNS, pa.table(COLUMNS), pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS)],
    ids=lambda objects: type(objects).__module__,
)
def test_the_same_columns_of_any_library(objects: Any) -> None:
    found = read_objects(["x"], objects)
    assert [column.tolist() for column in found.columns] == [[1.0, 2.5]]
    assert found.keys is not None
    assert found.times is not None
    assert (found.keys.tolist(), found.times.tolist()) == (["a", "b"], [7, 8])
    assert found.timely.all()


@pytest.mark.parametrize(
    ("times", "millis"),
    [
        ([1, 2], [1, 2]),
        ([1.0, 2.9], [1, 2]),
        ([1.0, np.nan], [1, None]),
        ([np.inf, 5], [None, 5]),
        ([None, 5], [None, 5]),
        (np.array([3, 2**64 - 1], np.uint64), [3, None]),
        (["1970-01-01T00:00:01Z", "soon"], [1_000, None]),
        ([dt.datetime(1970, 1, 1, 0, 0, 2, tzinfo=dt.UTC), None], [2_000, None]),
        (np.array(["1970-01-01T00:00:03", "NaT"], "datetime64[s]"), [3_000, None]),
        (np.array([-(2**63), 4]), [None, 4]),
    ],
)
def test_times_and_what_is_none(times: Any, millis: list[int | None]) -> None:
    found = read_objects(["x"], {"x": [1, 2], "time": times})
    assert found.times is not None
    told = zip(found.times.tolist(), found.timely.tolist(), strict=True)
    assert [time if good else None for time, good in told] == millis


@pytest.mark.parametrize("objects", [None, 5, "xy", [1, 2], object(), {"x": [1], "time": [{}, 1]}])
def test_what_is_not_a_batch_is_refused(objects: Any) -> None:
    with pytest.raises((BatchError, QueryError)) as caught:
        read_objects(["x"], objects)
    assert caught.value.fix


@pytest.mark.parametrize("column", [5, "abc", np.zeros((2, 2)), [1, 2, 3], []])
@pytest.mark.parametrize("name", ["y", "key", "time"])
def test_columns_of_other_lengths_are_refused(name: str, column: Any) -> None:
    with pytest.raises((BatchError, QueryError)):
        read_objects(["x", "y"], {"x": [1, 2], "y": [1, 2], name: column})
