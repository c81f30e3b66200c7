"""One strand of a journal: what came, piece by piece, and images of what it has become.

::

    pieces     1 ─ 2 ─ 3 ─ 4 ─ 5 ─ 6 ─ 7        each what one record brought
    segments   [ buckets 0..127 as of 5 ][ buckets 128..255 as of 6 ]

A piece says what changed; a segment says what some buckets hold. So of bucket 3 only pieces after
5 still tell something, and pieces up to 5 go: all their buckets have a younger image. Images are
made bucket by bucket, so that no record has to write everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from topwater.model import BoolArray, IntArray

BUCKETS = 256
"""Into how many buckets the rows of a strand are divided."""

SEGMENT = 2 * 2**20
"""About how many bytes a segment has."""

FREE = 4 * 2**20
"""Bytes of pieces that are never too many."""

_PIECES, _PIECE = 64, 32_768


class Piece(NamedTuple):
    """What one record brought.

    Attributes
    ----------
    sequence
        The number of the record.
    size
        In bytes.
    until
        The newest pane in it; None if it does not go with its panes.
    ids
        Of its chunks.
    """

    sequence: int
    size: int
    until: int | None
    ids: tuple[int, ...]


class Segment(NamedTuple):
    """What the buckets from ``low`` to before ``high`` held after a record."""

    sequence: int
    size: int
    until: int | None
    ids: tuple[int, ...]
    low: int
    high: int


@dataclass(slots=True)
class Strand:
    """The pieces and segments that are still needed.

    Attributes
    ----------
    pieces, segments
        By their sequence numbers, ascending.
    marks
        Per bucket, the record of its latest image; 0 for none.
    dropped
        The youngest piece that is gone because segments tell what it did.
    low, width
        The bucket with which the next segment begins, and how many it takes; a width of 0 while
        no images are made.
    looked
        The bytes of all pieces when it was last asked whether images would be smaller.
    """

    pieces: list[Piece] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    marks: IntArray = field(default_factory=lambda: np.zeros(BUCKETS, np.int64))
    dropped: int = 0
    low: int = 0
    width: int = 0
    looked: int = 0

    @property
    def logged(self) -> int:
        """Bytes of all pieces."""
        return sum(piece.size for piece in self.pieces)

    @property
    def imaged(self) -> int:
        """Bytes of all segments."""
        return sum(segment.size for segment in self.segments)

    @property
    def crowded(self) -> bool:
        """Whether naming all pieces costs more than an image."""
        return len(self.pieces) > _PIECES + (self.logged + self.imaged) // _PIECE

    @property
    def images_due(self) -> int | None:
        """About how many bytes images of everything take, if pieces have piled up; else None."""
        if self.crowded or self.logged > max(FREE, self.imaged // 2):
            return self.imaged or self.logged
        return None

    def ids(self) -> set[int]:
        """Of all chunks that are needed."""
        return {id_ for part in self.in_order() for id_ in part.ids}

    def begin_images(self, size: int) -> None:
        """Begin to make images of all buckets, which take about ``size`` bytes together."""
        self.low, self.width = 0, max(1, BUCKETS * SEGMENT // max(SEGMENT, size))

    def next_range(self) -> tuple[int, int]:
        """The buckets of the next segment."""
        return self.low, min(BUCKETS, self.low + self.width)

    def add_segment(self, segment: Segment) -> None:
        """Take note of an image, the next one in turn."""
        self.marks[segment.low : segment.high] = segment.sequence
        if segment.ids:
            self.segments.append(segment)
        self.low = segment.high % BUCKETS
        self.width = self.width if self.low else 0

    def expire(self, oldest: int | None) -> None:
        """Let go what lies before a pane, and what younger segments say."""
        covered = int(self.marks.min())
        gone = [piece for piece in self.pieces if piece.sequence <= covered]
        self.dropped = max([self.dropped, *(piece.sequence for piece in gone)])
        self.pieces = [
            piece for piece in self.pieces if piece.sequence > covered and _alive(piece, oldest)
        ]
        self.segments = [
            each for each in self.segments if self._shown(each) and _alive(each, oldest)
        ]

    def buckets_of(self, part: Piece | Segment) -> BoolArray | None:
        """The buckets of which a part still says something; None for all of them."""
        if isinstance(part, Segment):
            buckets = np.zeros(BUCKETS, bool)
            buckets[part.low : part.high] = self.marks[part.low : part.high] == part.sequence
        else:
            buckets = self.marks < part.sequence
        return None if buckets.all() else buckets

    def in_order(self) -> list[Piece | Segment]:
        """All parts, by their sequence numbers; of one record the piece first."""
        parts: list[Piece | Segment] = [*self.pieces, *self.segments]
        return sorted(parts, key=lambda part: (part.sequence, isinstance(part, Segment)))

    def to_dict(self) -> dict[str, Any]:
        """For JSON, and for :meth:`from_dict`."""
        runs = [[mark, len([*run])] for mark, run in groupby(self.marks.tolist())]
        return {
            "pieces": self.pieces,
            "segments": self.segments,
            "marks": runs,
            "rest": [self.dropped, self.low, self.width, self.looked],
        }

    @staticmethod
    def from_dict(state: Mapping[str, Any]) -> Strand:
        """What :meth:`to_dict` gave."""
        marks = [np.full(length, mark, np.int64) for mark, length in state["marks"]]
        return Strand(
            [Piece(a, b, c, tuple(ids)) for a, b, c, ids in state["pieces"]],
            [Segment(a, b, c, tuple(ids), d, e) for a, b, c, ids, d, e in state["segments"]],
            np.concatenate(marks),
            *state["rest"],
        )

    def _shown(self, segment: Segment) -> bool:
        return bool((self.marks[segment.low : segment.high] == segment.sequence).any())


def _alive(part: Piece | Segment, oldest: int | None) -> bool:
    return part.until is None or oldest is None or part.until >= oldest
