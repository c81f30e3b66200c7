"""One ranking with one purse, of what several shards offer.

::

    shard 0 ──► its windows, and what it offers of each ──┐
    shard 1 ──► … ────────────────────────────────────────┼──► joint ranking ──► answers
    shard 2 ──► … ────────────────────────────────────────┘    replica, beliefs, purse, source

Shards keep what grows with the stream; what is looked up and learnt is kept here, once. So the
budget is spent as one shard would spend it, whatever the number of shards is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import pyarrow as pa

from topwater.model import Answer, Counts, Items
from topwater.monitor.loop import OnMiss
from topwater.monitor.notice_settings import NoticeSettings
from topwater.monitor.open_windows import WindowResult, window_result
from topwater.monitor.remote_part import RemotePart
from topwater.monitor.settings_notes import SettingsNotes
from topwater.monitor.shards import counts_of
from topwater.monitor.source_table import Sources
from topwater.monitor.tuned_state import tuned_state
from topwater.monitor.window_answer import ShardAnswer, make_answer
from topwater.protocols import Clock
from topwater.query import TopKQuery
from topwater.remote.wrappers.clocks import SYSTEM_CLOCK
from topwater.replica.notices import NoticeDesk
from topwater.replica.offers import Offer, joined
from topwater.replica.policies import resolve
from topwater.tables import pack, unpack


def has_joint_ranking(query: TopKQuery, shards: int) -> bool:
    """Whether the shards of a query have one ranking and one purse.

    Only policies that look at no more than what is offered can do with it; and where all keys are
    looked up, there is nothing to choose. A list forgets keys by their scores, so it needs values
    where it is.
    """
    if shards == 1 or query.group_by is not None or query.single is None or query.forgets_keys:
        return False
    return not resolve(query.single.policy)[0].by_rows and not query.single.budget.unlimited


class JointRanking:
    """Ranks windows from what their shards offer, and keeps the remote values fresh.

    The answers do not depend on the order of the shards, nor on how the stream is cut into batches.

    Parameters
    ----------
    query, remote
        What is asked, and where values are fetched.
    state
        What :meth:`snapshot` gave.
    on_miss
        Called with every answer whose estimated precision misses the accuracy asked for.
    """

    def __init__(
        self,
        query: TopKQuery,
        remote: RemotePart,
        state: bytes | None = None,
        *,
        on_miss: OnMiss | None = None,
        changes: NoticeSettings | None = None,
    ) -> None:
        self.query = query
        self.refresher = remote.refresher(query)
        if changes is not None:
            self.refresher.listen(NoticeDesk(changes.complete_sources(query), changes.delay))
        self._remote = remote
        self._on_miss = on_miss
        self._current: int | None = None
        self._notes = SettingsNotes(query.window)
        if state is not None:
            self._restore(state)

    @classmethod
    def build(
        cls,
        query: TopKQuery,
        state: bytes | None = None,
        *,
        source: Sources | None,
        on_miss: OnMiss | None = None,
        clock: Clock = SYSTEM_CLOCK,
        changes: NoticeSettings | None = None,
    ) -> JointRanking:
        """A new one, or the one that wrote ``state``."""
        remote = RemotePart.of(query, source, clock)
        assert remote is not None  # noqa: S101  others have no joint ranking
        return cls(query, remote, state, on_miss=on_miss, changes=changes)

    def start(self) -> None:
        """Look whether the remote side can be reached."""
        self._remote.start()

    def close(self) -> None:
        """Give back what the source holds."""
        self._remote.close()

    def learn_notices(self, notices: pa.Table, tallies: Mapping[str, int] | None = None) -> None:
        """Take in notices of changes; and how many could not be read."""
        assert self.refresher.notices is not None  # noqa: S101  else nobody sends any
        self.refresher.notices.add(notices, tallies)

    def answers(self, windows: Sequence[Sequence[Answer]]) -> list[Answer]:
        """The answers of windows, in order of time, each from what all its shards say."""
        self.refresher.begin()
        return [self._answer(shards) for shards in windows]

    def _answer(self, shards: Sequence[Answer]) -> Answer:
        window = shards[0].window
        offers = [each.offer for each in shards if isinstance(each, ShardAnswer) and each.offer]
        result = self._ranked(shards[0], offers) if offers else WindowResult(Items.empty(), 0)
        result = replace(result, kept=sum(each.candidates for each in shards))
        self._current = window.index + 1
        answer = make_answer(self.query, window.index, result, counts_of(shards))
        answer = self._notes.added_to(answer)
        self._remote.hear(answer)
        if self._on_miss is not None and answer.freshness and answer.freshness.missed:
            self._on_miss(answer)
        return answer

    def _ranked(self, told: Answer, offers: list[Offer]) -> WindowResult:
        view = joined(told.window, offers)
        ranking = self.refresher.refresh(view)
        unscored = ranking.unscored + sum(offer.unscored for offer in offers)
        counts = Counts(bad_score=unscored, forgotten=ranking.forgotten)
        return window_result(view, ranking.rows, ranking.scores, 0, counts, ranking)

    def snapshot(self) -> bytes:
        """All that later answers depend on, in the form of a monitor's snapshot."""
        meta = {"query": self.query.to_dict(), "facts": self.facts()}
        parts = [pack(pa.table({}), {}), pack(self.refresher.snapshot()[0], {})]
        return pack(pa.table({"part": pa.array(parts, pa.binary())}), meta)

    def facts(self) -> dict[str, Any]:
        """The few numbers of a snapshot, for JSON."""
        return {
            "joint": True,
            "current": self._current,
            **self._notes.facts(),
            "filled": [],
            "clock": {"newest": None, "waiting": False},
            "counts": asdict(Counts()),
            "remote": self.refresher.facts(),
        }

    def restore_facts(self, facts: Mapping[str, Any]) -> None:
        """Take over what :meth:`facts` gave."""
        self._current = facts["current"]
        self._notes.restore_facts(facts)
        self.refresher.restore_facts(facts["remote"])

    def _restore(self, state: bytes) -> None:
        table, meta = unpack(tuned_state(state, self.query))
        replica = unpack(table.column("part")[1].as_py())[0]
        self.refresher.restore(replica, meta["facts"]["remote"])
        self.restore_facts(meta["facts"])
