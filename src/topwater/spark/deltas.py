"""What changed from one answer to the next: items that entered, moved, got another score, or left.

One more stateful stage, behind all others, so that it is the same for any number of shards. Its
state is the last answer of each group.
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pyspark.sql import Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DoubleType,
    IntegerType,
    StringType,
    StructField,
    StructType,
)

from topwater.spark.packed_rows import CELLS, ESTIMATES
from topwater.spark.planned_processor import planned
from topwater.spark.shard_placement import PLACE
from topwater.spark.workers import set_modules_aside

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues

ENTERED, MOVED, RESCORED, LEFT = "entered", "moved", "rescored", "left"

_WHOLE = ["group", "window_start", "window_end"]
_MORE = {
    "change": StringType(),
    "rank": IntegerType(),
    "previous_rank": IntegerType(),
    "previous_score": DoubleType(),
}
_BEFORE = StructType([StructField("answers", BinaryType())])


class Place(NamedTuple):
    """Where an item stood: its key, its time where items are events, its rank and its score."""

    key: Any
    time: int | None
    rank: int
    score: float


class Change(NamedTuple):
    """What became of an item: its place before, if it had one, and now, if it has one."""

    word: str
    before: Place | None
    now: Place | None


Answered: TypeAlias = tuple[int, list[Place]]
"""The end of a window, and what was in its answer, best first."""


def compare(before: Iterable[Place], now: Iterable[Place]) -> list[Change]:
    """What changed, in the order of the new ranks; what left comes last.

    Examples
    --------
    >>> ann, bob = Place("ann", None, 1, 5.0), Place("bob", None, 2, 4.0)
    >>> [(change.word, change.now) for change in compare([ann, bob], [bob._replace(rank=1)])]
    [('moved', Place(key='bob', time=None, rank=1, score=4.0)), ('left', None)]
    """
    known: dict[Any, deque[Place]] = defaultdict(deque)
    for place in before:
        known[place[:2]].append(place)
    found = []
    for place in now:
        # Events may be there twice, with equal keys and times.
        old = known[place[:2]].popleft() if known[place[:2]] else None
        if old is None:
            found.append(Change(ENTERED, None, place))
        elif old.rank != place.rank:
            found.append(Change(MOVED, old, place))
        elif old.score != place.score:
            found.append(Change(RESCORED, old, place))
    gone = sorted((place for places in known.values() for place in places), key=lambda p: p.rank)
    return found + [Change(LEFT, place, None) for place in gone]


def delta_rows(rows: DataFrame, *, each: bool) -> DataFrame:
    """Rows inside, with lists of what changed instead of lists of items.

    Parameters
    ----------
    rows
        The answers, one row for each window and group.
    each
        Whether items are events, which are the same only if their times are, too.
    """
    kinds = {field.name: field for field in rows.schema}
    names = [*_WHOLE, *CELLS, "exact", *ESTIMATES, "extras"]
    more = [StructField(name, ArrayType(kind)) for name, kind in _MORE.items()]
    schema = StructType([*(kinds[name] for name in names), *more])
    # Not a literal: Spark would take it out of the grouping.
    place = F.col("window_end").isNull().cast("int").alias(PLACE)
    keyed = rows.select(*names, place).groupBy(PLACE)
    return keyed.transformWithState(planned(Deltas(each=each)), schema, "Append", "None")


class Deltas(StatefulProcessor):
    """Compares each answer with the one before of its group.

    A group without an answer for a window that others are answered for has no item in it: what it
    had has left.

    Parameters
    ----------
    each
        Whether items are events.
    """

    def __init__(self, *, each: bool) -> None:
        self._each = each

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        set_modules_aside()
        self._state = handle.getValueState("before", _BEFORE)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002  one for all
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Compare the windows of a micro-batch."""
        stored = self._state.get()
        known = {} if stored is None else _unpacked(bytes(stored[0]))
        windows: dict[int, dict[Any, dict[str, Any]]] = defaultdict(dict)
        for row in rows:
            told = row.asDict()
            told.pop(PLACE, None)
            windows[told["window_end"]][told["group"]] = told
        found = []
        for end in sorted(windows):
            answered = windows[end]
            some = next(iter(answered.values()))
            for group in sorted(answered, key=str):
                now = self._places(answered[group])
                _, before = known.get(group, (0, []))
                found.append(_row(answered[group], compare(before, now)))
                known[group] = (end, now)
            for group in sorted((each for each in known if each not in answered), key=str):
                _, before = known.pop(group)
                gone = _nothing(some) | {"group": group}
                found.append(_row(gone, compare(before, [])))
        self._state.update((_packed(known),))
        return (Row(**row) for row in found if row["change"])

    def _places(self, told: Mapping[str, Any]) -> list[Place]:
        cells = zip(told["key"], told["time"], told["score"], strict=True)
        return [
            Place(key, time if self._each else None, rank, score)
            for rank, (key, time, score) in enumerate(cells, 1)
        ]


def _row(told: dict[str, Any], changes: Sequence[Change]) -> dict[str, Any]:
    """A row with a cell for each change."""
    places = [None if each.now is None else each.now.rank - 1 for each in changes]
    lists: dict[str, list[Any]] = {
        name: [None if at is None else told[name][at] for at in places] for name in CELLS
    }
    for at, change in enumerate(changes):
        if change.before is not None and change.now is None:
            lists["key"][at], lists["time"][at] = change.before[:2]
    return {
        **told,
        **lists,
        "extras": _extras(told["extras"], places),
        "change": [each.word for each in changes],
        "rank": [None if each.now is None else each.now.rank for each in changes],
        "previous_rank": [None if each.before is None else each.before.rank for each in changes],
        "previous_score": [None if each.before is None else each.before.score for each in changes],
    }


def _extras(said: str | None, places: Sequence[int | None]) -> str | None:
    if said is None:
        return None
    rows = json.loads(said)["rows"]
    return json.dumps({"rows": [{} if at is None else rows[at] for at in places]})


def _nothing(told: Mapping[str, Any]) -> dict[str, Any]:
    """A window like this one, of which nothing is known but when it was."""
    return {name: each if name in _WHOLE else None for name, each in told.items()}


def _packed(known: Mapping[Any, Answered]) -> bytes:
    told = [[group, end, places] for group, (end, places) in known.items()]
    return zlib.compress(json.dumps(told).encode(), 1)


def _unpacked(packed: bytes) -> dict[Any, Answered]:
    told = json.loads(zlib.decompress(packed))
    return {group: (end, [Place(*each) for each in places]) for group, end, places in told}
