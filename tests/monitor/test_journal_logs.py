"""What a journal writes of each part of a monitor."""

from __future__ import annotations

from topwater import TopKMonitor, TopKQuery, tumbling
from topwater.monitor.journal_logs import PaneLog, WholeLog
from topwater.monitor.strand import BUCKETS

QUERY = TopKQuery(key="who", time="at", window=tumbling(10), take={"n": "count"}, score="n", k=9)


def test_images_of_all_buckets_together_are_what_is_held() -> None:
    monitor, again = TopKMonitor.build(QUERY), TopKMonitor.build(QUERY)
    log, other = PaneLog(monitor), PaneLog(again)
    assert log.image(0, BUCKETS) is None
    monitor.ingest({"who": [*range(40)], "at": [2] * 40})
    news = log.news()
    assert news is not None
    assert news.until == 0
    assert log.news() is None
    for low in range(0, BUCKETS, 64):
        image = log.image(low, low + 64)
        if image is not None:
            other.take(image.packed, None, image=True)
    order = [("key", "ascending")]
    assert again.held().sort_by(order) == monitor.held().sort_by(order)


def test_what_did_not_change_as_a_whole_is_not_said_again() -> None:
    now = [b"one"]
    log = WholeLog("list", lambda: now[0], now.append)
    found = log.news()
    assert found is not None
    assert found.packed == b"one"
    assert log.news() is None
    log.take(b"two", None, image=False)
    assert now == [b"one", b"two"]
    now[0] = b"two"
    assert log.news() is None
