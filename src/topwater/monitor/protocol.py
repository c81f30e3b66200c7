"""What every monitor can do, of one ranking or of one per group: all that a host needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import pyarrow as pa

from topwater.model import Answer, Millis
from topwater.monitor.columns import Batch
from topwater.monitor.reduction import PartialBatch
from topwater.query import TopKQuery


class Recorded(Protocol):
    """Whose state a journal is."""

    @property
    def query(self) -> TopKQuery:
        """What is asked."""

    def close(self) -> None:
        """Give back what the source holds; going on takes it again."""

    def snapshot(self) -> bytes:
        """All that later answers depend on."""

    def facts(self) -> dict[str, Any]:
        """The few numbers of a snapshot, for JSON."""

    def restore_facts(self, facts: Mapping[str, Any]) -> None:
        """Take over what ``facts`` gave."""


class Monitor(Recorded, Protocol):
    """Answers a query, window by window, from batches of events.

    Contract
    --------
    M1. ``ingest`` and ``admit`` answer nothing: time moves by ``close_until`` and ``flush`` only.
    M2. Each window is answered once, in order of time, after all before it.
    M3. A batch that is refused leaves no trace.
    M4. A monitor built from ``snapshot()`` goes on as this one would, to the last bit.
    M5. Time, deadlines and randomness are passed in; what a source does delays no answer.
    """

    @property
    def query(self) -> TopKQuery:
        """What is asked."""

    @property
    def watermark(self) -> Millis | None:
        """How far time is known to have come, by the events alone: none older is expected."""

    def start(self) -> None:
        """Look whether the remote side can be reached, as a query begins."""

    def close(self) -> None:
        """Give back what the source holds; going on takes it again."""

    def ingest(self, batch: Batch) -> None:
        """Take in a batch of events."""

    def learn(self, batch: Batch = (), *, until: Millis | None = None) -> None:
        """Take in a batch of notices of what changed at the sources."""

    @property
    def heard(self) -> Millis | None:
        """The time of the youngest notice of a change; None before the first."""

    def admit(self, *parts: PartialBatch) -> None:
        """Take in one batch, whose parts were reduced elsewhere."""

    def next_close(self) -> Millis | None:
        """The watermark at which the next window can be answered; None if there is none."""

    def close_until(self, watermark: Millis) -> list[Answer]:
        """Answer every window that closes before ``watermark``."""

    def flush(self) -> list[Answer]:
        """The stream has ended: answer every window that holds an event."""

    def take_late(self) -> pa.Table | None:
        """What came too late since the last call, reduced; None if nothing did."""

    def snapshot(self) -> bytes:
        """All that later answers depend on."""

    def facts(self) -> dict[str, Any]:
        """The few numbers of a snapshot, for JSON."""

    def restore_facts(self, facts: Mapping[str, Any]) -> None:
        """Take over what ``facts`` gave."""
