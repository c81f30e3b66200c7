"""What a source gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from topwater.model.array_types import BoolArray, FloatArray, IntArray, KeyArray


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a source gave for some keys, in their order.

    Attributes
    ----------
    values
        One number a key; NaN where there is none.
    ok
        Whether the key was answered. An answered key with NaN has no value on the remote side.
    seconds
        How long it took.
    why
        For keys that were not answered, what went wrong: one of
        :data:`~topwater.problems.Problem`, or ``""`` where the source can't say. For keys that
        were answered without a number, why: one of :data:`~topwater.problems.Lack`; ``""`` is
        taken as ``"not_found"``. None if nothing is known of any key.
    wait
        After how many seconds the source asks to be asked again, if it said so.
    columns
        By name, where one look-up gives several values: an array of float64 for numbers, NaN
        where there is none, and one of objects for texts, None where there is none. ``values`` is
        the first column of numbers. Empty for a source with one value; and where no key was
        answered, it may be empty, too.
    whys
        By name, why answered keys have nothing in a column, as far as that is known: like ``why``.

    Examples
    --------
    >>> got = Fetched.of_columns({"price": np.array([3.0, np.nan]), "stock": np.array([7.0, 0.0])})
    >>> got.values.tolist(), got.numbers("stock").tolist(), got.texts("title").tolist()
    ([3.0, nan], [7.0, 0.0], [None, None])
    >>> got.at(np.array([0])).columns["stock"].tolist()
    [7.0]
    """

    values: FloatArray
    ok: BoolArray
    seconds: float = 0.0
    why: KeyArray | None = None
    wait: float | None = None
    columns: Mapping[str, KeyArray] = field(default_factory=dict)
    whys: Mapping[str, KeyArray] = field(default_factory=dict)

    @staticmethod
    def of_columns(columns: Mapping[str, KeyArray], ok: BoolArray | None = None) -> Fetched:
        """Several values a key, by name; at least one of them is a number."""
        first = next(column for column in columns.values() if column.dtype != object)
        answered = np.ones(len(first), np.bool_) if ok is None else ok
        return Fetched(first, answered, columns=columns)

    @staticmethod
    def nothing(count: int) -> Fetched:
        """A number of keys that were answered, and have no value."""
        return Fetched(np.full(count, np.nan), np.ones(count, np.bool_))

    @staticmethod
    def failed(count: int, why: str, seconds: float = 0.0) -> Fetched:
        """A number of keys that were not answered, all for the same reason."""
        lost = np.full(count, np.nan)
        return Fetched(lost, np.zeros(count, np.bool_), seconds, np.full(count, why, object))

    @staticmethod
    def joined(parts: Sequence[Fetched], seconds: float) -> Fetched:
        """What several calls gave, one after the other; at least one."""
        waits = [part.wait for part in parts if part.wait is not None]
        told = any(part.why is not None for part in parts)
        sizes = [len(part.ok) for part in parts]
        return Fetched(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.ok for part in parts]),
            seconds,
            np.concatenate([part.reasons() for part in parts]) if told else None,
            max(waits, default=None),
            _chained([part.columns for part in parts], sizes, None),
            _chained([part.whys for part in parts], sizes, ""),
        )

    def numbers(self, name: str) -> FloatArray:
        """A column of numbers; NaN for all keys if it did not come."""
        return self.columns.get(name, np.full(len(self.ok), np.nan))

    def texts(self, name: str) -> KeyArray:
        """A column of texts; None for all keys if it did not come."""
        return self.columns.get(name, np.full(len(self.ok), None, object))

    def at(self, rows: IntArray) -> Fetched:
        """What was given for some of the keys; it took as long."""
        return replace(
            self,
            values=self.values[rows],
            ok=self.ok[rows],
            why=None if self.why is None else self.why[rows],
            columns={name: column[rows] for name, column in self.columns.items()},
            whys={name: column[rows] for name, column in self.whys.items()},
        )

    def put(self, rows: IntArray, newer: Fetched) -> Fetched:
        """The same with what came for some of the keys; time and waits stay as they were."""
        told = self.why is not None or newer.why is not None
        size = len(self.ok)
        return Fetched(
            _written(self.values, rows, newer.values),
            _written(self.ok, rows, newer.ok),
            self.seconds,
            _written(self.reasons(), rows, newer.reasons()) if told else None,
            self.wait,
            _merged(self.columns, newer.columns, rows, size, None),
            _merged(self.whys, newer.whys, rows, size, ""),
        )

    def reasons(self) -> KeyArray:
        """Why each key failed, as an array even where nothing is known."""
        return np.full(len(self.ok), "", object) if self.why is None else self.why

    def problems(self) -> dict[str, int]:
        """How many keys failed, by what went wrong."""
        if self.why is None:
            lost = int(np.count_nonzero(~self.ok))
            return {"": lost} if lost else {}
        return dict(sorted(Counter(self.why[~self.ok].tolist()).items()))

    def lacks(self) -> dict[str, int]:
        """How many keys were answered without a number, by why."""
        without = self.ok & ~np.isfinite(self.values)
        lost = int(np.count_nonzero(without))
        if self.why is None:
            return {"not_found": lost} if lost else {}
        told = (each or "not_found" for each in self.why[without].tolist())
        return dict(sorted(Counter(told).items()))


def empty(column: KeyArray) -> BoolArray:
    """Where a column of numbers or of texts has nothing."""
    if column.dtype == object:
        return np.array([each is None for each in column.tolist()], np.bool_)
    return np.isnan(column)


def _written(old: KeyArray, rows: IntArray, new: KeyArray) -> KeyArray:
    written = old.copy()
    written[rows] = new
    return written


def _blank(like: KeyArray, size: int, text: str | None) -> KeyArray:
    """A column of the same kind in which nothing is known."""
    if like.dtype == object:
        return np.full(size, text, object)
    return np.full(size, np.nan)


def _merged(
    old: Mapping[str, KeyArray],
    new: Mapping[str, KeyArray],
    rows: IntArray,
    size: int,
    text: str | None,
) -> dict[str, KeyArray]:
    """Columns with other values in some rows; where one side has none, it says nothing."""
    merged = {}
    for name, like in {**new, **old}.items():
        column = old.get(name, _blank(like, size, text))
        merged[name] = _written(column, rows, new.get(name, _blank(like, len(rows), text)))
    return merged


def _chained(
    parts: Sequence[Mapping[str, KeyArray]], sizes: Sequence[int], text: str | None
) -> dict[str, KeyArray]:
    """Columns one after the other; a part that has none says nothing."""
    kinds = {name: column for part in parts for name, column in part.items()}
    return {
        name: np.concatenate(
            [
                part.get(name, _blank(like, size, text))
                for part, size in zip(parts, sizes, strict=True)
            ]
        )
        for name, like in kinds.items()
    }
