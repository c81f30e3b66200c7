"""Host 1: run a monitor in this process, over any iterable of batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from topwater.groups import GroupedMonitor, monitor_of
from topwater.model import Answer
from topwater.monitor import TopKMonitor
from topwater.protocols import Source
from topwater.query import TopKQuery
from topwater.reading import Batch
from topwater.remote.guarding import guarded


def run(
    query: TopKQuery,
    batches: Iterable[Batch],
    *,
    source: Source | None = None,
    monitor: TopKMonitor | GroupedMonitor | None = None,
) -> Iterator[Answer]:
    """Answers as their windows close, and at the end those of all windows that hold an event.

    Parameters
    ----------
    query
        What is asked.
    batches
        Arrow tables or record batches, or mappings of arrays, in order of arrival.
    source
        Where remote values are fetched, if the query has a remote part. If it can't be reached,
        that is said before the first batch is read.
    monitor
        Goes on with this monitor instead of a new one.

    Raises
    ------
    SourceError
        If the source can't be reached, and was told to stop then.

    Examples
    --------
    >>> from topwater.windows import tumbling
    >>> query = TopKQuery(key="who", time="at", window=tumbling(10), score="value", k=2)
    >>> events = {"who": ["a", "b", "c"], "at": [1, 2, 12], "value": [3.0, 5.0, 4.0]}
    >>> for answer in run(query, [events]):
    ...     print(answer.window.closes, answer.keys)
    10 ['b', 'a']
    20 ['c']
    """
    monitor = monitor_of(query, source=source) if monitor is None else monitor
    if source is not None:
        guarded(source).start()
    for batch in batches:
        monitor.ingest(batch)
        if (watermark := monitor.watermark) is not None:
            yield from monitor.close_until(watermark)
    yield from monitor.flush()
