"""A source whose values lie in memory: for tests, examples, and small tables that never change."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from topwater.model import Fetched, KeyArray
from topwater.remote.wrappers.wrapper import failed


class MemorySource:
    """Answers from a mapping.

    Parameters
    ----------
    values
        One number a key. Change it at will: the mapping is not copied.

    Examples
    --------
    >>> MemorySource({"a": 1.0}).fetch(np.array(["a", "b"], object)).values.tolist()
    [1.0, nan]
    """

    punctual = True

    def __init__(self, values: Mapping[Any, float]) -> None:
        self.values = values

    def __repr__(self) -> str:
        return f"MemorySource({len(self.values)} keys)"

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``; it takes no time, and fails only if there is none at all."""
        if deadline is not None and not deadline > 0:
            return failed(keys, "late")
        found = [self.values.get(key, math.nan) for key in keys.tolist()]
        return Fetched(np.array(found, np.float64), np.ones(len(keys), bool))

    def check(self) -> None:
        """It can always be reached."""

    def close(self) -> None:
        """Nothing to give back."""
