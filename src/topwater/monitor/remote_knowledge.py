"""What a monitor has of the remote side: what keeps it fresh, and notices of changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from topwater.errors import QueryError
from topwater.model import Millis
from topwater.monitor.columns import Batch
from topwater.monitor.notice_reader import read_notices
from topwater.monitor.notice_settings import NoticeSettings, require_notices
from topwater.monitor.remote_part import JoinedPart, RemoteElsewhere, RemotePart
from topwater.query import TopKQuery
from topwater.replica import Refresher
from topwater.replica.joins.joined_refresher import JoinedRefresher
from topwater.replica.nominations import Nominations
from topwater.replica.notices import NoticeDesk, beat_of


class RemoteKnowledge:
    """The part of a monitor that knows of remote values, if the query has some.

    Parameters
    ----------
    query
        What is asked.
    remote
        Where remote values are fetched.
    changes
        How notices of changes are written, if there will be some.
    """

    def __init__(
        self,
        query: TopKQuery,
        remote: RemotePart | JoinedPart | RemoteElsewhere | None,
        changes: NoticeSettings | None,
    ) -> None:
        self.query = query
        self._remote = remote
        self._refresher = None if remote is None else remote.refresher(query)
        self._changes = changes
        if changes is not None:
            require_notices(query, changes)
            assert isinstance(self._refresher, Refresher | JoinedRefresher)  # noqa: S101
            self._refresher.listen(NoticeDesk(changes.complete_sources(query), changes.delay))

    def start(self) -> None:
        """Look whether the remote side can be reached; see :meth:`Guarded.start`."""
        if self._remote is not None:
            self._remote.start()

    def close(self) -> None:
        """Give back what the source holds."""
        if self._remote is not None:
            self._remote.close()

    def learn(self, batch: Batch = (), *, until: Millis | None = None) -> None:
        """Take in a batch of notices of what changed at the sources.

        A value in a notice counts as if it had been looked up at its time; a null says that a
        value has changed. Each counts for the windows that close at its time or later.

        Parameters
        ----------
        batch
            The notices: tables, mappings or rows, as of events.
        until
            No notice from up to this time is still to come: for streams that may be silent.

        Raises
        ------
        BatchError
            If a column is missing or has a type that can't be used. What can't be read of single
            notices is counted in the next answer.
        """
        desk = self._desk()
        assert self._changes is not None  # noqa: S101  else there was no desk
        self.learn_notices(*read_notices(self.query, self._changes, batch))
        if until is not None:
            desk.add(beat_of(until + desk.delay + 1))

    def learn_notices(self, notices: pa.Table, tallies: Mapping[str, int] | None = None) -> None:
        """Take in notices that were read elsewhere; and how many could not be read."""
        self._desk().add(notices, tallies)

    @property
    def heard(self) -> Millis | None:
        """The time of the youngest notice of a change; None before the first."""
        return self._desk().newest

    @property
    def replica_size(self) -> int:
        """About how many bytes the replica takes."""
        return self._refresher.size if self._refresher else 0

    def forget_beyond(self, memory: int) -> int:
        """Let the replica forget until it takes no more bytes than that; how many keys went."""
        return 0 if self._refresher is None else self._refresher.forget_surplus(memory=memory)

    @property
    def refresher(self) -> Refresher | Nominations | None:
        """What keeps the replica, if there is one."""
        return None if isinstance(self._refresher, JoinedRefresher) else self._refresher

    @property
    def joined(self) -> JoinedRefresher | None:
        """What keeps the replicas of several remote values, if there are such."""
        return self._refresher if isinstance(self._refresher, JoinedRefresher) else None

    def with_waiting(self, facts: dict[str, Any]) -> dict[str, Any]:
        """A monitor's facts with the notices that wait for their windows."""
        if self._changes is None:
            return facts
        remote = facts["remote"]
        waiting = self._desk().with_waiting(remote["notices"])
        return {**facts, "remote": {**remote, "notices": waiting}}

    def _desk(self) -> NoticeDesk:
        desk = getattr(self._refresher, "notices", None)
        if desk is None:
            raise QueryError(
                "the monitor was not built to hear of changes",
                field="changes",
                fix="build it with changes=NoticeSettings(…)",
            )
        assert isinstance(desk, NoticeDesk)  # noqa: S101  for the type checker
        return desk


class NothingHeard:
    """The part of a monitor that has several replicas, and so hears of no changes."""

    query: TopKQuery

    def learn(self, batch: Batch = (), *, until: Millis | None = None) -> None:  # noqa: ARG002
        """Raise: notices are for one replica."""
        require_notices(self.query, NoticeSettings())

    @property
    def heard(self) -> Millis | None:
        """Nothing was heard."""
        return None
