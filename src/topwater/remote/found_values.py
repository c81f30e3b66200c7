"""What came for the keys of a request: one value of each, or several by name.

Whatever a source speaks, it hands in what it found row by row; here it becomes columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from topwater.model import Fetched
from topwater.remote.key_values import DOUBLED, NOTHING, Matches, Texts, number, text
from topwater.remote.wanted_values import Merge, Wanted, names_of


class Found:
    """The values of keys, as they come.

    Parameters
    ----------
    wanted
        One value without a name, or several with names.
    stated
        False where the source said that it does not know what it was asked for: then no rows are
        not a count of 0.

    Examples
    --------
    >>> found = Found((Wanted("", "price", merge="max"),))
    >>> for key, price in (("a", 3), ("b", 5), ("a", 4)):
    ...     found.add(key, (price,))
    >>> found.fetched(["a", "b", "c"], 0.0).values.tolist()
    [4.0, 5.0, nan]
    """

    def __init__(self, wanted: Sequence[Wanted], *, stated: bool = True) -> None:
        self.wanted = wanted
        self._stated = stated
        self._cells = [_cells(each) for each in wanted]

    def add(self, key: str, values: Iterable[Any]) -> None:
        """Take note of a row: a value for all that is wanted."""
        for cells, value in zip(self._cells, values, strict=True):
            cells.add(key, value)

    def add_at(self, at: int, key: str, value: Any) -> None:
        """Take note of a value of one of those that are wanted."""
        self._cells[at].add(key, value)

    def matches(self, at: int = 0) -> Matches:
        """What was found of one of the wanted values."""
        cells = self._cells[at]
        return cells.merged() if isinstance(cells, _Several) else cells

    def fetched(self, keys: Sequence[str], seconds: float) -> Fetched:
        """The answer for ``keys``. A key of which two rows differ is not answered."""
        matched = [self._complete(at, keys) for at in range(len(self.wanted))]
        if not names_of(self.wanted):
            return matched[0].fetched(keys, seconds)
        doubled = set().union(*(each.doubled for each in matched))
        ok = np.array([key not in doubled for key in keys], bool)
        columns, whys = {}, {}
        for each, found in zip(self.wanted, matched, strict=True):
            columns[each.name] = found.column(keys, doubled)
            told = np.array([found.reason(key) for key in keys], object)
            whys[each.name] = np.where(ok, told, "")
        first = next(each.name for each in self.wanted if not each.text)
        why = np.where(ok, whys[first], "doubled")
        return Fetched(columns[first], ok, seconds, why, columns=columns, whys=whys)

    def _complete(self, at: int, keys: Sequence[str]) -> Matches:
        """With the keys of which there are no rows, where that is a number too."""
        found = self.matches(at)
        absent = self.wanted[at].absent
        if self._stated and not math.isnan(absent):
            for key in keys:
                found.values.setdefault(key, absent)
        return found


@dataclass(slots=True)
class _Several:
    """All values of each key, which become one."""

    merge: Merge
    text: bool
    given: dict[str, list[Any]] = field(default_factory=dict)

    def add(self, key: str, value: Any) -> None:
        self.given.setdefault(key, []).append(value)

    def merged(self) -> Matches:
        found = Texts() if self.text else Matches()
        for key, values in self.given.items():
            found.add(key, merged(values, self.merge, text_of=self.text))
        return found


def _cells(wanted: Wanted) -> Matches | _Several:
    if wanted.merge is not None:
        return _Several(wanted.merge, wanted.text)
    return Texts() if wanted.text else Matches()


def merged(values: Sequence[Any], merge: Merge, *, text_of: bool = False) -> Any:
    """What becomes of several values of a key; those that are missing do not count.

    One that is not a number spoils the others too, as its true value is unknown.

    Examples
    --------
    >>> [merged([3, None, "5"], merge) for merge in ("max", "min", "mean", "sum", "count")]
    [5.0, 3.0, 4.0, 8.0, 2]
    >>> merged([3, "many"], "sum"), merged([3, "many"], "sample"), merged([None, None], "max")
    ('many', 3.0, None)
    >>> merged(["tea", "mate"], "min", text_of=True)
    'mate'
    """
    there = [value for value in values if value is not None and value is not NOTHING]
    if merge == "count":
        return len(there)
    if len(there) < 2 or DOUBLED in there:
        return (there or values)[0] if DOUBLED not in there else DOUBLED
    if text_of:
        texts = [found for found in map(text, there) if found is not None] or there[:1]
        return texts[0] if merge == "sample" else max(texts) if merge == "max" else min(texts)
    numbers = [number(value) for value in there]
    odd = [value for value, found in zip(there, numbers, strict=True) if math.isnan(found)]
    if merge == "sample":
        return next((found for found in numbers if not math.isnan(found)), odd[:1] and odd[0])
    return odd[0] if odd else _OF_NUMBERS[merge](numbers)


_OF_NUMBERS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "max": max,
    "min": min,
    "mean": lambda values: math.fsum(values) / len(values),
    "sum": math.fsum,
}
