"""Several values a key, in the types and lengths that the contract asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from topwater.model import BoolArray, KeyArray
from topwater.model.fetched import empty
from topwater.problems import LACKS


class Misshapen(TypeError):
    """What a source gave is not what its contract asks for."""


def valid_columns(
    given: Mapping[str, Any], ok: BoolArray, names: tuple[str, ...]
) -> dict[str, KeyArray]:
    """The columns in the order of their names, as arrays of numbers or of texts.

    Parameters
    ----------
    given
        What the source gave; nothing from a source with one value.
    ok
        Which keys were answered. The others have no value in any column.
    names
        What the source says that its columns are called; none if it does not tell.

    Raises
    ------
    Misshapen
        If that can't be.

    Examples
    --------
    >>> ok = np.array([True, False])
    >>> valid_columns({"title": ["a", "b"], "price": [3, 4]}, ok, ("price", "title"))
    {'price': array([ 3., nan]), 'title': array(['a', None], dtype=object)}
    """
    if not given and not (names and ok.any()):
        return {}
    if names and {*given} != {*names}:
        raise Misshapen(f"columns {_listed(given)}, and its names are {_listed(names)}")
    columns = {name: _column(name, given[name], ok) for name in names or given}
    if all(column.dtype == object for column in columns.values()):
        raise Misshapen(f"columns {_listed(given)}, and none of numbers")
    return columns


def valid_whys(
    given: Mapping[str, Any], ok: BoolArray, columns: Mapping[str, KeyArray]
) -> dict[str, KeyArray]:
    """Why answered keys have nothing in a column; what can't be a reason is none."""
    told = {}
    for name, column in columns.items():
        whys = np.asarray(given.get(name, np.full(len(ok), "")), object)
        if whys.shape != ok.shape:
            raise Misshapen(f"{whys.shape} reasons for {ok.shape} keys")
        whys = np.where(ok & empty(column) & np.isin(whys, LACKS), whys, "").astype(object)
        if column.dtype != object:  # infinite is something else than unknown
            whys[np.isinf(column)] = "not_a_number"
        if (whys != "").any():
            told[name] = whys
    return told


def finite(columns: Mapping[str, KeyArray]) -> dict[str, KeyArray]:
    """Columns in which infinities do not count as numbers."""
    return {
        name: column if column.dtype == object else np.where(np.isinf(column), np.nan, column)
        for name, column in columns.items()
    }


def first_numbers(columns: Mapping[str, KeyArray], values: Any) -> Any:
    """The first column of numbers; what stands for it where there are no columns."""
    return next((each for each in columns.values() if each.dtype != object), values)


def unmasked(given: Any) -> Any:
    """As an array; what is masked is missing."""
    if isinstance(given, np.ma.MaskedArray) and given.dtype.kind in "fiu":
        return np.where(np.ma.getmaskarray(given), np.nan, np.ma.getdata(given))
    return np.asarray(given)


def _column(name: str, given: Any, ok: BoolArray) -> KeyArray:
    column = unmasked(given)
    if column.shape != ok.shape:
        raise Misshapen(f"{name} of shape {column.shape} for {len(ok)} keys")
    if column.dtype.kind in "fiu":
        return np.where(ok, column, np.nan).astype(np.float64, copy=False)
    texts: KeyArray = np.where(ok, column.astype(object), np.array(None))
    if any(each is not None and type(each) is not str for each in texts.tolist()):
        raise Misshapen(f"{name} of neither numbers nor texts")
    return texts


def _listed(names: Any) -> str:
    return ", ".join(map(str, names)) or "of no name"
