"""The journal: a monitor's state as what changed, record by record.

::

    monitor ──► logs ──► pieces, images ──► chunks by id ──► any store of small values
                         a head names those that are needed

Every record writes a small *head* and the chunks that are new. A monitor that was kept since an
earlier record takes in only what came after it; a new one takes in all. Both then go on as the one
that wrote would, to the last bit: what a source said is in the journal, so nothing is asked again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import pyarrow as pa

from topwater.model import Fetched, KeyArray, Shard
from topwater.monitor.group_log import GroupLog
from topwater.monitor.grouped import GroupedMonitor, build_monitor
from topwater.monitor.joint_ranking import JointRanking
from topwater.monitor.journal_chunks import cut, joined
from topwater.monitor.journal_logs import Content, Log
from topwater.monitor.loop import TopKMonitor
from topwater.monitor.notice_log import NoticeLog, notice_logs
from topwater.monitor.protocol import Recorded
from topwater.monitor.ranking_log import logs_of
from topwater.monitor.remote_part import RemoteElsewhere
from topwater.monitor.row_log import RowLog
from topwater.monitor.source_table import SourceTable
from topwater.monitor.strand import BUCKETS, SEGMENT, Piece, Segment, Strand
from topwater.monitor.tuned_state import query_of
from topwater.query import TopKQuery
from topwater.query.identity import require_same_settings
from topwater.tables import known_form, pack, unpack

Get = Callable[[int], bytes | None]
"""Gives a chunk by its id."""

M_co = TypeVar("M_co", bound=Recorded, covariant=True)

_KNOWN = 32
"""Of how many records before the last one the head knows the nonces."""


class Changes(NamedTuple):
    """What a record does to a store: first these chunks come, and those go.

    Then there are the chunks ``ids``, which hold so many bytes.
    """

    head: bytes
    puts: dict[int, bytes]
    removes: list[int]
    ids: set[int]
    held: int

    @property
    def size(self) -> int:
        """Bytes of what is new."""
        return len(self.head) + sum(map(len, self.puts.values()))


@dataclass(slots=True)
class Head:
    """What names the state: read it before anything else.

    Attributes
    ----------
    sequence
        The number of the last record.
    nonces
        A random text for each of the latest records. An attempt that came to nothing may have
        made a record of the same number: then its text differs.
    query
        What the monitor answers, as plain values.
    facts
        The monitor's few numbers.
    strands
        By name.
    free
        The next chunk's id.
    """

    sequence: int
    nonces: dict[int, str]
    query: dict[str, Any]
    facts: dict[str, Any]
    strands: dict[str, Strand]
    free: int

    @property
    def version(self) -> tuple[int, str]:
        """The number and the nonce of the last record."""
        return self.sequence, self.nonces[self.sequence]

    @property
    def size(self) -> int:
        """Bytes of all chunks."""
        return sum(each.logged + each.imaged for each in self.strands.values())

    @property
    def chunk(self) -> int:
        """Bytes of the largest chunk, nearly."""
        parts = [part for strand in self.strands.values() for part in strand.in_order()]
        return max((part.size // len(part.ids) for part in parts if part.ids), default=0)

    def pack(self) -> bytes:
        """As bytes."""
        meta = {
            "journal": {name: strand.to_dict() for name, strand in self.strands.items()},
            "sequence": self.sequence,
            "nonces": [*self.nonces.items()],
            "query": self.query,
            "facts": self.facts,
            "free": self.free,
        }
        document = json.dumps(meta).encode()
        return pack(pa.table({"head": [document]}), {}, compressed=True)

    @staticmethod
    def unpack(packed: bytes) -> Head:
        """What :meth:`pack` gave.

        Raises
        ------
        StateError
            If the bytes are not a head, are damaged, or come from another version.
        """
        table, _ = unpack(packed)
        with known_form("the head"):
            meta = json.loads(table.column("head")[0].as_py())
            strands = {name: Strand.from_dict(each) for name, each in meta["journal"].items()}
            query, facts, free = (meta[name] for name in ("query", "facts", "free"))
            head = Head(meta["sequence"], dict(meta["nonces"]), query, facts, strands, free)
            head.version  # noqa: B018  the last record has a nonce
        return head


@dataclass(slots=True)
class Journal(Generic[M_co]):
    """Writes a monitor's changes, and makes a monitor of what was written.

    Parameters
    ----------
    monitor
        Whose journal it is; new, or as it was when the journal was made.

    Examples
    --------
    >>> from topwater import TopKMonitor, TopKQuery, tumbling
    >>> query = TopKQuery(key="who", time="at", window=tumbling(10), take={"n": "count"},
    ...                   score="n", k=1)
    >>> journal, store = Journal(TopKMonitor.build(query)), {}
    >>> journal.monitor.ingest({"who": ["a", "b", "a"], "at": [1, 2, 3]})
    >>> changes = journal.record("a nonce")
    >>> store.update(changes.puts)
    >>> again = Journal(TopKMonitor.build(query))
    >>> again.rebuild(Head.unpack(changes.head), store.get)
    >>> [answer.keys for answer in again.monitor.flush()]
    [['a']]
    """

    monitor: M_co
    version: tuple[int, str] = (0, "")
    _logs: list[Log] = field(init=False)
    _strands: dict[str, Strand] = field(init=False)
    _nonces: dict[int, str] = field(default_factory=dict)
    _ids: set[int] = field(default_factory=set)
    _free: int = 1
    _query: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self._logs = _logs_of(self.monitor)
        self._strands = {log.name: Strand() for log in self._logs}
        self._query = self.monitor.query.to_dict()

    def record(self, nonce: str, *, whole: bool = False) -> Changes:
        """Write what changed since the last record, under a text that no other attempt has.

        Or write the ``whole``: the first record of a monitor that holds something already.
        """
        sequence = self.version[0] + 1
        puts: dict[int, bytes] = {}
        write = self._write_whole if whole else self._write
        for log in self._logs:
            write(log, self._strands[log.name], sequence, puts)
        needed = set[int]().union(*(strand.ids() for strand in self._strands.values()))
        removes = sorted(self._ids - needed)
        self._ids = needed
        self._nonces[sequence] = nonce
        self._nonces.pop(sequence - _KNOWN, None)
        self.version = sequence, nonce
        facts = self.monitor.facts()
        head = Head(sequence, self._nonces, self._query, facts, self._strands, self._free)
        new = {id_: puts[id_] for id_ in puts if id_ in needed}
        return Changes(head.pack(), new, removes, needed, self.size)

    @property
    def size(self) -> int:
        """Bytes of all chunks."""
        return sum(each.logged + each.imaged for each in self._strands.values())

    def rebuild(self, head: Head, get: Get) -> None:
        """Make the monitor, which is new, what it was after the head's record."""
        require_same_settings(query_of({"query": head.query}), self.monitor.query)
        self._replay(head, get, since=None)

    def catch_up(self, head: Head, get: Get) -> bool:
        """Take in what was recorded since; False if that is not known any more."""
        since, nonce = self.version
        if head.nonces.get(since) != nonce or not since:
            return False
        if any(strand.dropped > since for strand in head.strands.values()):
            return False
        if since < head.sequence:
            self._replay(head, get, since)
        return True

    def _replay(self, head: Head, get: Get, since: int | None) -> None:
        with known_form("the head"):
            self.monitor.restore_facts(head.facts)
            # Who listens to changes from now on has heard of none.
            more = {log.name: Strand() for log in self._logs if isinstance(log, NoticeLog)}
            head.strands = {**more, **head.strands}
            strands = [head.strands[log.name] for log in self._logs]
        for log, strand in zip(self._logs, strands, strict=True):
            log.begin(afresh=since is None)
            for part in strand.in_order():
                if since is None:
                    buckets = strand.buckets_of(part)
                elif isinstance(part, Segment) or part.sequence <= since:
                    continue
                else:
                    buckets = None
                content = joined(_label(log.name, part), [get(id_) for id_ in part.ids])
                with known_form(_label(log.name, part)):
                    log.take(content, buckets, image=isinstance(part, Segment))
            log.end()
        self._strands, self._nonces, self._free = head.strands, head.nonces, head.free
        self._ids = set[int]().union(*(strand.ids() for strand in head.strands.values()))
        self.version = head.version

    def _write(self, log: Log, strand: Strand, sequence: int, puts: dict[int, bytes]) -> None:
        news = log.news()
        if news is not None:
            piece = Piece(sequence, len(news.packed), news.until, ())
            ids = self._cut(_label(log.name, piece), news, puts)
            strand.pieces = [*([] if log.whole else strand.pieces), piece._replace(ids=ids)]
        strand.expire(log.oldest())
        if not strand.width and (size := log.image_size(strand)) is not None:
            strand.begin_images(size)
        written = 0
        while strand.width and written <= SEGMENT:
            written += self._image(log, strand, sequence, puts)
        strand.expire(log.oldest())

    def _write_whole(self, log: Log, strand: Strand, sequence: int, puts: dict[int, bytes]) -> None:
        if log.whole:
            self._write(log, strand, sequence, puts)
            return
        log.news()  # from now on known: the images tell it
        everything = log.image(0, BUCKETS)
        strand.begin_images(0 if everything is None else len(everything.packed))
        while strand.width:
            self._image(log, strand, sequence, puts)
        strand.expire(log.oldest())

    def _image(self, log: Log, strand: Strand, sequence: int, puts: dict[int, bytes]) -> int:
        """Make the next image; its size."""
        low, high = strand.next_range()
        image = log.image(low, high) or Content(b"")
        segment = Segment(sequence, len(image.packed), image.until, (), low, high)
        ids = self._cut(_label(log.name, segment), image, puts) if image.packed else ()
        strand.add_segment(segment._replace(ids=ids))
        return segment.size

    def _cut(self, name: str, content: Content, puts: dict[int, bytes]) -> tuple[int, ...]:
        chunks = cut(name, content.packed)
        ids = tuple(range(self._free, self._free + len(chunks)))
        self._free += len(chunks)
        puts.update(zip(ids, chunks, strict=True))
        return ids


