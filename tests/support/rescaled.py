"""All shards of a query in one process, with journals; their number may change at any batch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from tests.support.journal_store import JournalStore
from topwater.model import Answer, Counts, Shard
from topwater.monitor.joint_ranking import JointRanking, has_joint_ranking
from topwater.monitor.journal import Head, Journal
from topwater.monitor.reduction import PartialBatch, reduce_for_shards
from topwater.monitor.shard_division import Written, rescale
from topwater.monitor.shard_monitors import shard_monitor
from topwater.monitor.shards import merge
from topwater.monitor.snapshot import describe

if TYPE_CHECKING:
    import pyarrow as pa

    from tests.support.scenarios import Scenario
    from topwater.monitor.protocol import Recorded
    from topwater.query import TopKQuery


@dataclass
class Shards:
    """All shards of a query as Spark keeps them: a journal each, and monitors built from it."""

    each: Scenario
    shards: int
    stores: dict[int, JournalStore] = field(default_factory=dict)
    built: dict[int, Journal[Any]] = field(default_factory=dict)

    def take(self, batch: pa.Table) -> list[Answer]:
        """The answers of a micro-batch."""
        parts: dict[int, list[PartialBatch]] = {}
        for shard, part in reduce_for_shards(self.each.query, batch, self.shards):
            parts.setdefault(shard, []).append(part)
        closed = []
        for shard in range(self.shards):
            monitor = self.journal(shard).monitor
            monitor.admit(*parts[shard])
            closed.append(monitor.close_until(monitor.watermark or 0))
        found = self.made_one(closed)
        for shard, journal in self.built.items():
            self.stores.setdefault(shard, JournalStore()).write(journal.record("nonce"))
        return found

    def made_one(self, closed: list[list[Answer]]) -> list[Answer]:
        query = self.each.query
        if query.group_by is not None:
            found = [answer for answers in closed for answer in answers]
            return sorted(found, key=lambda answer: (answer.window.end, answer.group))
        windows = [*zip(*closed, strict=True)]
        if has_joint_ranking(query, self.shards):
            joint: JointRanking = self.journal(self.shards).monitor
            return joint.answers(windows)
        smallest = query.score.order == "smallest"
        aim = None if query.refresh is None else query.refresh.budget.accuracy
        return [merge(shown, query.k, smallest=smallest, accuracy=aim) for shown in windows]

    def journal(self, shard: int) -> Journal[Any]:
        if shard not in self.built:
            store = self.stores.get(shard)
            self.built[shard] = Journal(self.monitor(shard))
            if store is not None:
                self.built[shard].rebuild(Head.unpack(store.head), store.get)
        return self.built[shard]

    def monitor(self, shard: int) -> Recorded:
        query, source = self.each.query, self.each.source
        if shard == self.shards:
            return JointRanking.build(query, source=source)
        return shard_monitor(query, shard=Shard(shard, self.shards), source=source)

    def untold(self) -> list[Counts]:
        """What was counted and not told yet. All shards skip windows together."""
        found = []
        for shard, journal in self.built.items():
            snapshot = describe(journal.monitor.snapshot())
            found.append(replace(snapshot.counts, **({"skipped_windows": 0} if shard else {})))
        return found

    def rescaled(self, shards: int, query: TopKQuery | None = None) -> Shards:
        """The same with other shards; and with other settings of the query, if one is given."""
        each = self.each if query is None else replace(self.each, query=query)
        journals = {
            shard: Written(Head.unpack(store.head), store.get)
            for shard, store in self.stores.items()
        }
        stores = {}
        for shard, changes in rescale(journals, self.shards, shards, "other", query).items():
            assert not changes.removes
            stores[shard] = JournalStore()
            stores[shard].write(changes)
        return Shards(each, shards, stores)


def run(each: Scenario, plan: list[int]) -> tuple[list[Answer], Counts]:
    """With so many shards for each batch; the answers, and what was counted in all."""
    shards = Shards(each, plan[0])
    found: list[Answer] = []
    for batch, wanted in zip(each.files, plan, strict=True):
        if wanted != shards.shards:
            shards = shards.rescaled(wanted)
        found += shards.take(batch)
    told = [answer.counts for answer in found]
    return found, reduce(Counts.__add__, [*told, *shards.untold()], Counts())


def compared(answers: list[Answer], *, of_shards: bool = True) -> list[Answer]:
    """Answers, without how much was kept for them; what one shard's groups count varies."""
    found = [replace(answer, candidates=0) for answer in answers]
    if not of_shards:
        found = [replace(answer, freshness=None, looked_up=()) for answer in found]
    return [replace(each, counts=Counts()) if each.group is not None else each for each in found]
