"""The generated stream of bids, sorted: what every answer over it must be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from topwater.model import Items

if TYPE_CHECKING:
    from topwater import Answer, TopKQuery
    from topwater_lab.bids.generator import Bids


def wrong_windows(bids: Bids, query: TopKQuery, found: list[Answer]) -> list[int]:
    """The windows whose answer is missing, repeated, or not what sorting all its bids gives."""
    table = pa.Table.from_batches([bids.batch(0, len(bids))])
    items = Items(
        table.column("value").to_numpy(),
        table.column("time").cast(pa.int64()).to_numpy() // 1_000,
        table.column("key").to_numpy(),
    )
    complete = query.window.last_complete(int(items.time.max()) - query.lateness) + 1
    given: dict[int, list[Answer]] = {index: [] for index in range(complete)}
    for answer in found:
        given.setdefault(answer.window.index, []).append(answer)
    return [
        index
        for index, answers in given.items()
        if index >= complete or len(answers) != 1 or not _right(answers[0], items, query)
    ]


def _right(answer: Answer, items: Items, query: TopKQuery) -> bool:
    inside = (items.time > answer.window.start) & (items.time <= answer.window.end)
    window = items.take(np.flatnonzero(inside))
    # Sort all scores, then only the ones at or above the k-th by the full order: the same answer
    # as sorting everything by the full order, without comparing a million strings.
    least = np.sort(window.score)[-query.k :][0]
    best = window.take(np.flatnonzero(window.score >= least)).ranked().take(slice(query.k))
    rows = [(row.score, row.time, row.key) for row in answer.rows]
    return rows == list(zip(best.score, best.time, best.key, strict=True))
