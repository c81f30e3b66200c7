"""One window before and after its values were refreshed: what goes in, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topwater.model import BoolArray, FloatArray, Freshness, IntArray, KeyArray, Millis, Remote
from topwater.replica.look_ups import LookUps
from topwater.replica.number_order import nth_greatest
from topwater.tables import keys_to_arrow


class KeyIndex(Protocol):
    """Gives back the keys that have slots."""

    def keys_at(self, slots: IntArray) -> KeyArray:
        """The keys in these slots."""

    def arrow_at(self, slots: IntArray) -> pa.Array:
        """The same as Arrow data: no Python object is made of them."""


class Labels(Protocol):
    """Gives back the labels that codes stand for."""

    def arrow_at(self, codes: IntArray) -> pa.Array:
        """The labels of these codes."""

    def shown(self, codes: FloatArray) -> np.ndarray[Any, Any]:
        """What is shown of some numbers: labels of codes, None for none, numbers as they are."""


def _nowhere() -> IntArray:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class WindowView:
    """What the stream says of one window: its keys, and what each contributes. A row a key.

    Rows come in any order, unless the policy says that it matters (``PolicyEntry.by_rows``): then
    they are sorted by key.

    Attributes
    ----------
    index, end
        The window's number, and when it closes.
    names
        The keys, or where the keys of ``slots`` are found; see :meth:`keys_at`.
    values
        What the stream says of each key, by name.
    last_event
        The time of each key's last event.
    slots
        Of the keys, in the replica; or in an index of the window's own, where nothing is remote.
        None yet if the view was made from keys.
    nominated
        Which keys may be looked up though they never were; None for all.
    left_out
        How many keys of the window have no row.
    labels
        What the numbers of some names stand for, where it is not the numbers that count.
    """

    index: int
    end: Millis
    names: KeyArray | KeyIndex
    values: Mapping[str, FloatArray]
    last_event: IntArray
    slots: IntArray = field(default_factory=_nowhere)
    nominated: BoolArray | None = None
    left_out: int = 0
    labels: Mapping[str, Labels] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.last_event)

    @property
    def placed(self) -> bool:
        """Whether the keys' slots are known."""
        return len(self.slots) == len(self)

    def at(self, slots: IntArray) -> WindowView:
        """The same with slots."""
        return replace(self, slots=slots)

    def by_key(self) -> WindowView:
        """The same, with its rows sorted by key."""
        order = pc.sort_indices(self.arrow_at(np.arange(len(self)))).to_numpy()
        return replace(
            self,
            names=self.names[order] if isinstance(self.names, np.ndarray) else self.names,
            values={name: column[order] for name, column in self.values.items()},
            last_event=self.last_event[order],
            slots=self.slots[order] if self.placed else self.slots,
            nominated=None if self.nominated is None else self.nominated[order],
        )

    @property
    def keys(self) -> KeyArray:
        """All keys. Dear where they are text: ask for those that are shown by :meth:`keys_at`."""
        return self.names if isinstance(self.names, np.ndarray) else self.names.keys_at(self.slots)

    def keys_at(self, rows: IntArray) -> KeyArray:
        """The keys of these rows.  O(rows)."""
        if isinstance(self.names, np.ndarray):
            return np.asarray(self.names[rows])
        return self.names.keys_at(self.slots[rows])

    def rows_of(self, slots: IntArray) -> IntArray:
        """The row of each of these slots; -1 for those that are not in the window.  O(rows)."""
        here = np.flatnonzero(np.isin(self.slots, slots))
        here = here[np.argsort(self.slots[here])]
        found = np.append(self.slots[here], -1)
        at = np.searchsorted(found[:-1], slots)
        return np.where(found[at] == slots, np.append(here, -1)[at], -1)

    def best_first(
        self, scores: FloatArray, most: int | None = None, among: IntArray | None = None
    ) -> IntArray:
        """Rows with a score, best first: score, then the younger, then the smaller key.

        With ``most`` only so many of them are given, and sorted: O(rows + most · log most). With
        ``among`` only some rows are looked at.
        """
        rows = _contenders(scores if among is None else scores[among], most)
        rows = rows if among is None else among[rows]
        if most is not None and most < len(rows):
            rows = self._first(rows, scores, most)
        rows = rows[np.lexsort((-self.last_event[rows], -scores[rows]))]
        return self._ties_by_key(rows, scores)

    def _first(self, rows: IntArray, scores: FloatArray, most: int) -> IntArray:
        """The best of these rows, in any order."""
        better, level = _upper(rows, scores[rows], most)
        younger, equal = _upper(level, self.last_event[level], most - len(better))
        wanted = most - len(better) - len(younger)
        return np.concatenate([better, younger, self.least(equal, wanted)])

    def least(self, rows: IntArray, count: int) -> IntArray:
        """Those of these rows that have the smallest keys, in any order."""
        if count >= len(rows):
            return rows
        keys = pa.table({"key": self.arrow_at(rows)})
        least = pc.select_k_unstable(keys, count, [("key", "ascending")])
        return np.asarray(rows[least.to_numpy()])

    def arrow_at(self, rows: IntArray) -> pa.Array:
        """The keys of these rows as Arrow data: no Python object is made of them.  O(rows)."""
        if isinstance(self.names, np.ndarray):
            return keys_to_arrow(self.names[rows])
        return self.names.arrow_at(self.slots[rows])

    def _ties_by_key(self, rows: IntArray, scores: FloatArray) -> IntArray:
        """Rows that are ranked but for their keys: look only at the keys of equals."""
        same = _same_as_next(scores[rows]) & _same_as_next(self.last_event[rows])
        if not same.any():
            return rows
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        run = np.cumsum(np.append(True, ~same))[tied]
        rows[tied] = rows[tied][np.lexsort((self.keys_at(rows[tied]), run))]
        return rows


