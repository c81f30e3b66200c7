"""A monitor over keys of any type, of one column or several: around one over numbers or text.

::

    batch ──► keys as they are inside ──► monitor ──► answers with keys as they were
                                             │
                                          sources, asked by keys as they were
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from topwater.model import Answer, KeyColumn, KeyForm, Millis
from topwater.model.key_form import UNKNOWN
from topwater.monitor.columns import Batch, as_table, require_column
from topwater.monitor.grouped import GroupedMonitor, ranking_monitor
from topwater.monitor.key_columns import form_of, known, with_keys_inside
from topwater.monitor.key_kinds import require_kinds
from topwater.monitor.loop import OnMiss, TopKMonitor
from topwater.monitor.notice_reader import read_notices
from topwater.monitor.notice_settings import NoticeSettings
from topwater.monitor.reduction import PartialBatch
from topwater.monitor.remote_part import JoinedPart, remote_part
from topwater.monitor.source_table import Sources, SourceTable
from topwater.monitor.tuned_state import query_of
from topwater.protocols import Clock
from topwater.query import TopKQuery
from topwater.query.identity import require_same_identity
from topwater.query.keyed_query import inner_query
from topwater.remote.wrappers.clocks import SYSTEM_CLOCK
from topwater.remote.wrappers.typed_keys import TypedKeys
from topwater.tables import known_form, pack, unpack
from topwater.validation import checked_call

Ranking: TypeAlias = TopKMonitor | GroupedMonitor

_GROUPS = "group_by"


class Forms(NamedTuple):
    """What the keys and the groups of a stream are, as far as its events have shown."""

    key: KeyForm
    group: KeyForm | None

    @staticmethod
    def of(query: TopKQuery) -> Forms:
        """Before the first event."""
        key, group = (
            KeyForm(tuple(KeyColumn(name, UNKNOWN) for name in names)) if names else None
            for names in (query.key_columns, query.group_columns)
        )
        assert key is not None  # noqa: S101  for the type checker
        return Forms(key, group)

    def after(self, table: pa.Table) -> Forms:
        """What they are if this table comes next.

        Raises
        ------
        BatchError
            If it holds something else than what came before, or what can't be a key.
        """
        key = known(self.key, form_of(table, self.key.names, "key"), "key")
        if self.group is None:
            return Forms(key, None)
        return Forms(key, known(self.group, form_of(table, self.group.names, _GROUPS), _GROUPS))

    @property
    def plain(self) -> bool:
        """Whether keys and groups are inside what they are outside."""
        return self.key.plain and (self.group is None or self.group.plain)

    def inside(self, table: pa.Table, query: TopKQuery) -> pa.Table:
        """A table with the columns that the query has inside."""
        if self.plain:
            return table
        require_others(table, query)
        return with_keys_inside(table, self.key, self.group)

    def outside(self, answer: Answer, others: frozenset[str] = frozenset()) -> Answer:
        """An answer with keys and groups as the stream had them.

        ``others`` are the sources that are asked by something else than the ranked key.
        """
        if self.plain:
            return answer
        return replace(
            answer,
            key_columns=self.key.names if self.key.composite else (),
            group_columns=self.group.names if self.group and self.group.composite else (),
            rows=tuple(replace(row, key=self.key.key(row.key)) for row in answer.rows),
            group=None if self.group is None else self.group.key(answer.group),
            looked_up=tuple(
                each if each.source in others else replace(each, key=self.key.key(each.key))
                for each in answer.looked_up
            ),
        )


def require_others(table: pa.Table, query: TopKQuery) -> None:
    """Raise for a column that is not there, before there are more than the stream has."""
    role = "score" if query.take == "each" else "take"
    named = [(name, role) for name in query.value_columns]
    named += [(name, "time") for name in [query.time] if name is not None]
    named += [(name, "heartbeat") for name in [query.heartbeat] if name is not None]
    for name, part in named:
        require_column(table, name, part)


@checked_call()
class KeyedMonitor:
    """Answers a query whose keys and groups are of any type, and of one column or several.

    What they are, its first events tell. Over integers and text it adds nothing.

    Parameters
    ----------
    query
        What is asked.
    state
        A snapshot to go on from.
    source, on_miss, clock, changes
        See :meth:`TopKMonitor.build`.

    Examples
    --------
    >>> from topwater.windows import tumbling
    >>> query = TopKQuery(key=("product", "country"), time="at", window=tumbling(10),
    ...                   take={"sold": "count"}, score="sold", k=1)
    >>> monitor = KeyedMonitor(query)
    >>> monitor.ingest({"product": ["tea", "tea"], "country": ["DE", "DE"], "at": [1, 2]})
    >>> monitor.flush()[0].keys
    [('tea', 'DE')]
    """

    def __init__(
        self,
        query: TopKQuery,
        state: bytes | None = None,
        *,
        source: Sources | None = None,
        on_miss: OnMiss | None = None,
        clock: Clock = SYSTEM_CLOCK,
        changes: NoticeSettings | None = None,
    ) -> None:
        self.query = query
        self._changes = changes
        self._on_miss = on_miss
        self._asked, given = asked_by_key(query, source)
        for each in self._asked:
            each.take_keys(query.key_columns)
        self._remote = remote_part(query, given, clock)
        self._kinds_known = False
        self._forms = Forms.of(query)
        self._monitor = self._built(inner_query(query, *self._forms))
        if state is not None:
            self._restore(state)

    @property
    def watermark(self) -> Millis | None:
        """How far time is known to have come, by the events alone: none older is expected."""
        return self._monitor.watermark

    def start(self) -> None:
        """Look whether the remote side can be reached; see :meth:`Guarded.start`."""
        self._monitor.start()

    def close(self) -> None:
        """Give back what the source holds."""
        self._monitor.close()

    def ingest(self, batch: Batch) -> None:
        """Take in a batch of events; see :meth:`TopKMonitor.ingest`."""
        table = as_table(batch)
        if not table.num_columns and not table.num_rows:
            return
        if isinstance(self._remote, JoinedPart) and not self._kinds_known:
            require_kinds(self.query, self._remote.source.sources, table.schema)
            self._kinds_known = bool(table.num_rows)
        forms = self._forms.after(table)
        monitor, inner = self._monitor, inner_query(self.query, *forms)
        if inner != monitor.query:
            # So far no event had a key, so there is nothing more to take over than the time.
            monitor = self._built(inner)
            monitor.restore_facts(self._monitor.facts())
        monitor.ingest(forms.inside(table, self.query))
        self._take(forms, monitor)

    def learn(self, batch: Batch = (), *, until: Millis | None = None) -> None:
        """Take in a batch of notices of what changed; see :meth:`TopKMonitor.learn`."""
        if self._changes is None or isinstance(self._monitor, GroupedMonitor):
            self._monitor.learn(batch, until=until)
            return
        read = read_notices(self.query, self._changes, batch, self._forms.key)
        self._monitor.learn_notices(*read)
        self._monitor.learn(until=until)

    @property
    def heard(self) -> Millis | None:
        """The time of the youngest notice of a change; None before the first."""
        return self._monitor.heard

    def admit(self, *parts: PartialBatch) -> None:
        """Take in one batch, whose parts were reduced elsewhere, with keys as they are inside."""
        self._monitor.admit(*parts)

    def next_close(self) -> Millis | None:
        """The watermark at which the next window can be answered; None if there is none."""
        return self._monitor.next_close()

    def close_until(self, watermark: Millis) -> list[Answer]:
        """Answer every window that closes before ``watermark``."""
        return [self._outside(each) for each in self._monitor.close_until(watermark)]

    def flush(self) -> list[Answer]:
        """The stream has ended: answer every window that holds an event."""
        return [self._outside(each) for each in self._monitor.flush()]

    def take_late(self) -> pa.Table | None:
        """What came too late is not kept here, only counted."""
        return None

    def snapshot(self) -> bytes:
        """All that later answers depend on. A monitor built from it goes on as this one would."""
        state = pa.table({"state": pa.array([self._monitor.snapshot()], pa.binary())})
        return pack(state, {"query": self.query.to_dict(), "forms": self._kinds()})

    def facts(self) -> dict[str, Any]:
        """The few numbers of a snapshot, for JSON."""
        return {**self._monitor.facts(), "forms": self._kinds()}

    def restore_facts(self, facts: Mapping[str, Any]) -> None:
        """Take over what :meth:`facts` gave."""
        forms = self._forms_from(facts["forms"])
        monitor = self._built(inner_query(self.query, *forms))
        monitor.restore_facts(facts)
        self._take(forms, monitor)

    def _outside(self, answer: Answer) -> Answer:
        return self._forms.outside(answer, _by_columns(self.query))

    def _take(self, forms: Forms, monitor: Ranking) -> None:
        self._forms, self._monitor = forms, monitor
        for each in self._asked:
            each.form = forms.key

    def _built(self, inner: TopKQuery, state: bytes | None = None) -> Ranking:
        on_miss = self._on_miss
        told = None if on_miss is None else lambda answer: on_miss(self._outside(answer))
        return ranking_monitor(inner, self._remote, state, on_miss=told, changes=self._changes)

    def _restore(self, state: bytes) -> None:
        table, meta = unpack(state)
        require_same_identity(query_of(meta), self.query)
        with known_form("the snapshot"):
            forms = self._forms_from(meta["forms"])
            inside = table.column("state")[0].as_py()
        self._take(forms, self._built(inner_query(self.query, *forms), inside))

    def _kinds(self) -> list[list[str] | None]:
        """By column, what it holds, for keys and groups."""
        told = [() if form is None else form.columns for form in self._forms]
        return [[each.kind for each in columns] or None for columns in told]

    def _forms_from(self, told: Sequence[Sequence[str] | None]) -> Forms:
        (key, group), (kinds, others) = self._forms, told
        return Forms(
            key.with_kinds(kinds or ()), None if group is None else group.with_kinds(others or ())
        )


def _by_columns(query: TopKQuery) -> frozenset[str]:
    """The sources that are asked by a column of the stream."""
    return frozenset() if query.joins is None else query.joins.by_columns


def asked_by_key(query: TopKQuery, given: Sources | None) -> tuple[list[TypedKeys], Sources | None]:
    """The sources that are asked by the ranked key, and all sources with these among them."""
    if given is None or isinstance(given, SourceTable):
        return [], given
    if not isinstance(given, Mapping):
        if _by_columns(query):
            return [], given
        one = TypedKeys(given)
        return [one], one
    others = _by_columns(query)
    asked = {name: TypedKeys(source) for name, source in given.items() if name not in others}
    return [*asked.values()], {**given, **asked}
