"""The loop: what comes in, which windows are open, and the answer when one closes.

::

    columns ──► reduction ──► open_windows ──► loop ──► answers
    (clean)     (per pane)    candidate_keys   event_time, grouped, shards, snapshot
"""

from topwater.monitor.grouped import GroupedMonitor, build_monitor
from topwater.monitor.keyed_monitor import KeyedMonitor
from topwater.monitor.loop import TopKMonitor
from topwater.monitor.protocol import Monitor

__all__ = ["GroupedMonitor", "KeyedMonitor", "Monitor", "TopKMonitor", "build_monitor"]
