"""A source whose values lie in memory: for tests, examples, and small tables that never change."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from topwater.errors import QueryError
from topwater.model import Fetched, Key, KeyArray
from topwater.remote.fetched_values import valid
from topwater.remote.key_values import number, text
from topwater.remote.look import Look, keys_of, look_of, no_value
from topwater.remote.wrappers.wrapper import failed
from topwater.validation import nearest, shown


class MemorySource:
    """Answers from a mapping.

    Parameters
    ----------
    values
        One number a key; or several values of a key by their names, numbers and texts. What has
        a text is a text for all keys. Change them at will: the mapping is not copied.

    Examples
    --------
    >>> MemorySource({"a": 1.0}).fetch(np.array(["a", "b"], object)).values.tolist()
    [1.0, nan]
    >>> source = MemorySource({"a": {"price": 3.0, "title": "tea"}, "b": {"price": 4.0}})
    >>> source.fetch(np.array(["a", "b"], object)).columns
    {'price': array([3., 4.]), 'title': array(['tea', None], dtype=object)}
    """

    punctual = True

    def __init__(self, values: Mapping[Any, Any]) -> None:
        self.values = values
        self.names, self.text_names = _named(values)

    def __repr__(self) -> str:
        return f"MemorySource({len(self.values)} keys)"

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``; it takes no time, and fails only if there is none at all."""
        if deadline is not None and not deadline > 0:
            return failed(keys, "late")
        asked = keys.tolist()
        if not self.names:
            found = np.array([self.values.get(key, math.nan) for key in asked], np.float64)
            return Fetched(found, np.ones(len(keys), bool), why=self._why(asked, found))
        rows = [self.values.get(key, {}) for key in asked]
        columns = {name: self._column(name, rows) for name in self.names}
        got = Fetched.of_columns(columns)
        why = self._why(asked, got.values)
        return Fetched(got.values, got.ok, why=why, columns=columns)

    @property
    def key_kind(self) -> str | None:
        """Whether its keys are all text, or all whole numbers; None if it has others, or none."""
        kinds = {type(key) for key in self.values}
        return {frozenset({str}): "text", frozenset({int}): "number"}.get(frozenset(kinds))

    def _column(self, name: str, rows: list[Mapping[str, Any]]) -> KeyArray:
        if name in self.text_names:
            return np.array([text(row.get(name)) for row in rows], object)
        return np.array([number(row.get(name)) for row in rows], np.float64)

    def _why(self, asked: list[Any], found: KeyArray) -> KeyArray | None:
        if np.isfinite(found).all():
            return None
        lacks = ["not_a_number" if key in self.values else "not_found" for key in asked]
        return np.where(np.isfinite(found), "", np.array(lacks, object))

    def check(self, key: Key | None = None) -> Look | None:
        """It can always be reached; with a key, give its value, or its values.

        Raises
        ------
        SourceError
            If the key has none.
        """
        if key is None:
            return None
        if key not in self.values:
            raise no_value(key, "not_found", field="values", fix=self._similar(key))
        if self.names:
            return look_of(valid(self.fetch(keys_of(key)), 1), key)
        value = number(self.values[key])
        if math.isnan(value):
            raise no_value(key, "not_a_number", shown(self.values[key]), "values")
        return Look(key, value)

    def _similar(self, key: Key) -> str:
        """The key that was probably meant: keys of other types look alike, and are not the same."""
        texts = {str(each): each for each in self.values}
        near = str(key) if str(key) in texts else nearest(str(key), texts)
        if near is None:
            return "name a key that it has"
        return f"did you mean {shown(texts[near])}? It has no {shown(key)}"

    def close(self) -> None:
        """Nothing to give back."""


def _named(values: Mapping[Any, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of several values, and those of texts; none where each key has one number."""
    rows = [each for each in values.values() if isinstance(each, Mapping)]
    if not rows:
        return (), ()
    odd = next((key for key, each in values.items() if not isinstance(each, Mapping)), None)
    if len(rows) < len(values):
        raise QueryError(
            f"the key {shown(odd)} has one value, and others have several",
            field="values",
            fix='write {"ann": {"price": 3.0, "stock": 7}, …} for all keys',
        )
    names = dict.fromkeys(name for row in rows for name in row)
    texts = dict.fromkeys(name for row in rows for name, value in row.items() if _is_text(value))
    if not names or len(texts) == len(names) or not all(type(name) is str for name in names):
        raise QueryError(
            "has no number, or a name that is not a text",
            field="values",
            fix='write {"ann": {"price": 3.0, "stock": 7}, …}',
        )
    return tuple(names), tuple(texts)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and math.isnan(number(value))
