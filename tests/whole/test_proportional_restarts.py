"""Values that move in proportion: a monitor restarted with every window answers the same."""

from __future__ import annotations

from topwater.monitor import TopKMonitor
from topwater.remote.replay import Replay
from topwater.replica import Refresher
from topwater_lab.experiments.world_runs import query_of
from topwater_lab.experiments.worlds import KINDS, World


def test_a_restart_changes_nothing_while_the_scale_does() -> None:
    """Keys that were polled before logarithms were taken are kept beside those polled after."""
    world = World(KINDS["cold product, moving"], 300, 3, 12)
    query = query_of(world.kind, "worth", 20, "accuracy")
    one = TopKMonitor.build(query, source=Replay(world.remote))
    other = TopKMonitor.build(query, source=Replay(world.remote))
    taken = []
    for batch in world.batches():
        found = []
        for monitor in (one, other):
            monitor.ingest(batch)
            answers = [] if monitor.watermark is None else monitor.close_until(monitor.watermark)
            found.append([(each.keys, each.freshness) for each in answers])
        assert found[0] == found[1]
        refresher = one._refresher
        assert isinstance(refresher, Refresher)
        moves = refresher.learners.beliefs.values
        taken.append((moves._powers.on, moves._keys._mixed))
        other = TopKMonitor.build(query, other.snapshot(), source=Replay(world.remote))
    assert taken[0] == (False, False)
    assert (taken[0], taken[-1]) == ((False, False), (True, True))
