"""A ranking from its snapshot and its changes is the one that wrote them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.support.journal_store import kept
from tests.support.scenarios import QUERIES, Scenario, scenario
from topwater import StateError, TopKMonitor
from topwater.monitor.ranking_log import RankingLog
from topwater.tables import pack

RANKINGS = [name for name, query in QUERIES.items() if "group_by" not in query]


def built(each: Scenario, state: bytes | None = None) -> TopKMonitor:
    return TopKMonitor.build(each.query, state, source=each.source)


def stepped(monitor: TopKMonitor, file: pa.Table) -> None:
    monitor.ingest(file)
    monitor.close_until(monitor.watermark or 0)


@pytest.mark.parametrize("name", RANKINGS)
@pytest.mark.parametrize("begun", [0, 4])
def test_changes_make_another_monitor_the_same(name: str, begun: int) -> None:
    """One that takes in each at once, and one that takes in all of them at the end."""
    each = scenario(name, begun, files=10, rows=500)
    writer = built(each)
    for file in each.files[:begun]:
        stepped(writer, file)
    first = writer.snapshot()
    live = RankingLog(reader := built(each, first))
    log, changes = RankingLog(writer), []
    for file in each.files[begun:]:
        stepped(writer, file)
        changes.append(log.news())
        live.take(changes[-1])
        assert kept(each, reader.snapshot()) == kept(each, writer.snapshot())
    late = RankingLog(again := built(each, first))
    for change in changes:
        late.take(change)
    assert kept(each, again.snapshot()) == kept(each, writer.snapshot())
    assert again.flush() == reader.flush() == writer.flush()


def test_who_took_changes_in_goes_on_telling_them() -> None:
    each = scenario("worth", 1, files=10, rows=500)
    writer, reader, third = (built(each) for _ in range(3))
    logs = [RankingLog(monitor) for monitor in (writer, reader, third)]
    for number, file in enumerate(each.files):
        here, there = number % 2, 1 - number % 2
        stepped((writer, reader)[here], file)
        news = logs[here].news()
        logs[there].take(news)
        logs[2].take(news)
    assert kept(each, third.snapshot()) == kept(each, writer.snapshot())


def test_nothing_new_is_told_in_few_bytes() -> None:
    each = scenario("worth", 2)
    monitor = built(each)
    for file in each.files:
        stepped(monitor, file)
    log = RankingLog(monitor)
    assert len(log.news()) < 800 < len(monitor.snapshot())


@pytest.mark.parametrize(
    "change",
    [
        pack(pa.table({"part": pa.array([], pa.binary())}), {"facts": {}}),
        pack(pa.table({"other": [1]}), {"facts": {}}),
        pack(pa.table({"part": [b"", b""]}), {}),
        pack(pa.table({"part": [b"", b""]}), {"facts": {"counts": {"unheard of": 1}}}),
    ],
    ids=["too few parts", "no parts", "no facts", "other counts"],
)
def test_what_has_another_form_is_told(change: bytes) -> None:
    log = RankingLog(built(scenario("worth", 2)))
    with pytest.raises(StateError, match="a form that this program does not know"):
        log.take(change)