def _contenders(scores: FloatArray, most: int | None) -> IntArray:
    """Where scores are numbers; with ``most``, only as many as may be among the best."""
    wanted = np.isfinite(scores)
    if most is not None and 0 < most < len(scores):
        numbers = scores if wanted.all() else np.where(wanted, scores, -np.inf)
        wanted &= numbers >= nth_greatest(numbers, most)
    return np.flatnonzero(wanted)


def _upper(rows: IntArray, by: FloatArray | IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Of these rows those above the ``count``-th greatest number, and those at it."""
    if count <= 0 or not len(rows):
        return rows[:0], rows[:0]
    border = nth_greatest(by, min(count, len(rows)))
    return rows[by > border], rows[by == border]


def _same_as_next(column: FloatArray | IntArray) -> BoolArray:
    return np.asarray(column[1:] == column[:-1])


@dataclass(frozen=True, slots=True)
class Ranking:
    """One window's best keys, and what is known of how right they are.

    Attributes
    ----------
    rows
        Rows of the view, best first, at most k.
    scores, remote, age, confidence
        Per row: the score (larger is better), the remote value, how long ago it was fetched (in
        milliseconds; -1 for never), and the probability that it is still right. A remote value
        that is not a number is not known at all.
    assumed
        Per row: None if the source gave the remote value, or else why it did not.
    exact
        Whether every key of the window was read for this answer.
    look_ups
        What was asked for it, and what came.
    freshness
        How many look-ups that were, and how right the answer is estimated to be.
    unscored
        How many keys have no score, although a remote value is known or taken for them.
    forgotten
        How many keys were forgotten after it, to stay within the replica's limits.
    remotes
        Per row, where there are several remote values: each by its name.
    spent, left
        What the look-ups cost, where costs count; and what is left of each quota.
    notices
        What became of the changes that were told, and of how many.
    """

    rows: IntArray
    scores: FloatArray
    remote: FloatArray
    age: IntArray
    confidence: FloatArray
    assumed: Sequence[str | None]
    exact: bool
    look_ups: LookUps
    freshness: Freshness
    unscored: int = 0
    forgotten: int = 0
    remotes: Sequence[Mapping[str, Remote]] = ()
    spent: float | None = None
    left: tuple[tuple[str, float], ...] = ()
    notices: tuple[tuple[str, int], ...] = ()
