"""What the compiled loops share: records of queries and bags, and the arrays they travel in.

Arrays are handed over in named tuples. From Python that costs two microseconds more than one by
one, once per block of the stream; in compiled code a tuple is taken apart and costs nothing.

Numba's cache on disk knows the classes below by name and module. One that moves or is renamed has
to stay importable from its old place for a release, or old caches can't be read.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from topwater.model import FloatArray, IntArray

Records: TypeAlias = npt.NDArray[np.void]
Record: TypeAlias = Any
"""One of the records below; NumPy has no better type for it."""

Narrow: TypeAlias = npt.NDArray[np.float32]
Marks: TypeAlias = npt.NDArray[np.uint64]
"""Who of a chunk, as a mask, and where the chunk begins."""

ENTRY: Final = np.dtype(
    [("cost", "f8"), ("seq", "i8"), ("stamp", "i8"), ("beaten", "i4"), ("mark", "i4")]
)
"""An object in a bag: its cost, its position, its stamp, by how many it is beaten, its marks."""

BAG: Final = np.dtype(
    [
        ("base", "i8"),  # where its stretch of the pool begins
        ("room", "i8"),  # and how long it is
        ("head", "i8"),  # the first that counts
        ("tail", "i8"),  # one after the last
        ("top", "i8"),  # where its top begins
        ("wide", "i8"),  # how many it has room for
        ("size", "i8"),  # how many are in it
        ("covers", "i8"),  # 1 if the bag has no other
        ("oldest", "i8"),  # the oldest stamp of the k best
        ("k", "i8"),
        ("rule", "i8"),  # STRICT, RELAXED or PROBABILISTIC
        ("limit", "i8"),  # where pruning starts; how many a probabilistic bag keeps
        ("spare", "i8"),  # how many more gather before a trim; 1 if another filter has a bound
        ("bound", "f8"),  # what costs more is refused
    ]
)

STRICT: Final = 0
RELAXED: Final = 1
PROBABILISTIC: Final = 2
"""When the dominated, or the poor, are forgotten."""

REPORTED: Final = 1
PASSED: Final = 2
"""Marks: was in the top once; was let through by the filter."""

NEVER: Final = 1 << 62

QUERY: Final = np.dtype(
    [
        ("active", "i8"),
        ("kind", "i8"),  # how costs are made
        ("column", "i8"),  # the first of its columns
        ("dimensions", "i8"),  # and how many there are
        ("width", "i8"),  # of the window, in stamps
        ("born", "i8"),  # the position of its first object
        ("done", "i8"),  # the position of the next one
        ("need", "i8"),  # how many make a probabilistic bag's bound valid
        ("buffer", "i8"),  # how long an object is recent, in stamps; 0 without a filter
        ("portion", "i8"),  # how long a portion of the recent is
        ("current", "i8"),  # the number of the present portion
        ("left", "i8"),  # the number of the next portion to leave
        ("ring", "i8"),  # where its portions' bounds begin
        ("slots", "i8"),  # and how many there are
        ("capacity", "i8"),  # and may be
        ("watch", "i8"),  # what `auto` is doing
        ("alarm", "i8"),  # the stamp of the last sign that the order is not random
        ("recent", "i8"),  # the buffer while it is exact
        ("keep", "i8"),  # how many it keeps while it is watched
    ]
)

RESULT: Final = np.dtype([("query", "i8"), ("seq", "i8"), ("step", "i8"), ("cost", "f8")])
"""The object at position ``seq`` got into the top at the step of position ``step``."""

FED: Final = 0
FULL: Final = 1
CRAMPED: Final = 2
"""How a call ended: all is done; there is no place for results; a bag needs more room."""


class CostRule(NamedTuple):
    """How an object's cost is made: the kind, the first column, and what is compared with it."""

    kind: int
    column: int
    point: FloatArray
    weight: FloatArray


class Hits(NamedTuple):
    """Rows within a bound and their costs, and work space for the costs of a stretch."""

    rows: IntArray
    costs: FloatArray
    scratch: FloatArray


class Block(NamedTuple):
    """A stretch of the stream that every query is fed before the next one comes.

    Attributes
    ----------
    columns, stamps, origin
        All rows; the object in row r has position ``origin + r``.
    first, end
        The block's first row, and one after its last.
    narrow, least, most
        The block in single precision, and the range of each column.
    mode, edges, starts, order
        Its cells: see ``block_cells``.
    """

    columns: FloatArray
    stamps: IntArray
    origin: int
    first: int
    end: int
    narrow: Narrow
    least: FloatArray
    most: FloatArray
    mode: int
    edges: FloatArray
    starts: IntArray
    order: IntArray


class Workspace(NamedTuple):
    """Work space that queries use in turn, and where their results go."""

    here: Narrow
    marks: Marks
    box: IntArray
    hits: Hits
    heap: FloatArray
    results: Records


class Queries(NamedTuple):
    """All queries: records, bags, the pool, bounds of portions, points, weights, and gamma."""

    records: Records
    bags: Records
    pool: Records
    minima: FloatArray
    points: FloatArray
    weights: FloatArray
    gamma: float


class Member(NamedTuple):
    """One of the queries: its number, record, bag and filter, and what it shares with the rest."""

    number: int
    record: Record
    band: Record
    filter: Record
    pool: Records
    minima: FloatArray
    rule: CostRule
    gamma: float


class Arrival(NamedTuple):
    """An object that a query may want."""

    cost: float
    seq: int
    stamp: int