def snapshot_from(head: Head, get: Get) -> bytes:
    """The snapshot of the monitor that wrote a journal; no source is needed for it."""
    query = TopKQuery.from_dict(head.query)
    journal = Journal(_unasked(query, head.facts))
    journal.rebuild(head, get)
    return journal.monitor.snapshot()


def _unasked(query: TopKQuery, facts: Mapping[str, Any]) -> Recorded:
    """What wrote such facts, for those who do not ask a source."""
    nobody = unasked_source(query)
    if "joint" in facts:
        return JointRanking.build(query, source=nobody)
    if "credit" in facts.get("remote", ()):
        return TopKMonitor(query, RemoteElsewhere(Shard()))
    return build_monitor(query, source=nobody)


def unasked_source(query: TopKQuery) -> Any:
    """A source for a query that is not going to ask it; None if the query has no remote part."""
    if query.joins is not None:
        return SourceTable(dict.fromkeys(query.joins.sources, _Nobody()))
    return None if query.refresh is None else _Nobody()


class _Nobody:
    """A source for those who do not ask."""

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        raise NotImplementedError


def _label(name: str, part: Piece | Segment) -> str:
    """What a part of a strand is called, in its chunks and in errors."""
    if isinstance(part, Segment):
        return f"{name} {part.low} to {part.high} at {part.sequence}"
    return f"{name} {part.sequence}"


def _logs_of(monitor: Recorded) -> list[Log]:
    if isinstance(monitor, JointRanking):
        return [RowLog(monitor.refresher), *notice_logs(monitor.refresher, monitor.query.window)]
    if isinstance(monitor, GroupedMonitor):
        return [GroupLog(monitor)]
    assert isinstance(monitor, TopKMonitor)  # noqa: S101  for the type checker
    return logs_of(monitor)
