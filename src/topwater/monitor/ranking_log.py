"""What changed of one ranking, as bytes: for those who keep many, each with changes of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from topwater.monitor.journal_logs import Content, Log, PaneLog, WholeLog
from topwater.monitor.loop import TopKMonitor
from topwater.monitor.notice_log import notice_logs
from topwater.monitor.row_log import RowLog, join_logs
from topwater.tables import known_form, pack, unpack

_NOTHING = Content(b"")
_REMOTE = "remote"


class RankingLog:
    """The changes of a monitor, from when the log was made.

    Parameters
    ----------
    monitor
        Whose changes they are. What it holds now is known already.

    Examples
    --------
    >>> from topwater import TopKQuery, tumbling
    >>> query = TopKQuery(key="who", time="at", window=tumbling(10), take={"n": "count"},
    ...                   score="n", k=1)
    >>> first = TopKMonitor.build(query)
    >>> first.ingest({"who": ["a"], "at": [1]})
    >>> second = TopKMonitor.build(query, first.snapshot())
    >>> log = RankingLog(first)
    >>> first.ingest({"who": ["b", "b"], "at": [2, 3]})
    >>> RankingLog(second).take(log.news())
    >>> [answer.keys for answer in second.flush()]
    [['b']]
    """

    def __init__(self, monitor: TopKMonitor) -> None:
        self._monitor = monitor
        self._facts = monitor.facts()
        self._logs = logs_of(monitor)
        for log in self._logs:
            if isinstance(log, RowLog):
                log.know()

    def news(self) -> bytes:
        """What changed since the last call."""
        parts = [(log.news() or _NOTHING).packed for log in self._logs]
        before, self._facts = self._facts, self._monitor.facts()
        state = pa.table({"part": pa.array(parts, pa.binary())})
        return pack(state, {"facts": _difference(before, self._facts)})

    def take(self, packed: bytes) -> None:
        """Make the monitor what another was when it gave this, after all that it gave before."""
        table, meta = unpack(packed)
        with known_form("a group"):
            self._facts = _updated(self._facts, meta["facts"])
            self._monitor.restore_facts(self._facts)
            for log, part in zip(self._logs, table.column("part").to_pylist(), strict=True):
                log.begin(afresh=False)
                if part:
                    log.take(part, None, image=False)
                log.end()


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """What is not as before; one level deeper for the remote part, most of which seldom moves."""
    found = {name: each for name, each in now.items() if each != before[name]}
    if _REMOTE in found:
        inside = before[_REMOTE]
        found[_REMOTE] = {name: each for name, each in now[_REMOTE].items() if each != inside[name]}
    return found


def _updated(before: Mapping[str, Any], difference: Mapping[str, Any]) -> dict[str, Any]:
    found = {**before, **difference}
    if _REMOTE in difference:
        found[_REMOTE] = {**before[_REMOTE], **difference[_REMOTE]}
    return found


def logs_of(monitor: TopKMonitor) -> list[Log]:
    """The parts of a monitor that change by themselves."""
    logs: list[Log] = []
    if monitor.joined is not None:
        logs += join_logs(monitor.joined)
    if monitor.refresher is not None:
        logs.append(RowLog(monitor.refresher))
    logs += notice_logs(monitor.joined or monitor.refresher, monitor.query.window)
    if monitor.pane_rows is not None:
        return [*logs, PaneLog(monitor)]
    return [*logs, _list_log(monitor)]


def _list_log(monitor: TopKMonitor) -> WholeLog:
    def restore(packed: bytes) -> None:
        monitor.hold_afresh(unpack(packed)[0])

    return WholeLog("list", lambda: pack(monitor.held(), {}, compressed=True), restore)
