"""What a window's result looks like as an answer."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from topwater.model import Answer, Counts, Freshness, Frozen, Remote, Row
from topwater.monitor.open_windows import WindowResult
from topwater.query import TopKQuery
from topwater.replica import Ranking
from topwater.replica.offers import Offer

_NO_REMOTES: Frozen[Remote] = Frozen()
_NOTHING_WRONG = Freshness(fetched=0, failed=0, bad=0, precision=1.0, ndcg=1.0, missed=False)
"""Of an empty window: nothing was looked up for it, and nothing in it can be wrong."""


@dataclass(frozen=True, slots=True)
class ShardAnswer(Answer):
    """What a shard says of a window that all shards rank together.

    It has no rows: these are in its offer. An empty window has a plain answer.
    """

    offer: Offer | None = None


def make_answer(query: TopKQuery, window: int, result: WindowResult, counts: Counts) -> Answer:
    """The answer of a window.

    Parameters
    ----------
    query
        What is asked.
    window, result
        The window's number, and what it came to.
    counts
        What happened since the answer before.
    """
    answer = Answer(
        query.window.window(window),
        _rows(query, result),
        candidates=result.kept,
        counts=counts + result.counts,
        freshness=None if query.refresh is None else _NOTHING_WRONG,
    )
    if result.offer is not None:
        told = {each.name: getattr(answer, each.name) for each in fields(answer)}
        return ShardAnswer(**told, offer=result.offer)
    ranking = result.ranking
    if ranking is None:
        return answer
    return replace(
        answer,
        exact=ranking.exact,
        freshness=ranking.freshness,
        problems=tuple(sorted((*ranking.look_ups.problems, *ranking.look_ups.lacks))),
        looked_up=ranking.look_ups.first,
        spent=ranking.spent,
        left=ranking.left,
        notices=ranking.notices,
    )


def _rows(query: TopKQuery, result: WindowResult) -> tuple[Row, ...]:
    items = result.items
    scores = -items.score if query.score.order == "smallest" else items.score
    values = np.array(list(result.values.values())).T.tolist() or [()] * len(items)
    cells = zip(
        items.key.tolist(), scores.tolist(), items.time.tolist(), map(tuple, values), strict=True
    )
    rows = tuple(Row(rank, *each) for rank, each in enumerate(cells, 1))
    return rows if result.ranking is None else _with_remote(rows, result.ranking)


def _with_remote(rows: tuple[Row, ...], ranking: Ranking) -> tuple[Row, ...]:
    columns = (ranking.remote, ranking.age, ranking.confidence)
    remotes: list[Frozen[Remote]] = [Frozen(each) for each in ranking.remotes]
    remotes = remotes or [_NO_REMOTES] * len(rows)
    told = (column.tolist() for column in columns)
    fresh = zip(*told, ranking.assumed, remotes, strict=True)
    return tuple(
        replace(
            row,
            remote=None if math.isnan(remote) else remote,
            age=None if age < 0 else age,
            confidence=confidence,
            assumed=assumed,
            remotes=each,
        )
        for row, (remote, age, confidence, assumed, each) in zip(rows, fresh, strict=True)
    )
