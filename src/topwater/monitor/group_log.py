"""What changed of groups: of those that had events, or a window to answer.

A small group is written as a whole, its monitor's snapshot; of a large one, after the first time,
only what changed. Both are kept as they were written: of ten thousand groups that are remembered
only those become monitors that something happens to.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from topwater.model import BoolArray, IntArray, Key
from topwater.monitor.group_book import Entry
from topwater.monitor.grouped import GroupedMonitor
from topwater.monitor.journal_logs import Content
from topwater.monitor.shards import bucket_in_shard
from topwater.monitor.strand import Strand
from topwater.tables import keys_from_arrow, pack, unpack

_CONTENTS = ("state", "change")
_GONE = (None, None)
_AWAKE = 1_024
"""How many groups have a monitor when a record was written, unless more were in use."""


class GroupLog:
    """The groups of a monitor, each with all that its ranking needs.

    Parameters
    ----------
    monitor
        Whose groups they are.
    """

    name = "groups"
    whole = False

    def __init__(self, monitor: GroupedMonitor) -> None:
        self._monitor = monitor
        monitor.follow()

    def news(self) -> Content | None:
        """The groups that something happened to; of those that are gone, that they are."""
        touched = self._monitor.take_touched()
        found = self._packed(touched, whole=False) if touched else None
        # Those that have events in every record are not to be built anew for each.
        self._monitor.put_away(max(_AWAKE, 2 * len(touched)))
        return found

    def oldest(self) -> int | None:
        """Groups do not go with panes."""
        return None

    def image_size(self, strand: Strand) -> int | None:
        """When what changed takes more than half of what there is."""
        return strand.images_due

    def image(self, low: int, high: int) -> Content | None:
        """All groups of these buckets."""
        groups = self._monitor.book.groups
        buckets = _buckets(groups)
        inside = np.flatnonzero((buckets >= low) & (buckets < high))
        return self._packed([groups[at] for at in inside], whole=True) if len(inside) else None

    def begin(self, *, afresh: bool) -> None:
        """There is nothing to prepare."""

    def take(self, packed: bytes, buckets: BoolArray | None, *, image: bool) -> None:
        """Remember groups as they were written."""
        if image:
            groups = self._monitor.book.groups
            for group, bucket in zip(groups, _buckets(groups).tolist(), strict=True):
                if buckets is None or buckets[bucket]:
                    self._monitor.drop_group(group)
        table, _ = unpack(packed)
        if buckets is not None:
            table = table.filter(pa.array(buckets[_buckets(_groups(table))]))
        columns = [table.column(name).to_pylist() for name in (*_CONTENTS, *Entry._fields)]
        for group, state, change, *entry in zip(_groups(table), *columns, strict=True):
            if state is not None:
                self._monitor.put_group(group, state, Entry(*entry))
            elif change is not None:
                self._monitor.change_group(group, change, Entry(*entry))
            else:
                self._monitor.drop_group(group)

    def end(self) -> None:
        """There is nothing to add."""

    def _packed(self, groups: list[Key], *, whole: bool) -> Content:
        """Each group as a whole, or what changed of it where that is known."""
        known = [self._monitor.book.get(group) for group in groups]
        written = [
            _GONE if entry is None else self._contents_of(group, whole=whole)
            for group, entry in zip(groups, known, strict=True)
        ]
        columns = {
            name: pa.array([None if each is None else each[at] for each in known], pa.int64())
            for at, name in enumerate(Entry._fields)
        }
        contents = {
            name: pa.array([each[at] for each in written], pa.large_binary())
            for at, name in enumerate(_CONTENTS)
        }
        table = pa.table({"group": _arrow(groups), **contents, **columns})
        return Content(pack(table, {}, compressed=True))

    def _contents_of(self, group: Key, *, whole: bool) -> tuple[bytes | None, bytes | None]:
        return (self._monitor.packed_group(group), None) if whole else self._monitor.news_of(group)


def _arrow(groups: list[Key]) -> pa.Array:
    return pa.array(groups, pa.int64() if groups and isinstance(groups[0], int) else pa.string())


def _groups(table: pa.Table) -> list[Key]:
    found: list[Key] = keys_from_arrow(table.column("group")).tolist()
    return found


def _buckets(groups: list[Key]) -> IntArray:
    return bucket_in_shard(_arrow(groups))
