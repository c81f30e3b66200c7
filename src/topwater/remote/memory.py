"""A source whose values lie in memory: for tests, examples, and small tables that never change."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from topwater.model import Fetched, Key, KeyArray
from topwater.remote.key_values import number
from topwater.remote.look import Look, no_value
from topwater.remote.wrappers.wrapper import failed
from topwater.validation import nearest, shown


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
        asked = keys.tolist()
        found = np.array([self.values.get(key, math.nan) for key in asked], np.float64)
        why = None
        if not np.isfinite(found).all():
            lacks = ["not_a_number" if key in self.values else "not_found" for key in asked]
            why = np.where(np.isfinite(found), "", np.array(lacks, object))
        return Fetched(found, np.ones(len(keys), bool), why=why)

    def check(self, key: Key | None = None) -> Look | None:
        """It can always be reached; with a key, tell its value.

        Raises
        ------
        SourceError
            If the key has none.
        """
        if key is None:
            return None
        value = number(self.values.get(key))
        if not math.isnan(value):
            return Look(key, value)
        if key in self.values:
            raise no_value(key, "not_a_number", shown(self.values[key]), "values")
        raise no_value(key, "not_found", field="values", fix=self._similar(key))

    def _similar(self, key: Key) -> str:
        """The key that was probably meant: keys of other types look alike, and are not the same."""
        texts = {str(each): each for each in self.values}
        near = str(key) if str(key) in texts else nearest(str(key), texts)
        if near is None:
            return "name a key that it has"
        return f"did you mean {shown(texts[near])}? It has no {shown(key)}"

    def close(self) -> None:
        """Nothing to give back."""
