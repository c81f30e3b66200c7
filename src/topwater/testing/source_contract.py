"""Whether a source keeps its contract, even when the remote side does not work."""

from __future__ import annotations

import pickle
import time
from typing import TYPE_CHECKING, get_args

import numpy as np

from topwater.model import Fetched, KeyArray
from topwater.model.fetched import empty
from topwater.problems import Problem
from topwater.protocols import Source

if TYPE_CHECKING:
    from collections.abc import Callable


_TOLERANCE = 0.5
"""Seconds: a busy machine must not make a good source fail."""


def check_source(make: Callable[[], Source], keys: KeyArray, missing: KeyArray) -> None:
    """Run a source against its contract. Its values must not change meanwhile.

    Parameters
    ----------
    make
        Builds the source, not connected yet.
    keys
        At least two keys that have values.
    missing
        Keys without a value.

    Raises
    ------
    AssertionError
        Starting with the number of the clause that is broken.
    """
    source = make()
    whole = source.fetch(keys)
    _same_shape(whole, keys)
    _named_columns(source, whole)
    assert whole.ok.all(), "F1: a key that has a value was not answered"
    assert np.isfinite(whole.values).all(), "F1: a key that has a value got none"
    for rows in (np.arange(len(keys))[::-1], np.array([1]), np.empty(0, np.int64)):
        part = source.fetch(keys[rows])
        _same_shape(part, keys[rows])
        right = _same(part, whole.at(rows)) if len(rows) else True
        assert right, f"F1: {part.values} for {keys[rows]}, and {whole.values} for {keys}"
    _same_shape(source.fetch(missing), missing)
    mixed = source.fetch(np.concatenate([missing, keys]))
    later = mixed.at(np.arange(len(missing), len(mixed.ok)))
    assert _same(later, whole), "F1: values moved"
    assert not np.isfinite(mixed.values[: len(missing)]).any(), "F1: a value from nowhere"
    for deadline in (0.0, 1e-9, 0.05):
        _on_time(source, keys, deadline)
    for copied in (pickle.loads(pickle.dumps(each)) for each in (make(), source)):  # noqa: S301
        again = copied.fetch(keys)
        assert _same(again, whole), "F3: a copy answers differently"


def _on_time(source: Source, keys: KeyArray, deadline: float) -> None:
    """F2, with much tolerance: what is checked is that a deadline is kept at all."""
    begun = time.monotonic()
    try:
        got = source.fetch(keys, deadline)
    except Exception as error:
        raise AssertionError(f"F2: {type(error).__name__} with a deadline of {deadline}") from error
    spent = time.monotonic() - begun
    _same_shape(got, keys)
    assert spent < deadline + _TOLERANCE, f"F2: {spent:.3f} seconds for a deadline of {deadline}"


def check_failing_source(make: Callable[[], Source], keys: KeyArray, deadline: float = 0.5) -> None:
    """Run a source against its contract whose remote side does not work, in whatever way.

    Parameters
    ----------
    make
        Builds a source whose service is down, hangs, or returns garbage.
    keys
        Any keys.
    deadline
        How many seconds it may take.

    Raises
    ------
    AssertionError
        Starting with the number of the clause that is broken.

    Examples
    --------
    >>> class Down:
    ...     def fetch(self, keys, deadline=None):
    ...         raise OSError("no connection")
    >>> check_failing_source(Down, np.array([1, 2]))
    Traceback (most recent call last):
    ...
    AssertionError: F2: OSError with a deadline of 0.5
    """
    source = make()
    for _ in range(2):
        _on_time(source, keys, deadline)
        got = source.fetch(keys, deadline)
        assert not got.ok.any(), "F2: a key was answered by a service that does not work"
        told = set(got.problems())
        assert told <= set(get_args(Problem)), f"F2: {told} for problems"


def _named_columns(source: Source, got: Fetched) -> None:
    """F4: several values come under the names that the source has."""
    names = tuple(getattr(source, "names", ()))
    told = set(getattr(source, "text_names", ()))
    assert {*got.columns} == {*names}, f"F4: columns {[*got.columns]}, names {[*names]}"
    texts = {name for name in got.columns if got.columns[name].dtype == object}
    assert texts == told, f"F4: texts in {sorted(texts)}, and text_names are {sorted(told)}"
    numbers = [got.columns[name] for name in names if name not in texts]
    assert not names or numbers, "F4: no column of numbers"
    same = not names or np.array_equal(numbers[0], got.values, equal_nan=True)
    assert same, f"F4: values are not those of {names[0]}"


def _same(one: Fetched, other: Fetched) -> bool:
    """Whether two answers have the same values."""
    return np.array_equal(one.values, other.values, equal_nan=True) and all(
        one.columns[name].tolist() == column.tolist()
        if column.dtype == object
        else np.array_equal(one.columns[name], column, equal_nan=True)
        for name, column in other.columns.items()
    )


def _same_shape(got: Fetched, keys: KeyArray) -> None:
    for name, column, dtype in (("values", got.values, np.float64), ("ok", got.ok, np.bool_)):
        assert column.shape == keys.shape, f"F1: {column.shape} {name} for {keys.shape} keys"
        assert column.dtype == dtype, f"F1: {name} of type {column.dtype}, not {dtype}"
    assert not np.isfinite(got.values[~got.ok]).any(), "F2: a key that failed has a value"
    for name, column in got.columns.items():
        assert column.shape == keys.shape, f"F1: {column.shape} {name} for {keys.shape} keys"
        assert column.dtype.kind in "fO", f"F1: {name} of type {column.dtype}, not float or object"
        assert empty(column[~got.ok]).all(), f"F2: a key that failed has a {name}"
    assert got.seconds >= 0, f"F2: it took {got.seconds} seconds"
