"""What a checkpoint is to become: for each ranking its stages, and what they are to hold."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from topwater.errors import StateError
from topwater.monitor.joint_ranking import has_joint_ranking
from topwater.query import TopKQuery
from topwater.query.identity import tuned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from topwater.spark.checkpoint_journals import Stored, StoredQuery


class Wanted(NamedTuple):
    """What the state of a ranking is to be for: a query, and a number of shards."""

    query: TopKQuery
    shards: int


class CheckpointPlan:
    """What the new checkpoint is to be: for each ranking its stages, and what they are to hold.

    Attributes
    ----------
    wanted
        For each ranking; None for one whose state is copied as it is.
    stages
        The numbers of its stages from now on.
    tasks
        How many each stage has.
    """

    def __init__(
        self,
        stored: StoredQuery,
        wanted: Sequence[Wanted | None],
        partitions: int | None = None,
    ) -> None:
        self.tasks = tasks = _tasks(stored, wanted, partitions)
        self.stages = _stages(stored, wanted)
        self.wanted: list[Wanted | None] = []
        for before, want, stages in zip(stored.rankings, wanted, self.stages, strict=True):
            query = query_of(before)
            moved = stages != before.stages or tasks != stored.partitions
            as_it_was = None if query is None else Wanted(query, before.shards)
            self.wanted.append(want or (as_it_was if moved else None))

    def is_copied(self, at: int, stored: StoredQuery) -> bool:
        """Whether a ranking keeps its state, and the stages where it is."""
        same = self.tasks == stored.partitions and self.stages[at] == stored.rankings[at].stages
        return self.wanted[at] is None and same


def _tasks(stored: StoredQuery, wanted: Sequence[Wanted | None], partitions: int | None) -> int:
    """How many tasks the stateful stages get. All stages of a query have as many."""
    before = [each.shards for each in stored.rankings]
    now = [was if want is None else want.shards for was, want in zip(before, wanted, strict=True)]
    usual = max(now) if stored.partitions == max(before) else stored.partitions
    if stored.operators == [stage for each in stored.rankings for stage in each.stages]:
        return usual if partitions is None else partitions
    if partitions not in (None, stored.partitions):
        raise StateError(
            "the query has stateful stages besides ours, whose tasks can't be changed",
            fix=f"leave out partitions, or use {stored.partitions}",
        )
    return stored.partitions


def _stages(stored: StoredQuery, wanted: Sequence[Wanted | None]) -> list[tuple[int, ...]]:
    """The numbers of the stages of each ranking from now on."""
    before = [each.stages for each in stored.rankings]
    widths = [
        len(stages) if want is None else 1 + has_joint_ranking(want.query, want.shards)
        for stages, want in zip(before, wanted, strict=True)
    ]
    if widths == [*map(len, before)]:
        return before
    if stored.operators != [stage for stages in before for stage in stages]:
        raise StateError(
            "the query has stateful stages besides ours, and with as many shards ours are "
            f"{sum(widths)} where they were {sum(map(len, before))}",
            fix="change between numbers of shards above 1, or use as many as before",
        )
    numbers = iter(range(sum(widths)))
    return [tuple(islice(numbers, width)) for width in widths]


def changes(stored: StoredQuery, wanted: Sequence[Wanted | None]) -> list[str]:
    """What becomes different, in words; where there are several rankings, of which."""
    found = []
    for at, (ranking, want) in enumerate(zip(stored.rankings, wanted, strict=True)):
        if want is None:
            continue
        before = query_of(ranking)
        whose = f"{ranking.name or f'ranking {at + 1}'}: " if len(stored.rankings) > 1 else ""
        if ranking.shards != want.shards:
            found.append(f"{whose}shards: {ranking.shards} → {want.shards}")
        if before is not None:
            found += [f"{whose}{each}" for each in tuned(before, want.query)]
    return found


def query_of(stored: Stored) -> TopKQuery | None:
    """Of the state; None if no event has come yet."""
    written = next(iter(stored.journals.values()), None)
    return None if written is None else TopKQuery.from_dict(written.head.query)
