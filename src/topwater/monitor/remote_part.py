"""What all rankings of a query share: the source, guarded once, and the clock."""

from __future__ import annotations

from dataclasses import dataclass, field

from topwater.errors import QueryError
from topwater.model import Answer, Shard
from topwater.monitor.accuracy_log import AccuracyLog
from topwater.monitor.source_log import SourceLog
from topwater.protocols import Clock, Source
from topwater.query import TopKQuery
from topwater.remote.wrappers.deadline import Guarded, guarded
from topwater.replica import Refresher
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
        query: TopKQuery, source: Source | None, clock: Clock, shard: Shard = _WHOLE
    ) -> RemotePart | None:
        """The remote part of a query; None if it has none.

        Raises
        ------
        QueryError
            If the query has a remote part and there is no source, or the other way round.
        """
        if (query.refresh is None) != (source is None):
            raise QueryError(
                "a remote value needs a source, and a source is for a remote value",
                field="source",
                fix="pass the source to build() or run(), and name the remote value in refresh",
            )
        return None if source is None else RemotePart(guarded(source), clock, shard)

    def refresher(self, query: TopKQuery) -> Refresher:
        """What keeps one ranking fresh: each has a replica and a purse of its own."""
        assert query.refresh is not None  # noqa: S101  for the type checker
        return Refresher(
            query.refresh,
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
        assert query.refresh is not None  # noqa: S101  for the type checker
        return Nominations(Terms(query.refresh, query.score, query.window, query.k), self.shard)

    def start(self) -> None:
        """Nothing is asked from here."""

    def close(self) -> None:
        """Nothing is held."""

    def hear(self, answer: Answer) -> None:
        """Nothing is to be said of what was not looked up."""
