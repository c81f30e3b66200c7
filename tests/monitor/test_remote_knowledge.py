"""A monitor hears of changes, and says how far; see also whole/test_pushed_changes."""

from __future__ import annotations

from tests.support.pushed_scene import World as Everything
from tests.support.pushed_scene import one_value, several, sources_of
from topwater import TopKMonitor
from topwater.monitor.notice_settings import NoticeSettings


def test_it_says_how_young_the_youngest_notice_is() -> None:
    for query in (one_value(), several()):
        source = sources_of(query, Everything())
        monitor = TopKMonitor.build(query, source=source, changes=NoticeSettings(delay=5))
        heard = [monitor.heard]
        monitor.learn(until=100)
        heard.append(monitor.heard)
        assert heard == [None, 106]
        assert monitor.replica_size == 0
