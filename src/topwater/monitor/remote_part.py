"""What all rankings of a query share: the source, guarded once, and the clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from topwater.errors import QueryError
from topwater.model import Answer, Shard
from topwater.monitor.accuracy_log import AccuracyLog
from topwater.monitor.source_log import SourceLog
from topwater.monitor.source_table import Sources, SourceTable
from topwater.protocols import Clock, Source
from topwater.query import TopKQuery
from topwater.remote.wrappers.deadline import Guarded, guarded
from topwater.replica import Refresher
from topwater.replica.joins.joined_refresher import JoinedRefresher, Ranked
from topwater.replica.nominations import Nominations
from topwater.replica.terms import Terms

_WHOLE = Shard()


@dataclass(frozen=True, slots=True)
class RemotePart:
    """The remote part of one query: of one ranking, or of one per group.

    Attributes
    ----------
    source
        Where values are fetched. Whatever it does, answers are out by their deadlines; those who
        share it share its thread.
    clock
        By which deadlines count.
    shard
        Which part of the keys the rankings see, and so of the budget they get.
    logs
        Where it is said that nothing usable comes from the source, or that answers can't be as
        right as was asked.
    """

    source: Guarded
    clock: Clock
    shard: Shard = _WHOLE
    logs: tuple[SourceLog, AccuracyLog] = field(
        default_factory=lambda: (SourceLog(), AccuracyLog())
    )

    @staticmethod
    def of(
        query: TopKQuery, source: Sources | None, clock: Clock, shard: Shard = _WHOLE
    ) -> RemotePart | None:
        """The remote part of a query with one remote value; None if it has none."""
        found = remote_part(query, source, clock, shard)
        assert not isinstance(found, JoinedPart)  # noqa: S101  others have parts of another kind
        return found

    def refresher(self, query: TopKQuery) -> Refresher:
        """What keeps one ranking fresh: each has a replica and a purse of its own."""
        assert query.single is not None  # noqa: S101  for the type checker
        return Refresher(
            query.single,
            query.score,
            query.window,
            query.k,
            self.source,
            shard=self.shard,
            clock=self.clock,
        )

    def start(self) -> None:
        """Look whether the source can be reached; see :meth:`topwater.remote.Guarded.start`."""
        self.source.start()

    def close(self) -> None:
        """Give back what the source holds."""
        self.source.close()

    def hear(self, answer: Answer) -> None:
        """One more window was answered."""
        for log in self.logs:
            log.hear(answer)


@dataclass(frozen=True, slots=True)
class JoinedPart:
    """The same of a query with several remote values.

    Attributes
    ----------
    source
        All its sources.
    clock, shard, log
        As of a :class:`RemotePart`.
    """

    source: SourceTable
    clock: Clock
    shard: Shard = _WHOLE
    log: SourceLog = field(default_factory=SourceLog)

    def refresher(self, query: TopKQuery) -> JoinedRefresher:
        """What keeps one ranking fresh: each has replicas of its own."""
        assert query.joins is not None  # noqa: S101  for the type checker
        ranked = Ranked(query.score, query.condition, query.window, query.k)
        share = self.shard.of
        return JoinedRefresher(query.joins, ranked, self.source, share, self.clock)

    def start(self) -> None:
        """Look whether the sources can be reached."""
        self.source.start()

    def close(self) -> None:
        """Give back what the sources hold."""
        self.source.close()

    def hear(self, answer: Answer) -> None:
        """One more window was answered."""
        self.log.hear(answer)


def remote_part(
    query: TopKQuery,
    source: Sources | None,
    clock: Clock,
    shard: Shard = _WHOLE,
) -> RemotePart | JoinedPart | None:
    """The remote part of a query; None if it has none.

    Raises
    ------
    QueryError
        If the query has a remote part and there is no source, or the other way round.
    """
    if source is None and query.refresh is None:
        return None
    if source is None:
        raise QueryError(
            "the query has a remote value, and no source was given",
            field="source",
            fix="pass the source to build() or run()",
        )
    if query.refresh is None:
        raise QueryError(
            "a source was given, and the query has no remote value",
            field="source",
            fix="leave it out, or name the remote value in refresh",
        )
    if query.joins is not None:
        return JoinedPart(SourceTable.of(query, source), clock, shard)
    if isinstance(source, Mapping):
        source = _only(source)
    assert not isinstance(source, SourceTable)  # noqa: S101  for the type checker
    return RemotePart(guarded(source), clock, shard)


def _only(sources: Mapping[str, Source]) -> Source:
    """The source of a query with one remote value, given by name."""
    if len(sources) != 1:
        raise QueryError(
            f"one remote value has one source, not {len(sources)}",
            field="sources",
            fix='pass the source alone, or name it in refresh, as {"remote": …, "from": "shop"}',
        )
    return next(iter(sources.values()))


@dataclass(frozen=True, slots=True)
class RemoteElsewhere:
    """What a shard has of a remote part that all shards have in common: no source, and no purse.

    Attributes
    ----------
    shard
        Which part of the keys it sees.
    """

    shard: Shard

    def refresher(self, query: TopKQuery) -> Nominations:
        """What says which keys are looked up, where all shards meet."""
        assert query.single is not None  # noqa: S101  for the type checker
        return Nominations(Terms(query.single, query.score, query.window, query.k), self.shard)

    def start(self) -> None:
        """Nothing is asked from here."""

    def close(self) -> None:
        """Nothing is held."""

    def hear(self, answer: Answer) -> None:
        """Nothing is to be said of what was not looked up."""
