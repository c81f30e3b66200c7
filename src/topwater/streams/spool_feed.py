"""What fills a spool: a client in a thread of its own, which connects again when it is cut off."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections import Counter

from topwater.errors import SourceError
from topwater.redaction import redacted
from topwater.streams.spool import Message, Spool

_SHORTEST, _LONGEST = 0.1, 30.0
"""Seconds between attempts to connect, which double."""


class Feed(ABC):
    """A client that runs until it is stopped.

    Parameters
    ----------
    spool
        Where messages go.
    limit
        How many bytes may wait there before the client hangs up, until half of them are gone.
    max_bytes
        A longer payload is not kept.
    """

    def __init__(self, spool: Spool, limit: int, max_bytes: int) -> None:
        self.spool = spool
        self.counts: Counter[str] = Counter()
        self.problem: Exception | None = None
        self.stopping = threading.Event()
        self._limit = limit
        self._max_bytes = max_bytes
        self._thread = threading.Thread(target=self._run, name="topwater-feed", daemon=True)

    @abstractmethod
    def check(self) -> None:
        """Connect once, and raise ``SourceError`` if that is not possible."""

    @abstractmethod
    def serve(self) -> None:
        """Connect, and take messages in until there is a reason not to; OSError if cut off."""

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, with all that was received made safe."""
        self.stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)
        self.spool.close()

    @property
    def full(self) -> bool:
        """Whether no more may come."""
        return self.spool.size >= self._limit

    def keep(self, message: Message) -> None:
        """Put a message into the spool, or word of it if it is too long."""
        if message.payload is not None and len(message.payload) > self._max_bytes:
            self.counts["too_long"] += 1
            message = message._replace(payload=None)
        self.counts["received"] += 1
        self.spool.add(message)

    def _run(self) -> None:
        delay = _SHORTEST
        while not self.stopping.is_set():
            received = self.counts["received"]
            try:
                self._wait_for_room()
                self.serve()
                continue
            except (OSError, SourceError) as error:
                self._log_retry(error)
            except Exception as error:
                self.problem = error  # the query is told, and stops
                return
            self.counts["reconnects"] += 1
            delay = _SHORTEST if self.counts["received"] > received else min(delay * 2, _LONGEST)
            self.stopping.wait(delay)

    def _wait_for_room(self) -> None:
        if not self.full:
            return
        self.counts["pauses"] += 1
        while self.spool.size > self._limit // 2 and not self.stopping.wait(0.05):
            pass

    def _log_retry(self, error: Exception) -> None:
        told = redacted(str(error))
        logging.getLogger("topwater").warning("%s: %s; trying again", type(self).__name__, told)
