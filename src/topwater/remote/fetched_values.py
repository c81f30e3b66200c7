"""What a source gave, in the types and the length that its contract asks for.

A query and a check judge it by the same function: what a check accepts, a query can use.
"""

from __future__ import annotations

import math
import traceback
from typing import get_args

import numpy as np

from topwater.model import BoolArray, Fetched, FloatArray, KeyArray
from topwater.problems import LACKS, Problem
from topwater.remote.fetched_columns import (
    Misshapen,
    finite,
    first_numbers,
    unmasked,
    valid_columns,
    valid_whys,
)

_PROBLEMS = frozenset(get_args(Problem))


def valid(got: Fetched, count: int, spent: float = 0.0, names: tuple[str, ...] = ()) -> Fetched:
    """What was fetched for ``count`` keys, in the right types.

    Parameters
    ----------
    got
        What the source gave.
    count
        How many keys it was asked for.
    spent
        How many seconds it took, if it does not tell.
    names
        What its columns are called; none for a source with one value.

    Raises
    ------
    Misshapen
        If that can't be.

    Examples
    --------
    >>> valid(Fetched([7, np.inf], [True, True]), 2).lacks()
    {'not_a_number': 1}
    """
    if not hasattr(got, "ok") or not hasattr(got, "values"):
        raise Misshapen(f"{type(got).__name__}, not Fetched")
    ok = np.asarray(got.ok)
    columns = valid_columns(getattr(got, "columns", {}), ok, names)
    values = unmasked(first_numbers(columns, got.values))
    if ok.dtype != np.bool_ or values.dtype.kind not in "fiu":
        raise Misshapen(f"values of {values.dtype} and ok of {ok.dtype}, not of float and bool")
    if values.shape != (count,) or ok.shape != (count,):
        raise Misshapen(f"values of shape {values.shape}, ok of {ok.shape}, for {count} keys")
    numbers: FloatArray = np.where(ok, values, np.nan).astype(np.float64, copy=False)
    seconds = float(got.seconds)
    # What is told counts, as a source may have a time of its own. One that tells nothing is timed.
    seconds = seconds if 0 < seconds < math.inf else spent
    wait = None if got.wait is None else float(got.wait)
    if wait is not None and not 0 <= wait < math.inf:
        wait = None
    why = _why(got.why, ok, numbers)
    whys = valid_whys(getattr(got, "whys", {}), ok, columns)
    return Fetched(numbers, ok, seconds, why, wait, finite(columns), whys)


def where_it_broke(error: BaseException) -> str:
    """What a source did wrong, and where; not the message, which may hold a password."""
    if isinstance(error, Misshapen):
        return f"gave {error}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"raised {type(error).__name__} at {frame.filename}:{frame.lineno}"


def _why(why: KeyArray | None, ok: BoolArray, numbers: FloatArray) -> KeyArray | None:
    """The reasons that can be: a problem if a key failed, a lack if it has no number."""
    finite = np.isfinite(numbers)
    if finite.all() or (why is None and not np.isinf(numbers).any()):
        return None
    if why is not None and np.shape(why) != ok.shape:
        raise Misshapen(f"{np.shape(why)} reasons for {ok.shape} keys")
    told = [""] * len(ok) if why is None else np.asarray(why, object).tolist()
    problems = np.array([each if each in _PROBLEMS else "" for each in told], object)
    lacks = np.array([each if each in LACKS else "not_found" for each in told], object)
    # Infinite is something else than unknown: the source does know the key.
    lacks[np.isinf(numbers)] = "not_a_number"
    return np.where(finite, "", np.where(ok, lacks, problems))
