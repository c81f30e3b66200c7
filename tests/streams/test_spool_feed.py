"""What fills a spool: it connects again when it is cut off, waits for room, and ends cleanly."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from topwater.errors import SourceError
from topwater.streams import spool_feed
from topwater.streams.spool import Message, Spool, messages
from topwater.streams.spool_feed import Feed


class Acting(Feed):
    """Does for each connection what the next act says, and then waits for the end."""

    def __init__(self, spool: Spool, *acts: Callable[[Feed], None], limit: int = 1 << 20) -> None:
        super().__init__(spool, limit, max_bytes=10)
        self.acts = iter(acts)
        self.done = threading.Event()

    def check(self) -> None:
        """It can always be reached."""

    def serve(self) -> None:
        act = next(self.acts, None)
        if act is None:
            self.done.set()
            self.stopping.wait(10)
        else:
            act(self)


def says(text: bytes) -> Callable[[Feed], None]:
    def act(feed: Feed) -> None:
        feed.keep(Message("t", text, 1))

    return act


def breaks(error: Exception) -> Callable[[Feed], None]:
    def act(_: Feed) -> None:
        raise error

    return act


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with Spool(tmp_path / "spool") as made:
        yield made


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_feed, "_SHORTEST", 0.001)


def payloads(folder: Path) -> list[bytes | None]:
    with Spool(folder) as spool:
        last = spool.seal()
        parts = (spool.part(number) for number in range(spool.first, last))
        return [message.payload for part in parts for message in messages(part)]


def test_it_goes_on_after_what_cuts_it_off(tmp_path: Path, spool: Spool) -> None:
    lost = [breaks(OSError("cut")), breaks(SourceError("no broker"))]
    feed = Acting(spool, says(b"one"), *lost, says(b"two"))
    feed.start()
    assert feed.done.wait(10)
    feed.stop()
    assert feed.problem is None
    assert feed.counts == {"received": 2, "reconnects": 2}
    assert payloads(tmp_path / "spool") == [b"one", b"two"]


def test_what_it_does_not_expect_ends_it_and_is_told(spool: Spool) -> None:
    error = ZeroDivisionError("a fault")
    feed = Acting(spool, breaks(error), says(b"never"))
    feed.start()
    feed._thread.join(10)
    assert feed.problem is error
    assert feed.counts["received"] == 0
    feed.stop()


def test_a_payload_that_is_too_long_leaves_word_of_itself(tmp_path: Path, spool: Spool) -> None:
    feed = Acting(spool)
    for text in (b"x" * 10, b"x" * 11):
        feed.keep(Message("t", text, 1))
    assert feed.counts == {"received": 2, "too_long": 1}
    feed.stop()
    assert payloads(tmp_path / "spool") == [b"x" * 10, None]


def test_a_full_spool_is_waited_for(spool: Spool) -> None:
    feed = Acting(spool, says(b"x"), limit=60)
    for _ in range(2):
        feed.keep(Message("t", b"1234567890", 1))
    assert feed.full
    feed.start()
    until = threading.Event()
    for _ in range(500):
        if feed.counts["pauses"]:
            break
        until.wait(0.01)
    assert feed.counts["received"] == 2, "nothing comes while it is full"
    spool.remove(spool.seal())
    assert feed.done.wait(10)
    feed.stop()
    assert feed.counts == {"received": 3, "pauses": 1}


def test_it_may_be_stopped_before_it_began(spool: Spool) -> None:
    feed = Acting(spool, says(b"never"))
    feed.stop()
    assert feed.counts["received"] == 0
