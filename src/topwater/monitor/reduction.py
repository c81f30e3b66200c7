"""A batch reduced to what can still matter: small enough to be sent to another process.

Batches are reduced where they are read, and the windows are kept elsewhere: in the same monitor,
or in one of several that share the keys or the groups among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topwater.candidates.runs import reduce
from topwater.model import Counts, FloatArray, IntArray, Items, Key
from topwater.monitor.columns import (
    Batch,
    Readout,
    heartbeats,
    keys_of,
    of_query,
    only_finite,
    read,
)
from topwater.monitor.event_time import PaneTimes
from topwater.monitor.labels import codes_of, with_labels
from topwater.monitor.shards import shard_of
from topwater.query import TopKQuery
from topwater.scoring.aggregates import LABEL, SOURCE, Aggregation
from topwater.scoring.ranges import RunningRanges
from topwater.tables import items_to_table, keys_from_arrow, pack, unpack

FloorsAt = Callable[[IntArray], FloatArray]


@dataclass(frozen=True, slots=True)
class PartialBatch:
    """A batch, or a shard's part of one.

    Attributes
    ----------
    table
        Items, or partial aggregates.
    times
        When the events of the whole batch happened: every shard must come to the same time.
    counts
        What could not be used.
    counted
        Whether the events of the batch are counted with this part. Exactly one part counts them.
    group
        Whose ranking it belongs to, if there is one per group.
    """

    table: pa.Table
    times: PaneTimes
    counts: Counts = field(default_factory=Counts)
    counted: bool = True
    group: Key | None = None

    def pack(self) -> bytes:
        """As bytes."""
        meta = {
            "panes": self.times.panes.tolist(),
            "events": self.times.events.tolist(),
            "newest": self.times.newest.tolist(),
            "counts": asdict(self.counts),
            "counted": self.counted,
            "group": self.group,
        }
        return pack(self.table, meta)

    @staticmethod
    def unpack(packed: bytes) -> PartialBatch:
        """What :meth:`pack` wrote."""
        table, meta = unpack(packed)
        columns = (np.array(meta[name], np.int64) for name in ("panes", "events", "newest"))
        counts = Counts(**meta["counts"])
        return PartialBatch(table, PaneTimes(*columns), counts, meta["counted"], meta["group"])

    def split(self, shards: int) -> Iterator[PartialBatch]:
        """The part of each shard, in order.

        Reducing first and splitting then is exact: of a pane's k best of all, each is among the
        k best of its own shard.
        """
        if shards == 1:
            yield self
            return
        where = shard_of(self.table.column("key").combine_chunks(), shards)
        for shard in range(shards):
            table = self.table.filter(pa.array(where == shard))
            counts = Counts() if shard else self.counts
            yield replace(self, table=table, counts=counts, counted=not shard)


def reduce_for_shards(
    query: TopKQuery, batch: Batch, shards: int = 1
) -> Iterator[tuple[int, PartialBatch]]:
    """A batch reduced and divided: pairs of a shard and what it gets.

    Every shard gets something, so that all come to the same time together.
    """
    if query.group_column is None:
        yield from enumerate(reduce_batch(query, batch).split(shards))
        return
    found = [*_by_group(query, query.group_column, batch)]
    times = PaneTimes.union([part.times for part in found])
    for shard in range(shards):
        yield shard, PartialBatch(pa.table({}), times, counted=False)
    for part in found:
        group = pa.array([] if part.group is None else [part.group])
        yield int(shard_of(group, shards).sum()), part


def _by_group(query: TopKQuery, name: str, batch: Batch) -> Iterator[PartialBatch]:
    """One part per group; one for heartbeats; and one for rows without a group: a bad key."""
    table = of_query(query, batch)
    coded = pc.dictionary_encode(keys_of(table, name, "group_by"))
    codes = np.where(heartbeats(table, query.heartbeat), -1, coded.indices.fill_null(-1))
    lost = table.filter(pa.array(codes < 0))
    if lost.num_rows:
        at = lost.column_names.index(query.key_column)
        yield reduce_batch(query, lost.set_column(at, query.key_column, pa.nulls(lost.num_rows)))
    order = np.argsort(codes, kind="stable")
    table = table.take(pa.array(order))
    bounds = np.searchsorted(codes[order], np.arange(len(coded.dictionary) + 1))
    for group, start, end in zip(coded.dictionary.to_pylist(), bounds, bounds[1:], strict=False):
        part = reduce_batch(query, table.slice(int(start), int(end - start)))
        yield replace(part, group=group)


def reduce_batch(
    query: TopKQuery,
    batch: Batch,
    *,
    position: int = 0,
    ranges: RunningRanges | None = None,
    floors: FloorsAt | None = None,
    hint: FloatArray | None = None,
) -> PartialBatch:
    """Reduce a batch to what the windows need of it.

    Parameters
    ----------
    query, batch
        What is asked, and what came.
    position
        How many events came before, for count windows.
    ranges
        The running ranges of the score, which take in this batch.
    floors
        Per pane, a score below which items are known to be useless.
    hint
        What the scores are expected to be, from batch to batch.
    """
    readout = read(query, batch)
    if query.aggregation is None:
        return _reduce_items(query, readout, position, ranges, floors, hint)
    return _reduce_keys(query, query.aggregation, readout, position)


def _reduce_items(
    query: TopKQuery,
    readout: Readout,
    position: int,
    ranges: RunningRanges | None,
    floors: FloorsAt | None,
    hint: FloatArray | None,
) -> PartialBatch:
    scores = query.score.rank_scores(readout.values, ranges)
    readout, scores = only_finite(readout, scores)
    time = _placed(query, readout, position)
    # Row numbers stand for the keys, so that only the keys of what is kept are ever touched.
    arrivals = query.window.group(Items(scores, time, np.arange(len(readout))))
    runs = reduce(
        arrivals,
        query.k,
        floors=None if floors is None else floors(arrivals.panes),
        hint=hint,
        keys_at=lambda rows: keys_from_arrow(readout.key.take(pa.array(rows))),
    )
    starts = arrivals.bounds[:-1]
    newest = np.maximum.reduceat(arrivals.items.time, starts) if len(starts) else starts
    times = PaneTimes(arrivals.panes, np.diff(arrivals.bounds), newest)
    return PartialBatch(
        items_to_table(runs.items), _and_beats(query, times, readout), readout.counts
    )


def _reduce_keys(
    query: TopKQuery, aggregation: Aggregation, readout: Readout, position: int
) -> PartialBatch:
    usable = np.zeros(len(readout))
    for values in readout.values.values():
        usable = usable + np.where(np.isfinite(values), 0.0, np.nan)
    readout, _ = only_finite(readout, usable)
    time = _placed(query, readout, position)
    pane = query.window.pane_of(time)
    rows = {"pane": pane, "key": readout.key, "time": time}
    rows |= {SOURCE + name: values for name, values in readout.values.items()}
    codes = {name: codes_of(labels) for name, labels in readout.labels.items()}
    table = aggregation.partials(
        pa.table(rows | {LABEL + name: each for name, each in codes.items()})
    )
    for name, labels in readout.labels.items():
        table = with_labels(table, name, labels, codes[name])
    return PartialBatch(table, _and_beats(query, PaneTimes.of(pane, time), readout), readout.counts)


def _and_beats(query: TopKQuery, times: PaneTimes, readout: Readout) -> PaneTimes:
    """Rows without a key are not events, but they move the time."""
    if query.window.by == "count" or not len(readout.beats):
        return times
    beats = PaneTimes.of(query.window.pane_of(readout.beats), readout.beats)
    return PaneTimes.union([times, replace(beats, events=np.zeros_like(beats.events))])


def _placed(query: TopKQuery, readout: Readout, position: int) -> IntArray:
    if query.window.by == "time":
        return readout.time
    return np.arange(position + 1, position + 1 + len(readout))
