from __future__ import annotations

import json
import threading

from tests.support.live_made import START, answer
from topwater.live import record_of
from topwater.live.feed import MOST_BYTES, MOST_NOTES, MOST_WINDOWS, About, Feed
from topwater.model import Answer


def feed_of(*answers: Answer) -> Feed:
    feed = Feed(About())
    for each in answers:
        feed.put(record_of(each))
    return feed


def shown(feed: Feed, after: int = 0) -> list[tuple[str | None, int]]:
    """Group and minute of each window that a watcher would get."""
    bodies = [json.loads(each.body) for each in feed.since(after) if each.kind == "window"]
    return [(each.get("group"), (each["window"]["end"] - START) // 60_000) for each in bodies]


def test_a_watcher_gets_what_is_newer() -> None:
    feed = feed_of(answer(0, "a"), answer(1, "b"))
    last = feed.since(0)[-1].number
    assert shown(feed) == [(None, 1), (None, 2)]
    assert feed.since(last) == []
    feed.note("hello")
    feed.put(record_of(answer(2, "c")))
    assert [each.kind for each in feed.since(last)] == ["note", "window"]


def test_a_window_answered_again_replaces_itself_and_those_after_it() -> None:
    feed = feed_of(answer(0, "a"), answer(1, "b"), answer(2, "c"), answer(1, "d"))
    assert shown(feed) == [(None, 1), (None, 2)]
    assert json.loads(feed.since(0)[-1].body)["rows"][0]["label"] == "d"


def test_groups_do_not_touch_each_other() -> None:
    feed = feed_of(answer(5, "a", group="n"), answer(1, "b", group="s"), answer(2, "c", group="s"))
    assert shown(feed) == [("n", 6), ("s", 2), ("s", 3)]
    windows = feed.state()["windows"]
    assert [each["group"] for each in windows] == ["n", "s"]


def test_history_is_bounded_by_windows() -> None:
    feed = feed_of(*(answer(each, "a") for each in range(MOST_WINDOWS + 50)))
    assert len(feed.since(0)) == MOST_WINDOWS
    assert shown(feed)[0] == (None, 51)


def test_history_is_bounded_by_size() -> None:
    wide = [f"{each:0400}" for each in range(1_000)]
    feed = feed_of(*(answer(each, *wide) for each in range(20)))
    kept = feed.since(0)
    assert 1 < len(kept) < 20
    assert sum(len(each.body) for each in kept) <= MOST_BYTES


def test_one_window_is_kept_however_large() -> None:
    feed = feed_of(answer(0, "a"))
    feed.put({"window": {"start": 0, "end": START * 2}, "triples": "x" * MOST_BYTES})
    assert len(feed.since(0)) == 1


def test_notes_are_bounded() -> None:
    feed = Feed(About())
    for each in range(500):
        feed.note(str(each))
    assert len(feed.since(0)) == MOST_NOTES


def test_the_state_tells_the_newest_window_even_when_old_ones_went() -> None:
    feed = feed_of(answer(0, "x", group="old"))
    for each in range(MOST_WINDOWS):
        feed.put(record_of(answer(each, "a", group="new")))
    assert [each["group"] for each in feed.state()["windows"]] == ["new"]


def test_many_threads_may_put() -> None:
    feed = Feed(About())

    def put(group: str) -> None:
        for each in range(200):
            feed.put(record_of(answer(each, "a", group=group)))

    threads = [threading.Thread(target=put, args=(str(each),)) for each in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = [each.number for each in feed.since(0)]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 800
