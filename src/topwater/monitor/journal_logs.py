"""What a journal writes of a monitor, strand by strand.

A log knows what changed in one part of a monitor, and how that part becomes what it was from what
was written. Where pieces and images go is not its business.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from topwater.model import BoolArray, IntArray
from topwater.monitor.loop import TopKMonitor
from topwater.monitor.shards import bucket_in_shard
from topwater.monitor.strand import FREE, Strand
from topwater.tables import column, pack, unpack


class Content(NamedTuple):
    """Bytes to be written, and the newest pane in them if they go with their panes."""

    packed: bytes
    until: int | None = None


class Log(Protocol):
    """One part of a monitor, as a journal sees it.

    Contract
    --------
    L1. ``news`` says what changed since it was last called; None if nothing did. A log that is
        ``whole`` says all that there is instead, and what was said before is void.
    L2. ``image`` says all that some buckets hold; None if that is nothing. A log that is whole
        makes no images.
    L3. ``begin``, then ``take`` of news and images in the order in which they were written, then
        ``end``: the part is as it was, to the last bit, whether it began ``afresh`` or as it was
        when some earlier news had been given. Of a content only what is in ``buckets`` counts.
    """

    name: str
    whole: bool

    def news(self) -> Content | None:
        """What changed since the last call."""

    def oldest(self) -> int | None:
        """The oldest pane that still counts; None if all do."""

    def image_size(self, strand: Strand) -> int | None:
        """About how many bytes images of everything take, if it is time to make them."""

    def image(self, low: int, high: int) -> Content | None:
        """What the buckets from ``low`` to before ``high`` hold."""

    def begin(self, *, afresh: bool) -> None:
        """Make ready to take in what was written."""

    def take(self, packed: bytes, buckets: BoolArray | None, *, image: bool) -> None:
        """Take in what was written."""

    def end(self) -> None:
        """All was taken in."""


class PaneLog:
    """Partial aggregates as they were admitted; pieces go with their panes.

    Where the same keys come again and again, so that merging makes far fewer rows of them, images
    take the place of pieces. What is kept of a key is summed in the same order either way.
    """

    name = "panes"
    whole = False

    def __init__(self, monitor: TopKMonitor) -> None:
        self._monitor = monitor
        self._row_size = 0.0
        self._held: tuple[pa.Table, IntArray] | None = None
        monitor.keep_admitted()

    def news(self) -> Content | None:
        """What was admitted."""
        self._held = None
        table = self._monitor.take_admitted()
        if table is None:
            return None
        found = _packed(table)
        self._row_size = len(found.packed) / table.num_rows
        return found

    def oldest(self) -> int | None:
        """The first pane of the window to be answered next."""
        current = self._monitor.current
        return None if current is None else self._monitor.query.window.panes_in(current)[0]

    def image_size(self, strand: Strand) -> int | None:
        """When pieces take more than twice what merging would leave of them."""
        total = strand.logged + strand.imaged
        if strand.crowded:
            return total
        strand.looked = min(strand.looked, total)
        if total <= FREE or 4 * total < 5 * strand.looked:
            return None
        strand.looked = total
        size = int(self._row_size * (self._monitor.pane_rows or 0))
        return size if total > 2 * size + FREE else None

    def image(self, low: int, high: int) -> Content | None:
        """Of the keys in these buckets."""
        if self._held is None:
            held = self._monitor.held()
            self._held = held, _buckets(held)
        table, buckets = self._held
        inside = table.filter(pa.array((buckets >= low) & (buckets < high)))
        return _packed(inside) if inside.num_rows else None

    def begin(self, *, afresh: bool) -> None:
        """A new one begins with nothing; another one forgets the windows that were answered."""
        if afresh:
            self._monitor.hold_afresh()
        elif self._monitor.current is not None:
            self._monitor.skip_to(self._monitor.current)

    def take(self, packed: bytes, buckets: BoolArray | None, *, image: bool) -> None:  # noqa: ARG002
        """Admit it again."""
        table, _ = unpack(packed)
        if buckets is not None:
            table = table.filter(pa.array(buckets[_buckets(table)]))
        self._monitor.hold(table, self.oldest() or 0)

    def end(self) -> None:
        """All was admitted."""


class WholeLog:
    """Something small that is written as a whole, if it changed.

    Parameters
    ----------
    name
        Of the strand.
    snapshot
        What it is now.
    restore
        Makes it what it was.
    """

    whole = True

    def __init__(
        self, name: str, snapshot: Callable[[], bytes], restore: Callable[[bytes], None]
    ) -> None:
        self.name = name
        self._snapshot = snapshot
        self._restore = restore
        self._last = b""

    def news(self) -> Content | None:
        """All of it."""
        packed = self._snapshot()
        digest = hashlib.blake2b(packed, digest_size=16).digest()
        if digest == self._last:
            return None
        self._last = digest
        return Content(packed)

    def oldest(self) -> int | None:
        """It has no panes of its own."""
        return None

    def image_size(self, strand: Strand) -> int | None:  # noqa: ARG002
        """Each piece is an image."""
        return None

    def image(self, low: int, high: int) -> Content | None:  # noqa: ARG002
        """Each piece is an image."""
        return None

    def begin(self, *, afresh: bool) -> None:
        """There is nothing to prepare."""

    def take(self, packed: bytes, buckets: BoolArray | None, *, image: bool) -> None:  # noqa: ARG002
        """Become it."""
        self._last = hashlib.blake2b(packed, digest_size=16).digest()
        self._restore(packed)

    def end(self) -> None:
        """There is nothing to add."""


def _packed(table: pa.Table) -> Content:
    return Content(pack(table, {}, compressed=True), int(column(table, "pane").max()))


def _buckets(table: pa.Table) -> IntArray:
    if "key" not in table.column_names:
        return np.empty(0, np.int64)
    return bucket_in_shard(table.column("key").combine_chunks())
