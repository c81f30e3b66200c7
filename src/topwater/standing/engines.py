"""What a set of standing queries is run by, and a query in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from topwater.model import FloatArray, IntArray
from topwater.standing.kernel_records import Records


@dataclass(frozen=True, slots=True)
class NumericQuery:
    """A query in numbers.

    Attributes
    ----------
    kind, column, point, weight
        How an object's cost is made (``costs``), and from which columns: as many as the point has
        coordinates, from ``column`` on.
    k, width
        How many are wanted of how many stamps.
    born
        The position of the first object that counts.
    """

    kind: int
    column: int
    point: FloatArray
    weight: FloatArray
    k: int
    width: int
    born: int


class Engine(Protocol):
    """Keeps the candidates of many queries.

    Rows are objects in the order of arrival; the object in row r has position ``origin + r``.
    """

    def admit(self, slot: int, query: NumericQuery) -> None:
        """Begin with a query. Its slot is free."""

    def dismiss(self, slot: int) -> None:
        """Forget a query."""

    def feed(self, columns: FloatArray, stamps: IntArray, origin: int, end: int) -> Records:
        """Bring all queries up to row ``end``: who got into a top for the first time (RESULT)."""

    def top(self, slot: int) -> Records:
        """A query's best k of its window, best first (ENTRY)."""

    def held(self) -> IntArray:
        """The positions of all objects that a query refers to; each as often as it is."""

    @property
    def reach(self) -> int:
        """Of how many stamps before the newest the rows must be kept."""

    def snapshot(self) -> dict[str, Any]:
        """All that :meth:`restore` needs: arrays, and values that JSON can hold."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot of an engine with the same settings."""
